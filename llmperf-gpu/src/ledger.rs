//! Which call had how much of the energy of which device. Pure: advances of energy come in, settled calls go out.
//!
//! A call is settled once the energy of all its devices is known up to its end; that is at the next sample, after its
//! span has ended. The state per live call is bounded, and so is the number of calls.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    time::Duration,
};

use llmperf_core::{
    Side,
    opentelemetry::trace::{SpanId, TraceId},
};

use crate::{
    Condition, DeviceId, FleetAverage, LocalModel, Method,
    energy::Advance,
    share::{Portion, Presence, divide},
};

/// Most calls that are watched at a time.
const MOST_CALLS: usize = 16_384;
/// Calls shorter than this are shorter than what sensors resolve.
const SHORT: Duration = Duration::from_secs(1);
/// The time over which energy per token is averaged for a model.
const FLEET: Duration = Duration::from_secs(300);
/// How fast the idle power is learnt: the weight of the newest value.
const LEARNING: f64 = 0.2;

/// How far the energy of a call can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Quality {
    /// Measured over more than a second, with samples inside.
    Ok,
    /// Shorter than a second: each edge is uncertain by what the devices use in the update period of their counters.
    ShortWindow,
    /// No sample lies inside of it: all of it is interpolation.
    InterpolatedOnly,
    /// Some of its time is missing: a counter went back, told nonsense, or was not known yet.
    CounterReset,
    /// The energy of some of its devices is not known.
    PartialGpus,
    /// The energy of none is.
    Unsupported,
}

impl Quality {
    /// Its name, as it stands in `llmperf.gpu.quality`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ShortWindow => "short_window",
            Self::InterpolatedOnly => "interpolated_only",
            Self::CounterReset => "counter_reset",
            Self::PartialGpus => "partial_gpus",
            Self::Unsupported => "unsupported",
        }
    }

    /// Whether all of the call's energy is in the figure, however uncertain.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self <= Self::InterpolatedOnly
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) at: Duration,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) provider: Box<str>,
    pub(crate) side: Side,
    pub(crate) trace: Option<(TraceId, SpanId)>,
}

/// A call whose energy is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settled {
    /// The place of its model among the local ones.
    pub(crate) model: usize,
    pub(crate) from: Duration,
    pub(crate) ended: Ended,
    pub(crate) quality: Quality,
    /// Joules by the model's method; absent if nothing is known.
    pub(crate) joules: Option<f64>,
    /// What of that the devices would have used idle too; absent if their idle power is not known.
    pub(crate) idle_joules: Option<f64>,
    pub(crate) devices: usize,
    pub(crate) samples: u32,
    /// The mean number of calls in flight.
    pub(crate) overlap: Option<f64>,
}

impl Settled {
    /// Joules per output token; absent without either.
    pub(crate) fn joules_per_token(&self) -> Option<f64> {
        let tokens = self.ended.output_tokens.filter(|tokens| *tokens > 0)?;
        Some(self.joules? / tokens as f64)
    }
}

type Tokens = Box<dyn Fn() -> u64 + Send>;

struct Flight {
    model: usize,
    from: Duration,
    tokens: Tokens,
    parts: BTreeMap<DeviceId, Part>,
    ended: Option<Ended>,
}

/// What a call had of one device so far.
#[derive(Clone, Debug)]
struct Part {
    until: Duration,
    tokens: u64,
    portion: Portion,
    idle_joules: Option<f64>,
    advances: u32,
    broken: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    until: Duration,
    /// The time between its last two moves: an exporter that collects twice a minute is not silent in between.
    pace: Duration,
    learnt_idle: Option<f64>,
}

#[derive(Debug, Default)]
struct Fleet {
    entries: VecDeque<(Duration, f64, u64)>,
    joules: f64,
    tokens: u64,
}

/// All calls in flight, and those that wait for the sample that settles them.
pub(crate) struct Ledger {
    models: Vec<LocalModel>,
    grace: Duration,
    flights: BTreeMap<u64, Flight>,
    meters: BTreeMap<DeviceId, Meter>,
    fleets: Vec<Fleet>,
    untracked: u64,
}

impl Ledger {
    /// A ledger for these models. A device that tells nothing for `grace`, and twice the time in which it last moved, after a call has ended is
    /// not waited for.
    pub(crate) fn new(models: Vec<LocalModel>, grace: Duration) -> Self {
        let fleets = models.iter().map(|_| Fleet::default()).collect();
        let (flights, meters) = (BTreeMap::new(), BTreeMap::new());
        Self { models, grace, flights, meters, fleets, untracked: 0 }
    }

