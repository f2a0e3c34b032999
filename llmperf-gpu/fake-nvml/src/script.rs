//! What the library answers: its devices, and what was ordered to go wrong.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

pub(crate) const NOT_SUPPORTED: u32 = 3;
pub(crate) const NOT_FOUND: u32 = 6;
pub(crate) const INSUFFICIENT_SIZE: u32 = 7;
pub(crate) const INVALID_ARGUMENT: u32 = 2;
pub(crate) const UNINITIALIZED: u32 = 1;
pub(crate) const GPU_LOST: u32 = 15;

static SCRIPT: Mutex<Script> = Mutex::new(Script::new());
static RELEASED: Condvar = Condvar::new();

/// The state of the library.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) inits: u32,
    pub(crate) prepared: bool,
    pub(crate) driver: String,
    pub(crate) devices: Vec<Device>,
    pub(crate) events: VecDeque<(usize, u64)>,
    pub(crate) grown: BTreeMap<String, u32>,
    errors: BTreeMap<(String, Option<usize>), u32>,
    blocked: Vec<String>,
    sleeps: BTreeMap<String, u64>,
    calls: BTreeMap<String, u64>,
}

/// One device, or a part of one.
#[derive(Debug, Default)]
pub(crate) struct Device {
    pub(crate) uuid: String,
    pub(crate) name: String,
    pub(crate) pci: String,
    pub(crate) parent: Option<usize>,
    pub(crate) instance: u32,
    pub(crate) mig: bool,
    pub(crate) plugged: bool,
    pub(crate) lost: bool,
    pub(crate) watched: bool,
    pub(crate) processes: Vec<(u32, Option<u64>)>,
    pub(crate) usages: Vec<(u32, u64, u32, u32)>,
    values: BTreeMap<String, VecDeque<u64>>,
    integrated: Option<Instant>,
}

