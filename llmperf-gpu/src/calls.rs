//! Calls meet energy: what core tells of calls goes into an inbox, the sampler's thread takes it out after each sample.
//!
//! The path of a call does one short push under a lock that is never held while a driver is asked.

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use llmperf_core::{FinishedCall, Observer, Progress, Side, StartedCall};

use crate::{
    Clock, Condition, DeviceId, FleetAverage, LocalModel,
    energy::Advance,
    ledger::{Ended, Ledger},
    outlet::Outlet,
    snapshot::{Shared, lock},
};

/// Most notices that wait for a sampler whose driver hangs.
const MOST_NOTICES: usize = 65_536;

/// By how much the energy of a device rose.
pub(crate) type DeviceAdvance = (DeviceId, Advance);

/// Joins calls and energy. Made with the sampler's builder, so that an observer can be had before the instrumentation that
/// it belongs to; set up when the sampler starts. Calls before that are not seen.
#[derive(Debug, Default)]
pub(crate) struct Correlation {
    inbox: Mutex<Inbox>,
    set_up: OnceLock<SetUp>,
}

#[derive(Debug)]
struct SetUp {
    models: Vec<LocalModel>,
    clock: Clock,
    ledger: Mutex<Ledger>,
    outlet: Outlet,
}

#[derive(Debug, Default)]
struct Inbox {
    notices: Vec<Notice>,
    lost: u64,
    /// Nobody takes anything out.
    closed: bool,
}

impl Inbox {
    fn take(&mut self) -> Self {
        Self { notices: std::mem::take(&mut self.notices), lost: std::mem::take(&mut self.lost), closed: self.closed }
    }
}

#[derive(Debug)]
enum Notice {
    Began { id: u64, model: usize, at: Duration, progress: Progress },
    Ended { id: u64, ended: Ended },
    Withdrawn { id: u64 },
}

impl Correlation {
    /// From now on calls are seen. A second time has no effect.
    pub(crate) fn set_up(&self, models: Vec<LocalModel>, clock: Clock, grace: Duration, outlet: Outlet) {
        let ledger = Mutex::new(Ledger::new(models.clone(), grace));
        // It is done once, by the only sampler that has it.
        let _again = self.set_up.set(SetUp { models, clock, ledger, outlet });
    }

    /// Takes in calls and advances, and lets out the calls that are settled by them. Tells how many calls could not be
    /// watched so far.
    pub(crate) fn settle(
        &self,
        now: Duration,
        advances: &[DeviceAdvance],
        expected: &[(DeviceId, Condition)],
        shared: &Shared,
    ) -> u64 {
        let Some(set_up) = self.set_up.get().filter(|set_up| !set_up.models.is_empty()) else { return 0 };
        let inbox = lock(&self.inbox).take();
        let mut ledger = lock(&set_up.ledger);
        if inbox.lost > 0 {
            ledger.forget_all(inbox.lost);
        }
        for notice in inbox.notices {
            match notice {
                Notice::Began { id, model, at, progress } => {
                    ledger.begin(id, model, at, Box::new(move || progress.tokens()));
                }
                Notice::Ended { id, ended } => ledger.end(id, ended),
                Notice::Withdrawn { id } => ledger.withdraw(id),
            }
        }
        for (device, advance) in advances {
            ledger.attribute(device, advance);
        }
        let settled = ledger.settle(now, expected);
        let untracked = ledger.untracked();
        drop(ledger);
        for call in &settled {
            if let Some(model) = set_up.models.get(call.model) {
                let window = shared.window(model.devices.as_deref(), call.from, call.ended.at);
                set_up.outlet.tell(model, call, &window);
            }
        }
        untracked
    }

    /// The driver is closed for longer: what has ended is let out as far as it is known, and calls are not watched until
    /// [`watch`](Self::watch). Tells how many calls could not be watched so far, those in flight among them.
    pub(crate) fn rest(&self, now: Duration, shared: &Shared) -> u64 {
        self.settle(now, &[], &[], shared);
        *lock(&self.inbox) = Inbox { closed: true, ..Inbox::default() };
        let Some(set_up) = self.set_up.get() else { return 0 };
        let mut ledger = lock(&set_up.ledger);
        ledger.forget_all(0);
        ledger.untracked()
    }

    /// Calls that begin from now on are watched again.
    pub(crate) fn watch(&self) {
        lock(&self.inbox).closed = false;
    }

    /// Joules per output token of each local model.
    pub(crate) fn fleet(&self) -> Vec<FleetAverage> {
        self.set_up.get().map(|set_up| lock(&set_up.ledger).fleet()).unwrap_or_default()
    }

    /// Where what is observed is made; absent before the set-up.
    pub(crate) fn meters(&self) -> Option<&llmperf_core::Meters> {
        self.set_up.get().map(|set_up| set_up.outlet.meters())
    }

    pub(crate) fn record_tick(&self, took: Duration) {
        if let Some(set_up) = self.set_up.get() {
            set_up.outlet.tick(took);
        }
    }

    /// Takes a notice of a call, if its model runs here. The time is taken under the lock: whoever empties the inbox after
    /// a sample finds every call that began before it.
    fn notice(&self, model: &str, side: Side, make: impl FnOnce(usize, Duration) -> Notice) {
        let Some(set_up) = self.set_up.get() else { return };
        let is_it = |local: &LocalModel| *local.model == *model && local.side.is_none_or(|only| only == side);
        let Some(place) = set_up.models.iter().position(is_it) else { return };
        self.leave(|| make(place, set_up.clock.now()));
    }

    fn leave(&self, make: impl FnOnce() -> Notice) {
        let mut inbox = lock(&self.inbox);
        if inbox.closed {
            return;
        }
        if inbox.notices.len() < MOST_NOTICES {
            inbox.notices.push(make());
        } else {
            inbox.lost += 1;
        }
    }
}

/// What core knows of it: an observer of all calls.
#[derive(Clone, Debug)]
pub(crate) struct CallObserver(pub(crate) Arc<Correlation>);

impl Observer for CallObserver {
    fn started(&self, call: &StartedCall<'_>) {
        self.0.notice(call.model, call.side, |model, at| Notice::Began {
            id: call.id,
            model,
            at,
            progress: call.progress(),
        });
    }

    fn finished(&self, call: &FinishedCall<'_>) {
        self.0.notice(call.model, call.side, |_, now| {
            let trace = call.span.is_valid().then(|| (call.span.trace_id(), call.span.span_id()));
            let ended = Ended {
                at: now.saturating_sub(call.ended_ago),
                output_tokens: call.timing.usage.output_tokens(),
                provider: call.provider.into(),
                side: call.side,
                trace,
            };
            Notice::Ended { id: call.id, ended }
        });
    }

    /// It used nothing: what comes from now on is the others'.
    fn withdrawn(&self, call: u64) {
        if self.0.set_up.get().is_some_and(|set_up| !set_up.models.is_empty()) {
            self.0.leave(|| Notice::Withdrawn { id: call });
        }
    }
}