    pub(crate) fn begin(&mut self, id: u64, model: usize, from: Duration, tokens: Tokens) {
        if self.flights.len() >= MOST_CALLS {
            self.untracked += 1;
            return;
        }
        self.flights.insert(id, Flight { model, from, tokens, parts: BTreeMap::new(), ended: None });
    }

    pub(crate) fn end(&mut self, id: u64, ended: Ended) {
        if let Some(flight) = self.flights.get_mut(&id) {
            let at = ended.at.max(flight.from);
            flight.ended = Some(Ended { at, ..ended });
        }
    }

    /// A call was none.
    pub(crate) fn withdraw(&mut self, id: u64) {
        self.flights.remove(&id);
    }

    /// Notices were lost: what is in flight is not known any more.
    pub(crate) fn forget_all(&mut self, lost: u64) {
        self.untracked += lost + self.flights.len() as u64;
        self.flights.clear();
    }

    /// Calls that could not be watched.
    pub(crate) fn untracked(&self) -> u64 {
        self.untracked
    }

    /// Divides what a device used among the calls that were on it.
    pub(crate) fn attribute(&mut self, device: &DeviceId, advance: &Advance) {
        let models = &self.models;
        let uses = |model: usize| models.get(model).is_some_and(|model| uses(model, device));
        let meter = self.meters.entry(device.clone()).or_default();
        (meter.until, meter.pace) = (advance.to, advance.to - advance.from);
        let mut concerned: Vec<&mut Flight> = self
            .flights
            .values_mut()
            .filter(|flight| uses(flight.model) && flight.from < advance.to && flight.end() > advance.from)
            .collect();
        let presences: Vec<Presence> = concerned
            .iter_mut()
            .map(|flight| {
                let prefill_weight = models.get(flight.model).map_or(1.0, |model| model.prefill_weight);
                flight.presence(device, advance, prefill_weight)
            })
            .collect();
        let (portions, busy_seconds) = divide(advance, &presences);
        let seconds = (advance.to - advance.from).as_secs_f64();
        if busy_seconds <= 0.0 && seconds > 0.0 {
            let watts = advance.joules / seconds;
            let before = meter.learnt_idle.unwrap_or(watts);
            meter.learnt_idle = Some(before + LEARNING * (watts - before));
        }
        let learnt = meter.learnt_idle;
        for (flight, portion) in concerned.into_iter().zip(&portions) {
            let idle_watts = models.get(flight.model).and_then(|model| model.idle_watts).or(learnt);
            flight.add(device, portion, idle_watts);
        }
        for (model, fleet) in self.fleets.iter_mut().enumerate() {
            if uses(model) {
                fleet.add(advance.to, advance.joules, 0);
            }
        }
    }

    /// The calls whose energy is known by now, or will not be. `expected` are the devices that are sampled.
    pub(crate) fn settle(&mut self, now: Duration, expected: &[(DeviceId, Condition)]) -> Vec<Settled> {
        let (models, meters, grace) = (&self.models, &self.meters, self.grace);
        let is_ready = |flight: &Flight, ended: &Ended| {
            let waits_for = |(device, condition): &(DeviceId, Condition)| {
                let meter = meters.get(device).copied().unwrap_or_default();
                let until = ended.at.saturating_add(grace).saturating_add(meter.pace.saturating_mul(2));
                *condition == Condition::Ok && meter.until < ended.at && now < until
            };
            let mine = |(device, _): &&(DeviceId, Condition)| {
                models.get(flight.model).is_some_and(|model| uses(model, device))
            };
            !expected.iter().filter(mine).any(waits_for)
        };
        let ready: Vec<u64> = self
            .flights
            .iter()
            .filter(|(_, flight)| flight.ended.as_ref().is_some_and(|ended| is_ready(flight, ended)))
            .map(|(id, _)| *id)
            .collect();
        let mut settled = Vec::new();
        for id in ready {
            let Some(flight) = self.flights.remove(&id) else { continue };
            let Some(model) = self.models.get(flight.model) else { continue };
            let wanted = match &model.devices {
                Some(devices) => devices.len(),
                None => expected.len(),
            };
            settled.extend(flight.settled(model, wanted));
        }
        for call in &settled {
            if let Some(fleet) = self.fleets.get_mut(call.model) {
                fleet.add(now, 0.0, call.ended.output_tokens.unwrap_or(0));
            }
        }
        self.fleets.iter_mut().for_each(|fleet| fleet.trim(now));
        settled
    }

