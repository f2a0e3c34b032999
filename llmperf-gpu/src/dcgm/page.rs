//! The exporter's page: Prometheus' text format, as far as it uses it.

use std::collections::BTreeMap;

use crate::{
    Activity, Codec, DeviceId, DeviceInfo, DeviceSample, Ecc, Fault, Field, Fields, Memory, Reading, Throttle, Traffic,
    Utilization,
};

const MEBIBYTE: f64 = 1_048_576.0;

/// Most devices of a page that are taken in: more are no machine, but an exporter that tells nonsense.
const MOST_DEVICES: usize = 1_024;

/// One scrape.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    devices: BTreeMap<DeviceId, Device>,
}

#[derive(Clone, Debug)]
struct Device {
    info: DeviceInfo,
    /// By the exporter's name, without `DCGM_FI_`.
    values: BTreeMap<String, f64>,
}

impl Page {
    /// Reads what it can; lines that it cannot read, or that are of no device, are left out.
    pub(super) fn parse(text: &str) -> Self {
        let mut page = Self::default();
        for line in text.lines() {
            if let Some((name, labels, value)) = sample(line) {
                page.add(name, &labels, value);
            }
        }
        let parents: Vec<DeviceId> = page.devices.values().filter_map(|device| device.info.parent.clone()).collect();
        for parent in parents {
            if let Some(whole) = page.devices.get_mut(&parent) {
                whole.info.partitioned = true;
            }
        }
        page
    }

    fn add(&mut self, name: &str, labels: &BTreeMap<&str, String>, value: f64) {
        let Some(name) = name.strip_prefix("DCGM_FI_") else { return };
        let Some(uuid) = labels.get("UUID").filter(|uuid| !uuid.is_empty()) else { return };
        let instance = labels.get("GPU_I_ID").filter(|instance| !instance.is_empty());
        let id = match instance {
            // The exporter does not tell the id of an instance, only its number.
            Some(instance) => DeviceId::from(format!("{uuid}/{instance}")),
            None => DeviceId::from(uuid.as_str()),
        };
        if self.devices.len() >= MOST_DEVICES && !self.devices.contains_key(&id) {
            return;
        }
        let label = |key: &str| labels.get(key).filter(|value| !value.is_empty()).cloned();
        let device = self.devices.entry(id.clone()).or_insert_with(|| {
            let model = label("modelName").unwrap_or_else(|| "NVIDIA GPU".into());
            let profile = label("GPU_I_PROFILE").filter(|_| instance.is_some());
            let name = profile.map_or(model.clone(), |profile| format!("{model} MIG {profile}"));
            let info = DeviceInfo {
                index: label("gpu").and_then(|index| index.parse().ok()).unwrap_or(0),
                parent: instance.map(|_| DeviceId::from(uuid.as_str())),
                pci_address: label("pci_bus_id"),
                driver_version: label("DCGM_FI_DRIVER_VERSION"),
                ..DeviceInfo::new(id, name)
            };
            Device { info, values: BTreeMap::new() }
        });
        if name == "DEV_POWER_MGMT_LIMIT" && value > 0.0 {
            device.info.power_limit_watts = Some(value);
        }
        device.values.insert(name.to_owned(), value);
    }

    pub(super) fn devices(&self) -> impl Iterator<Item = DeviceInfo> {
        self.devices.values().map(|device| device.info.clone())
    }

    /// What it tells of a device; absent if it does not list it.
    pub(super) fn sample(&self, device: &DeviceId, plan: Fields) -> Option<DeviceSample> {
        let device = self.devices.get(device)?;
        let mut sample = DeviceSample::nothing();
        plan.iter().for_each(|field| device.tell(field, &mut sample));
        Some(sample)
    }
}

