//! Whether a device sleeps: a question to the driver would wake it, so the kernel's own file is asked.

use std::{fs, path::Path};

/// Where Linux tells the state of PCI devices.
pub(crate) const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// Whether the kernel has suspended the device at this address. What cannot be read is taken to be awake.
pub(crate) fn is_asleep(devices: &Path, pci_address: &str) -> bool {
    let Some(address) = kernel_address(pci_address) else { return false };
    let status = devices.join(address).join("power").join("runtime_status");
    fs::read_to_string(status).is_ok_and(|status| status.trim() == "suspended")
}

/// The kernel writes four digits of the domain and small letters, the driver eight digits and capitals.
fn kernel_address(address: &str) -> Option<String> {
    let (domain, rest) = address.split_once(':')?;
    let domain = u32::from_str_radix(domain, 16).ok()?;
    let is_plain = |letter: char| letter.is_ascii_hexdigit() || letter == ':' || letter == '.';
    rest.chars().all(is_plain).then(|| format!("{domain:04x}:{}", rest.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_address_becomes_the_kernels() {
        assert_eq!(kernel_address("00000000:3B:00.0").as_deref(), Some("0000:3b:00.0"));
        assert_eq!(kernel_address("00010000:01:00.0").as_deref(), Some("10000:01:00.0"));
        assert_eq!(kernel_address("0:../../etc"), None);
        assert_eq!(kernel_address("nowhere"), None);
    }
}
