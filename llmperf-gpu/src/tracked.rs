//! One device as the sampler keeps it: what it can tell, what it told last, its energy.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{
    Condition, DeviceInfo, DeviceSample, DeviceSnapshot, Ecc, EnergySource, Fault, Field, Fields, Incidents, Traffic,
    capability::{Capabilities, Change},
    check,
    energy::{Advance, Energy},
    snapshot::Health,
};

/// A device that the driver lists, or listed until it was lost.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub(crate) info: Arc<DeviceInfo>,
    pub(crate) condition: Condition,
    pub(crate) serves: Option<Arc<str>>,
    pub(crate) incidents: BTreeMap<u64, Incidents>,
    capabilities: Capabilities,
    sample: DeviceSample,
    sampled: Option<Duration>,
    energy: Energy,
    corrected: Rising,
    uncorrected: Rising,
    sent: Rising,
    received: Rising,
}

/// What came of sampling one device.
#[derive(Debug, Default)]
pub(crate) struct Sampled {
    pub(crate) advance: Option<Advance>,
    /// Everything that was asked failed, as it does when the driver is out of reach.
    pub(crate) out_of_reach: bool,
    pub(crate) lost: bool,
}

impl Tracked {
    pub(crate) fn new(info: DeviceInfo, serves: Option<Arc<str>>) -> Self {
        Self {
            info: Arc::new(info),
            condition: Condition::Ok,
            serves,
            incidents: BTreeMap::new(),
            capabilities: Capabilities::default(),
            sample: DeviceSample::nothing(),
            sampled: None,
            energy: Energy::default(),
            corrected: Rising::default(),
            uncorrected: Rising::default(),
            sent: Rising::default(),
            received: Rising::default(),
        }
    }

    /// The driver lists it: what it says of it now. A device that was lost is asked everything again.
    pub(crate) fn found(&mut self, info: DeviceInfo) {
        if self.condition == Condition::Lost {
            self.condition = Condition::Ok;
            self.capabilities = Capabilities::default();
        }
        if *self.info != info {
            self.info = Arc::new(info);
        }
    }

    /// It does not answer: what it told is not told any more.
    pub(crate) fn silence(&mut self, condition: Condition) {
        self.condition = condition;
        self.sample = DeviceSample::nothing();
        self.sampled = None;
    }

    /// What of a plan is to be asked of it now.
    pub(crate) fn plan(&self, now: Duration, mut plan: Fields) -> Fields {
        if self.info.parent.is_some() {
            // A part of a device tells its memory, and its activity where the monitors can see parts.
            plan = plan.and([Field::Memory, Field::Gpm, Field::Processes].into_iter().collect());
        } else if self.info.partitioned {
            // A device that is split has no utilisation of its own; some drivers answer 0, which is a lie.
            plan = plan.without(Field::Utilization).without(Field::Codec);
        }
        self.capabilities.worth_asking(now, plan)
    }

    /// Takes in what it told at `at`, of the fields that were `asked`. `whole` says whether that was all of the plan, not
    /// only its energy.
    pub(crate) fn take_in(
        &mut self,
        at: Duration,
        mut sample: DeviceSample,
        asked: Fields,
        whole: bool,
        health: &mut Health,
    ) -> Sampled {
        check::withhold_impossible(&mut sample, &self.info);
        let mut outcome = Sampled { out_of_reach: !asked.is_empty(), ..Sampled::default() };
        for field in asked.iter() {
            let status = sample.status(field);
            let fault = status.err().and_then(crate::Absence::fault);
            if let Some(fault) = fault {
                *health.read_errors.entry((field, fault)).or_default() += 1;
                outcome.lost |= fault.is_lost();
            }
            outcome.out_of_reach &= fault.is_some_and(Fault::is_of_access);
            self.note(at, field, status);
        }
        if outcome.lost {
            self.silence(Condition::Lost);
            return outcome;
        }
        outcome.advance = self.advance(at, &sample, asked, health);
        if let Ok(ecc) = &mut sample.ecc {
            *ecc = Ecc::new(self.corrected.up_to(ecc.corrected), self.uncorrected.up_to(ecc.uncorrected));
        }
        if let Ok(traffic) = &mut sample.nvlink {
            *traffic = Traffic::new(self.sent.up_to(traffic.sent), self.received.up_to(traffic.received));
        }
        if whole {
            self.condition = condition_of(&sample);
            self.sample = sample;
        } else {
            self.sample.refresh_energy(&sample);
        }
        self.sampled = Some(at);
        outcome
    }