impl Device {
    fn tell(&self, field: Field, sample: &mut DeviceSample) {
        match field {
            Field::Utilization => sample.utilization = self.utilization(),
            Field::Memory => sample.memory = self.memory(),
            Field::Power => sample.power_watts = self.value("DEV_POWER_USAGE"),
            Field::Energy => {
                sample.energy_millijoules = self.value("DEV_TOTAL_ENERGY_CONSUMPTION").and_then(whole);
            }
            Field::Temperature => sample.temperature_celsius = self.value("DEV_GPU_TEMP"),
            Field::SmClock => sample.sm_clock_hertz = self.hertz("DEV_SM_CLOCK"),
            Field::MemoryClock => sample.memory_clock_hertz = self.hertz("DEV_MEM_CLOCK"),
            Field::Throttle => {
                let bits = self.value("DEV_CLOCKS_EVENT_REASONS").or_else(|_| self.value("DEV_CLOCK_THROTTLE_REASONS"));
                sample.throttle = bits.and_then(whole).map(Throttle::from_bits);
            }
            Field::Codec => sample.codec = self.codec(),
            Field::Pcie => sample.pcie = self.pcie(),
            // It tells both directions in one figure.
            Field::NvLink => sample.nvlink = Err(Fault::NotSupported.into()),
            Field::Ecc => sample.ecc = self.ecc(),
            Field::Gpm => sample.gpm = self.activity(),
            Field::Processes => sample.processes = Err(Fault::NotSupported.into()),
        }
    }

    fn value(&self, name: &str) -> Reading<f64> {
        self.values.get(name).copied().ok_or(Fault::NotSupported.into())
    }

    fn hertz(&self, name: &str) -> Reading<u64> {
        self.value(name).and_then(|megahertz| whole(megahertz * 1e6))
    }

    fn utilization(&self) -> Reading<Utilization> {
        let memory = self.value("DEV_MEM_COPY_UTIL").ok().map(|percent| percent / 100.0);
        Ok(Utilization::new(self.value("DEV_GPU_UTIL")? / 100.0, memory))
    }

    fn memory(&self) -> Reading<Memory> {
        let used = self.value("DEV_FB_USED")?;
        let reserved = self.value("DEV_FB_RESERVED").unwrap_or(0.0);
        let sum = || self.value("DEV_FB_FREE").map(|free| free + used + reserved);
        let total = self.value("DEV_FB_TOTAL").or_else(|_| sum());
        let bytes = |mebibytes: f64| whole(mebibytes * MEBIBYTE);
        Ok(Memory::new(bytes(total?)?, bytes(used)?))
    }

    fn codec(&self) -> Reading<Codec> {
        Ok(Codec::new(self.value("DEV_ENC_UTIL")? / 100.0, self.value("DEV_DEC_UTIL")? / 100.0))
    }

    fn pcie(&self) -> Reading<Traffic> {
        let bytes = |name| self.value(name).and_then(whole);
        Ok(Traffic::new(bytes("PROF_PCIE_TX_BYTES")?, bytes("PROF_PCIE_RX_BYTES")?))
    }

    fn ecc(&self) -> Reading<Ecc> {
        let count = |name| self.value(name).and_then(whole);
        Ok(Ecc::new(count("DEV_ECC_SBE_VOL_TOTAL")?, count("DEV_ECC_DBE_VOL_TOTAL")?))
    }

    fn activity(&self) -> Reading<Activity> {
        let share = |name| self.value(name).ok();
        let activity = Activity {
            graphics: share("PROF_GR_ENGINE_ACTIVE"),
            sm: share("PROF_SM_ACTIVE"),
            occupancy: share("PROF_SM_OCCUPANCY"),
            tensor: share("PROF_PIPE_TENSOR_ACTIVE"),
            dram: share("PROF_DRAM_ACTIVE"),
        };
        if activity == Activity::default() { Err(Fault::NotSupported.into()) } else { Ok(activity) }
    }
}

/// A count. What is none is no value.
fn whole(value: f64) -> Reading<u64> {
    let is_count = value.is_finite() && (0.0..1.8e19).contains(&value);
    if is_count { Ok(value.round() as u64) } else { Err(Fault::OutOfRange.into()) }
}

/// Name, labels and value of a line; absent for comments and for what is no sample.
fn sample(line: &str) -> Option<(&str, BTreeMap<&str, String>, f64)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (name, rest) = line.split_at(line.find(['{', ' '])?);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (BTreeMap::new(), rest),
    };
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    value.is_finite().then_some((name, labels, value))
}

/// The labels up to the closing brace, and what follows it.
fn labels(mut text: &str) -> Option<(BTreeMap<&str, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        text = text.trim_start_matches([',', ' ']);
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (key, rest) = text.split_once("=\"")?;
        let (value, rest) = quoted(rest)?;
        labels.insert(key.trim(), value);
        text = rest;
    }
}

