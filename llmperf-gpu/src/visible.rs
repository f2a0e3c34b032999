//! Which of the driver's devices CUDA sees: resolved only where it is clear which are meant.
//!
//! The driver's order is not CUDA's (fastest first, unless told otherwise), and the driver ignores
//! `CUDA_VISIBLE_DEVICES`. Sampling the wrong card would be worse than sampling all.

use crate::{DeviceId, DeviceInfo, settings::Visible};

/// What is to be sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    All,
    Only(Vec<DeviceId>),
    /// It is not clear which; all are sampled.
    Unclear,
}

/// Resolves the environment's word against the devices that the driver lists (parts of devices aside).
pub(crate) fn resolve(visible: &Visible, devices: &[&DeviceInfo]) -> Resolved {
    let Some(named) = visible.devices.as_deref() else { return Resolved::All };
    let by_bus = visible.order.as_deref() == Some("PCI_BUS_ID");
    let alike = devices.windows(2).all(|pair| pair.first().map(|d| &d.name) == pair.last().map(|d| &d.name));
    // Among devices that are all alike CUDA's order is the bus order too.
    let indices_are_clear = by_bus || alike;
    let mut by_address: Vec<&&DeviceInfo> = devices.iter().collect();
    by_address.sort_by(|a, b| (&a.pci_address, a.index).cmp(&(&b.pci_address, b.index)));

    let mut chosen = Vec::new();
    for name in named.split(',').map(str::trim) {
        // CUDA takes the list up to the first entry that names nothing.
        if name.is_empty() || name == "-1" || name == "NoDevFiles" {
            break;
        }
        if let Ok(index) = name.parse::<usize>() {
            if !indices_are_clear {
                return Resolved::Unclear;
            }
            let Some(device) = by_address.get(index) else { break };
            chosen.push(device.id.clone());
            continue;
        }
        // An id may be cut short, as long as it means one device. Parts of devices are named in full.
        let mut matching = devices.iter().filter(|device| device.id.as_str().starts_with(name));
        match (matching.next(), matching.next()) {
            (Some(device), None) => chosen.push(device.id.clone()),
            (Some(_), Some(_)) => return Resolved::Unclear,
            (None, _) if name.starts_with("MIG-") => chosen.push(DeviceId::from(name)),
            (None, _) => break,
        }
    }
    Resolved::Only(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(id: &str, name: &str, index: u32, address: &str) -> DeviceInfo {
        DeviceInfo { index, pci_address: Some(address.into()), ..DeviceInfo::new(id, name) }
    }

    fn resolved(devices: Option<&str>, order: Option<&str>, there: &[DeviceInfo]) -> Resolved {
        let visible = Visible { devices: devices.map(Into::into), order: order.map(Into::into) };
        resolve(&visible, &there.iter().collect::<Vec<_>>())
    }

    fn only(ids: &[&str]) -> Resolved {
        Resolved::Only(ids.iter().map(|id| DeviceId::from(*id)).collect())
    }

    fn unlike() -> [DeviceInfo; 2] {
        [device("GPU-aa11", "slow", 0, "0:2"), device("GPU-ab22", "fast", 1, "0:1")]
    }

    #[test]
    fn ids_are_clear_and_may_be_cut_short() {
        assert_eq!(resolved(Some("GPU-ab22"), None, &unlike()), only(&["GPU-ab22"]));
        assert_eq!(resolved(Some("GPU-ab, GPU-aa11"), None, &unlike()), only(&["GPU-ab22", "GPU-aa11"]));
        assert_eq!(resolved(Some("GPU-a"), None, &unlike()), Resolved::Unclear);
        assert_eq!(resolved(Some("MIG-7"), None, &unlike()), only(&["MIG-7"]));
    }

    #[test]
    fn indices_are_unclear_among_unlike_devices_in_cudas_own_order() {
        assert_eq!(resolved(Some("0"), None, &unlike()), Resolved::Unclear);
        assert_eq!(resolved(Some("0"), Some("FASTEST_FIRST"), &unlike()), Resolved::Unclear);
    }

    #[test]
    fn indices_count_by_address_on_the_bus_where_that_is_the_order() {
        assert_eq!(resolved(Some("0"), Some("PCI_BUS_ID"), &unlike()), only(&["GPU-ab22"]));
        let alike = unlike().map(|device| DeviceInfo { name: "same".into(), ..device });
        assert_eq!(resolved(Some("1"), None, &alike), only(&["GPU-aa11"]));
    }

    #[test]
    fn the_list_ends_at_the_first_entry_that_names_nothing() {
        assert_eq!(resolved(None, None, &unlike()), Resolved::All);
        assert_eq!(resolved(Some(""), None, &unlike()), only(&[]));
        assert_eq!(resolved(Some("-1"), None, &unlike()), only(&[]));
        assert_eq!(resolved(Some("GPU-aa11,GPU-zz,GPU-ab22"), None, &unlike()), only(&["GPU-aa11"]));
        assert_eq!(resolved(Some("1,7,0"), Some("PCI_BUS_ID"), &unlike()), only(&["GPU-aa11"]));
    }
}