    /// Joules per output token over the last minutes.
    pub(crate) fn fleet(&self) -> Vec<FleetAverage> {
        let averages = self.models.iter().zip(&self.fleets).filter(|(_, fleet)| fleet.tokens > 0 && fleet.joules > 0.0);
        averages
            .map(|(model, fleet)| FleetAverage {
                model: model.model.clone(),
                joules_per_token: fleet.joules / fleet.tokens as f64,
            })
            .collect()
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("flights", &self.flights.len()).finish_non_exhaustive()
    }
}

fn uses(model: &LocalModel, device: &DeviceId) -> bool {
    model.devices.as_ref().is_none_or(|devices| devices.contains(device))
}

impl Flight {
    fn end(&self) -> Duration {
        self.ended.as_ref().map_or(Duration::MAX, |ended| ended.at)
    }

    /// How far it lies in a stretch of a device's energy, and how many tokens it made in it.
    fn presence(&mut self, device: &DeviceId, advance: &Advance, prefill_weight: f64) -> Presence {
        let (from, to, made) = (self.from, self.end(), (self.tokens)());
        let part = self.parts.entry(device.clone()).or_insert_with(|| Part {
            until: from,
            tokens: 0,
            portion: Portion::default(),
            idle_joules: Some(0.0),
            advances: 0,
            broken: false,
        });
        part.broken |= advance.broken || advance.from > part.until;
        part.until = advance.to;
        part.advances += 1;
        let tokens = (made > 0).then(|| made.saturating_sub(part.tokens) as f64);
        part.tokens = made;
        Presence { from, to, tokens, prefill_weight }
    }

    fn add(&mut self, device: &DeviceId, portion: &Portion, idle_watts: Option<f64>) {
        let Some(part) = self.parts.get_mut(device) else { return };
        let sum = &mut part.portion;
        sum.equal += portion.equal;
        sum.by_tokens += portion.by_tokens;
        sum.whole += portion.whole;
        sum.seconds += portion.seconds;
        sum.even_seconds += portion.even_seconds;
        sum.crowd_seconds += portion.crowd_seconds;
        part.idle_joules = part.idle_joules.zip(idle_watts).map(|(sum, watts)| sum + watts * portion.even_seconds);
    }

    fn settled(self, model: &LocalModel, wanted: usize) -> Option<Settled> {
        let ended = self.ended?;
        let parts: Vec<&Part> = self.parts.values().collect();
        let joules = |part: &&Part| match model.method {
            Method::EqualShare => part.portion.equal,
            Method::TokenShare => part.portion.by_tokens,
            Method::Window => part.portion.whole,
        };
        let known = !parts.is_empty();
        let seconds: f64 = parts.iter().map(|part| part.portion.seconds).sum();
        let crowd: f64 = parts.iter().map(|part| part.portion.crowd_seconds).sum();
        let samples = parts.iter().map(|part| part.advances.saturating_sub(1)).min().unwrap_or(0);
        let quality = if !known {
            Quality::Unsupported
        } else if parts.len() < wanted || parts.iter().any(|part| part.until < ended.at) {
            Quality::PartialGpus
        } else if parts.iter().any(|part| part.broken) {
            Quality::CounterReset
        } else if samples == 0 {
            Quality::InterpolatedOnly
        } else if ended.at.saturating_sub(self.from) < SHORT {
            Quality::ShortWindow
        } else {
            Quality::Ok
        };
        Some(Settled {
            model: self.model,
            from: self.from,
            quality,
            joules: known.then(|| parts.iter().map(joules).sum()),
            idle_joules: parts.iter().map(|part| part.idle_joules).sum::<Option<f64>>().filter(|_| known),
            devices: parts.len(),
            samples,
            overlap: (seconds > 0.0).then(|| crowd / seconds),
            ended,
        })
    }
}

impl Fleet {
    fn add(&mut self, at: Duration, joules: f64, tokens: u64) {
        self.joules += joules;
        self.tokens += tokens;
        // One entry per second, however often and of however many devices it is told.
        match self.entries.back_mut().filter(|(second, ..)| second.as_secs() == at.as_secs()) {
            Some((_, joules_of, tokens_of)) => (*joules_of, *tokens_of) = (*joules_of + joules, *tokens_of + tokens),
            None => self.entries.push_back((at, joules, tokens)),
        }
    }

    fn trim(&mut self, now: Duration) {
        let oldest = now.saturating_sub(FLEET);
        while let Some((_, joules, tokens)) = self.entries.front().copied().filter(|(at, ..)| *at < oldest) {
            self.joules -= joules;
            self.tokens -= tokens;
            self.entries.pop_front();
        }
        if self.entries.is_empty() {
            // Sums of what came and went are not quite nothing.
            self.joules = 0.0;
        }
    }
}
