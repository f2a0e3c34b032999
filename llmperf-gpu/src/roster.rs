//! The devices that are sampled: what the driver lists now, against what it listed before.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    Condition, DeviceId, DeviceInfo, Found, Selection,
    check::is_limit,
    settings::Settings,
    tracked::Tracked,
    visible::{Resolved, resolve},
};

/// Most devices that are remembered after they went.
const MOST_GONE: usize = 64;

/// The devices that are sampled.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    pub(crate) devices: Vec<Tracked>,
    /// Those that went, the last one at the end: if one comes back, its sums go on where they were.
    gone: VecDeque<Tracked>,
    /// Places of the list that never told what they are.
    pub(crate) nameless: usize,
    said_unclear: bool,
    said_persistence: bool,
    said_none: bool,
}

/// What a look at the list brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) gone: Vec<DeviceId>,
    /// Devices that were lost already, or are now.
    pub(crate) lost: Vec<DeviceId>,
}

impl Roster {
    /// Takes in what the driver lists. A device that it does not list any more is gone; one whose place in the list does
    /// not answer is lost, but still there.
    pub(crate) fn take_in(&mut self, found: Vec<Found>, settings: &Settings) -> Changes {
        let (mut there, mut silent) = (Vec::new(), Vec::new());
        for entry in found {
            match entry.device {
                // Listed twice it would be given its energy twice.
                Ok(device) if there.iter().any(|other: &DeviceInfo| other.id == device.id) => {}
                Ok(mut device) => {
                    device.power_limit_watts = device.power_limit_watts.filter(is_limit);
                    there.push(device);
                }
                Err(_) => silent.push(entry.index),
            }
        }
        self.say_once(&there);
        let chosen = self.chosen(&there, settings);
        let listed = there.len();
        there.retain(|device| chosen.as_ref().is_none_or(|chosen| is_chosen(device, chosen)));
        if there.is_empty() && listed > 0 && !std::mem::replace(&mut self.said_none, true) {
            tracing::warn!(target: "llmperf", listed, "none of the GPUs that there are was chosen to be sampled");
        }

        let mut changes = Changes::default();
        let mut before = std::mem::take(&mut self.devices);
        for info in there {
            let known = before.iter().position(|device| device.info.id == info.id);
            let mut device = match known {
                Some(place) => before.swap_remove(place),
                None => self.come_back(&info).unwrap_or_else(|| Tracked::new(info.clone(), serves(&info, settings))),
            };
            device.found(info);
            self.devices.push(device);
        }
        let mut nameless = silent.len();
        for mut device in before {
            if device.info.parent.is_none() && silent.contains(&device.info.index) {
                nameless = nameless.saturating_sub(1);
                changes.lost.push(device.info.id.clone());
                device.silence(Condition::Lost);
                self.devices.push(device);
            } else {
                changes.gone.push(device.info.id.clone());
                self.remember(device);
            }
        }
        self.nameless = nameless;
        self.devices.sort_by(|a, b| (a.info.index, &a.info.id).cmp(&(b.info.index, &b.info.id)));
        changes
    }

    /// No device is sampled any more, until the list is looked at again.
    pub(crate) fn clear(&mut self) {
        self.nameless = 0;
        std::mem::take(&mut self.devices).into_iter().for_each(|device| self.remember(device));
    }

    fn remember(&mut self, mut device: Tracked) {
        device.silence(Condition::Lost);
        if self.gone.len() == MOST_GONE {
            self.gone.pop_front();
        }
        self.gone.push_back(device);
    }

    fn come_back(&mut self, info: &DeviceInfo) -> Option<Tracked> {
        let place = self.gone.iter().position(|device| device.info.id == info.id)?;
        self.gone.remove(place)
    }

    /// The driver is out of reach: no device tells anything.
    pub(crate) fn silence(&mut self) {
        self.devices.iter_mut().for_each(|device| device.silence(Condition::Lost));
    }

    /// Whether some device does not work.
    pub(crate) fn is_bad(&self) -> bool {
        self.nameless > 0 || self.devices.iter().any(|device| device.condition.is_bad())
    }

    fn chosen(&mut self, there: &[DeviceInfo], settings: &Settings) -> Option<Vec<DeviceId>> {
        match &settings.selection {
            Selection::All => None,
            Selection::Only(ids) => Some(ids.clone()),
            Selection::Visible => {
                let whole: Vec<&DeviceInfo> = there.iter().filter(|device| device.parent.is_none()).collect();
                match resolve(&settings.visible, &whole) {
                    Resolved::All => None,
                    Resolved::Only(ids) => Some(ids),
                    Resolved::Unclear => {
                        if !std::mem::replace(&mut self.said_unclear, true) {
                            tracing::warn!(
                                target: "llmperf",
                                "CUDA_VISIBLE_DEVICES does not say clearly which GPUs it means; all are sampled. Name \
                                 them by UUID, or set CUDA_DEVICE_ORDER=PCI_BUS_ID"
                            );
                        }
                        None
                    }
                }
            }
        }
    }

    fn say_once(&mut self, there: &[DeviceInfo]) {
        let off = there.iter().any(|device| device.persistence == Some(false));
        if off && !std::mem::replace(&mut self.said_persistence, true) {
            tracing::warn!(
                target: "llmperf",
                "persistence mode is off: the driver initialises a GPU anew for each program that opens it, which takes \
                 seconds. The sampler keeps it open while it runs"
            );
        }
    }
}

/// Chosen itself, or a part of one that is.
fn is_chosen(device: &DeviceInfo, chosen: &[DeviceId]) -> bool {
    chosen.contains(&device.id) || device.parent.as_ref().is_some_and(|parent| chosen.contains(parent))
}

fn serves(info: &DeviceInfo, settings: &Settings) -> Option<Arc<str>> {
    settings.serves.iter().find(|(device, _)| *device == info.id).map(|(_, model)| Arc::clone(model))
}