impl Script {
    const fn new() -> Self {
        Self {
            inits: 0,
            prepared: false,
            driver: String::new(),
            devices: Vec::new(),
            events: VecDeque::new(),
            grown: BTreeMap::new(),
            errors: BTreeMap::new(),
            blocked: Vec::new(),
            sleeps: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    /// Obeys lines; tells the first that it does not understand.
    pub(crate) fn obey(&mut self, lines: &str) -> Result<(), String> {
        let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            self.obey_line(line).ok_or_else(|| line.to_owned())?;
        }
        Ok(())
    }

    fn obey_line(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["driver", version] => (*version).clone_into(&mut self.driver),
            ["device", slot, uuid, name @ ..] => {
                let device = Device { uuid: (*uuid).into(), name: name.join(" "), plugged: true, ..Device::default() };
                self.put(slot.parse().ok()?, device)?;
            }
            ["instance", slot, uuid, parent, instance, name @ ..] => {
                let (parent, instance) = (Some(parent.parse().ok()?), instance.parse().ok()?);
                let (uuid, name) = ((*uuid).into(), name.join(" "));
                self.put(
                    slot.parse().ok()?,
                    Device { uuid, name, parent, instance, plugged: true, ..Device::default() },
                )?;
            }
            ["pci", slot, address] => (*address).clone_into(&mut self.device(slot)?.pci),
            ["mig", slot, on] => self.device(slot)?.mig = *on == "on",
            ["set", slot, key, values @ ..] => {
                let values: Option<VecDeque<u64>> = values.iter().map(|value| value.parse().ok()).collect();
                self.device(slot)?.values.insert((*key).into(), values.filter(|values| !values.is_empty())?);
            }
            ["unset", slot, key] => drop(self.device(slot)?.values.remove(*key)),
            ["integrate", slot] => self.device(slot)?.integrated = Some(Instant::now()),
            ["error", symbol, code] => self.fail(symbol, None, code.parse().ok()?),
            ["error", symbol, code, slot] => self.fail(symbol, Some(slot.parse().ok()?), code.parse().ok()?),
            ["block", symbol] => self.blocked.push((*symbol).into()),
            ["release"] => {
                self.blocked.clear();
                RELEASED.notify_all();
            }
            ["sleep", symbol, millis] => drop(self.sleeps.insert((*symbol).into(), millis.parse().ok()?)),
            ["lose", slot] => self.device(slot)?.lost = true,
            ["return", slot] => self.device(slot)?.lost = false,
            ["unplug", slot] => self.device(slot)?.plugged = false,
            ["plug", slot] => self.device(slot)?.plugged = true,
            ["process", slot, pid, bytes] => {
                let process = (pid.parse().ok()?, if *bytes == "na" { None } else { Some(bytes.parse().ok()?) });
                self.device(slot)?.processes.push(process);
            }
            ["processes", slot, "clear"] => self.device(slot)?.processes.clear(),
            ["usage", slot, pid, at, sm, memory] => {
                let usage = (pid.parse().ok()?, at.parse().ok()?, sm.parse().ok()?, memory.parse().ok()?);
                self.device(slot)?.usages.push(usage);
            }
            ["usages", slot, "clear"] => self.device(slot)?.usages.clear(),
            ["grow", symbol, count] => drop(self.grown.insert((*symbol).into(), count.parse().ok()?)),
            ["xid", slot, code] => {
                let slot: usize = slot.parse().ok()?;
                if self.devices.get(slot)?.watched {
                    self.events.push_back((slot, code.parse().ok()?));
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn put(&mut self, slot: usize, device: Device) -> Option<()> {
        if slot == self.devices.len() {
            self.devices.push(device);
        } else {
            *self.devices.get_mut(slot)? = device;
        }
        Some(())
    }

    fn device(&mut self, slot: &str) -> Option<&mut Device> {
        self.devices.get_mut(slot.parse::<usize>().ok()?)
    }

    fn fail(&mut self, symbol: &str, slot: Option<usize>, code: u32) {
        if code == 0 {
            self.errors.remove(&(symbol.into(), slot));
        } else {
            self.errors.insert((symbol.into(), slot), code);
        }
    }

    fn error_of(&self, symbol: &str, slot: Option<usize>) -> Option<u32> {
        let ordered = |symbol: &str, slot| self.errors.get(&(symbol.to_owned(), slot)).copied();
        let of_device = || ordered("*", slot).or_else(|| ordered("*", None));
        ordered(symbol, slot).or_else(|| ordered(symbol, None)).or_else(|| slot.and_then(|_| of_device()))
    }

    /// The devices that the driver lists.
    pub(crate) fn listed(&self) -> impl Iterator<Item = usize> {
        let whole = self.devices.iter().enumerate().filter(|(_, device)| device.plugged && device.parent.is_none());
        whole.map(|(slot, _)| slot)
    }

    /// How often a function was called.
    pub(crate) fn calls_of(&self, symbol: &str) -> u64 {
        self.calls.get(symbol).copied().unwrap_or(0)
    }
}

impl Device {
    /// The next value of a figure.
    pub(crate) fn value(&mut self, key: &str) -> Result<u64, u32> {
        if key == "energy"
            && let Some(since) = self.integrated
        {
            return Ok(self.integrate(since));
        }
        let values = self.values.get_mut(key).ok_or(NOT_SUPPORTED)?;
        match values.len() {
            0 | 1 => values.front().copied().ok_or(NOT_SUPPORTED),
            _ => values.pop_front().ok_or(NOT_SUPPORTED),
        }
    }

    /// The next value of a figure that the C side takes as 32 bits.
    pub(crate) fn small(&mut self, key: &str) -> Result<u32, u32> {
        Ok(u32::try_from(self.value(key)?).unwrap_or(u32::MAX))
    }

    fn integrate(&mut self, since: Instant) -> u64 {
        let power = self.values.get("power").and_then(VecDeque::front).copied().unwrap_or(0);
        let before = self.values.get("energy").and_then(VecDeque::front).copied().unwrap_or(0);
        let now = Instant::now();
        let used = power.saturating_mul(u64::try_from((now - since).as_micros()).unwrap_or(0)) / 1_000_000;
        if used > 0 {
            self.integrated = Some(now);
            self.values.insert("energy".into(), VecDeque::from([before.saturating_add(used)]));
        }
        before.saturating_add(used)
    }
}

/// The state. A panic is impossible here, or the process would end; a poisoned lock is as good as any.
pub(crate) fn script() -> MutexGuard<'static, Script> {
    SCRIPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One call of a function: counted, held up and failed as ordered, else answered by `body`.
pub(crate) fn answer(
    symbol: &'static str,
    slot: Option<usize>,
    body: impl FnOnce(&mut Script) -> Result<(), u32>,
) -> u32 {
    let mut script = script();
    *script.calls.entry(symbol.into()).or_default() += 1;
    while script.blocked.iter().any(|blocked| blocked == symbol) {
        script = RELEASED.wait(script).unwrap_or_else(PoisonError::into_inner);
    }
    if let Some(millis) = script.sleeps.get(symbol).copied() {
        drop(script);
        std::thread::sleep(std::time::Duration::from_millis(millis));
        script = self::script();
    }
    if let Some(code) = script.error_of(symbol, slot) {
        return code;
    }
    if script.inits == 0 && !symbol.starts_with("nvmlInit") {
        return UNINITIALIZED;
    }
    if let Some(slot) = slot {
        match script.devices.get(slot) {
            None => return INVALID_ARGUMENT,
            Some(device) if device.lost || !device.plugged => return GPU_LOST,
            Some(_) => {}
        }
    }
    body(&mut script).err().unwrap_or(0)
}