    fn note(&mut self, at: Duration, field: Field, status: crate::Reading<()>) {
        let device = self.info.id.as_str();
        match self.capabilities.note(at, field, status) {
            Some(Change::GivenUp(fault)) => {
                tracing::debug!(target: "llmperf", device, field = field.as_str(), %fault, "a GPU does not tell this; left alone");
            }
            Some(Change::Back) => {
                tracing::debug!(target: "llmperf", device, field = field.as_str(), "a GPU tells this again");
            }
            None => {}
        }
    }

    fn advance(&mut self, at: Duration, sample: &DeviceSample, asked: Fields, health: &mut Health) -> Option<Advance> {
        let (resets, rejected) = (self.energy.resets(), self.energy.rejected());
        let advance = match sample.energy_millijoules {
            Ok(counter) => self.energy.count(at, counter, self.info.power_limit_watts),
            Err(_) if self.has_no_counter(sample, asked) => {
                sample.power_watts.ok().and_then(|watts| self.energy.integrate(at, watts))
            }
            Err(_) => None,
        };
        health.energy_resets += self.energy.resets() - resets;
        health.energy_rejected += self.energy.rejected() - rejected;
        advance
    }

    /// Whether power has to be integrated: the counter never told anything, and says that it will not.
    fn has_no_counter(&self, sample: &DeviceSample, asked: Fields) -> bool {
        let refused = |absence: crate::Absence| absence.fault().is_some_and(|f| f.is_unsupported() || f.is_denied());
        let refuses = asked.contains(Field::Energy) && sample.energy_millijoules.is_err_and(refused);
        !self.capabilities.has_worked(Field::Energy)
            && (refuses || self.capabilities.is_given_up(Field::Energy))
            && self.info.parent.is_none()
    }

    /// Whether it has no memory of its own to tell of, though it tells other things.
    fn has_unified_memory(&self) -> bool {
        self.condition == Condition::Ok
            && self.info.parent.is_none()
            && !self.capabilities.has_worked(Field::Memory)
            && self.capabilities.is_given_up(Field::Memory)
            && self.capabilities.gave_up_as_unsupported(Field::Memory)
    }

    pub(crate) fn snapshot(&self) -> DeviceSnapshot {
        let counted = self.energy.counted().map(|joules| (EnergySource::Counter, joules));
        let integrated = self.energy.integrated().map(|joules| (EnergySource::IntegratedPower, joules));
        DeviceSnapshot {
            info: Arc::clone(&self.info),
            condition: self.condition,
            sample: self.sample.clone(),
            sampled: self.sampled,
            energy: counted.into_iter().chain(integrated).collect(),
            unified_memory: self.has_unified_memory(),
            incidents: self.incidents.clone(),
            serves: self.serves.clone(),
        }
    }

    /// What it told last.
    pub(crate) fn sample(&self) -> &DeviceSample {
        &self.sample
    }
}

/// Of a sample of all that is asked: a device that tells nothing does not work, whatever it says why.
fn condition_of(sample: &DeviceSample) -> Condition {
    let tells = Field::ALL.iter().any(|field| sample.status(*field).is_ok());
    if tells { Condition::Ok } else { Condition::NoFigures }
}

/// A counter of the driver's that starts anew when the driver does, as one that never goes back.
#[derive(Clone, Copy, Debug, Default)]
struct Rising {
    last: u64,
    sum: u64,
}

impl Rising {
    fn up_to(&mut self, counter: u64) -> u64 {
        // After a reset all of it is new.
        let rise = counter.checked_sub(self.last).unwrap_or(counter);
        self.last = counter;
        self.sum = self.sum.saturating_add(rise);
        self.sum
    }
}