/// A value up to its closing quote, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((place, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, text.get(place + 1..)?)),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const PAGE: &str = r#"
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-b",pci_bus_id="00000000:41:00.0",device="nvidia1",modelName="H100 \"SXM\", 80GB",DCGM_FI_DRIVER_VERSION="570.1"} 37
DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-b"} 412.75
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",UUID="GPU-b"} 7.2e+08
DCGM_FI_DEV_FB_USED{gpu="1",UUID="GPU-b"} 1024
DCGM_FI_DEV_FB_FREE{gpu="1",UUID="GPU-b"} 3000
DCGM_FI_DEV_FB_RESERVED{gpu="1",UUID="GPU-b"} 72
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-b"} 1980 1700000000
DCGM_FI_DEV_GPU_TEMP{gpu="1",UUID="GPU-b"} NaN
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="1",UUID="GPU-b",GPU_I_ID="3",GPU_I_PROFILE="1g.10gb",modelName="H100"} 0.5
go_goroutines 12
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="unfinished
"#;

    fn all() -> Fields {
        Field::ALL.iter().copied().collect()
    }

    #[test]
    fn figures_come_in_our_units() {
        let page = Page::parse(PAGE);
        let device = page.devices().find(|device| device.parent.is_none()).unwrap();
        assert_eq!((device.id.as_str(), device.index, device.name.as_str()), ("GPU-b", 1, "H100 \"SXM\", 80GB"));
        assert_eq!((device.driver_version.as_deref(), device.partitioned), (Some("570.1"), true));
        let sample = page.sample(&device.id, all()).unwrap();
        assert_eq!(sample.utilization, Ok(Utilization::new(0.37, None)));
        assert_eq!(sample.power_watts, Ok(412.75));
        assert_eq!(sample.energy_millijoules, Ok(720_000_000));
        assert_eq!(sample.memory, Ok(Memory::new(4096 << 20, 1024 << 20)));
        assert_eq!(sample.sm_clock_hertz, Ok(1_980_000_000));
    }

    #[test]
    fn what_the_page_does_not_tell_is_absent() {
        let page = Page::parse(PAGE);
        let sample = page.sample(&"GPU-b".into(), all()).unwrap();
        for field in [Field::Temperature, Field::MemoryClock, Field::Ecc, Field::Pcie, Field::Processes, Field::Gpm] {
            assert_eq!(sample.status(field), Err(Fault::NotSupported.into()), "{field:?}");
        }
        assert!(page.sample(&"GPU-a".into(), all()).is_none());
        assert!(Page::parse("what is this {").devices.is_empty());
    }

    #[test]
    fn a_label_cannot_be_made_to_look_like_more_than_one() {
        let page = Page::parse(
            "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-a\",modelName=\"x\\\"} 1\\nDCGM_FI_DEV_GPU_TEMP{UUID=\\\"GPU-z\\\"} 7\"} 40\n",
        );
        let ids: Vec<_> = page.devices().map(|device| device.id.as_str().to_owned()).collect();
        assert_eq!(ids, ["GPU-a"]);
        assert_eq!(page.sample(&"GPU-a".into(), all()).unwrap().temperature_celsius, Ok(40.0));
    }

    #[test]
    fn a_page_of_nonsense_is_no_machine_of_a_million_devices() {
        let lines = (0..5_000).map(|device| format!("DCGM_FI_DEV_GPU_TEMP{{UUID=\"GPU-{device}\"}} 40\n"));
        assert_eq!(Page::parse(&lines.collect::<String>()).devices().count(), MOST_DEVICES);
    }

    #[test]
    fn an_instance_is_a_device_with_a_parent() {
        let page = Page::parse(PAGE);
        let part = page.devices().find(|device| device.parent.is_some()).unwrap();
        assert_eq!((part.id.as_str(), part.name.as_str()), ("GPU-b/3", "H100 MIG 1g.10gb"));
        let activity = page.sample(&part.id, all()).unwrap().gpm.unwrap();
        assert_eq!(activity, Activity { graphics: Some(0.5), ..Activity::default() });
    }
}
