//! A run while it goes on: what it has used up, its own and with the runs nested in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llmperf_core::{
    FinishedCall, Observer,
    part::{self, Text},
};

use crate::{AgentResult, repeats::Repeats};

/// What a run has used up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    pub(crate) inference_calls: u64,
    pub(crate) tool_calls: u64,
    /// Steps that were marked.
    pub(crate) marked_steps: u64,
    /// Absent until a call tells its tokens.
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    /// USD; absent until a call has a price.
    pub(crate) cost: Option<f64>,
}

impl Totals {
    /// The steps that were marked; else each inference call, with the tools after it, is one.
    pub(crate) fn steps(&self) -> u64 {
        if self.marked_steps > 0 { self.marked_steps } else { self.inference_calls }
    }

    fn take_in(&mut self, other: &Self) {
        fn sum<T: Copy + std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
            a.zip(b).map(|(a, b)| a + b).or(a).or(b)
        }
        self.inference_calls += other.inference_calls;
        self.tool_calls += other.tool_calls;
        self.marked_steps += other.marked_steps;
        self.input_tokens = sum(self.input_tokens, other.input_tokens);
        self.output_tokens = sum(self.output_tokens, other.output_tokens);
        self.cost = sum(self.cost, other.cost);
    }
}

/// What a run knows when it ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    /// Its own calls: those of nested runs are theirs.
    pub(crate) own: Totals,
    /// Its own and those of the runs nested in it.
    pub(crate) all: Totals,
    pub(crate) nested_runs: u64,
    pub(crate) most_repeated: Option<(Text, u64)>,
    /// What code inside said of the result.
    pub(crate) said: Option<AgentResult>,
}

/// The observer of a run: calls, tools and steps inside find it as the nearest.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) name: Text,
    pub(crate) conversation: Text,
    outer: Option<Arc<Self>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    account: Account,
    repeats: Repeats,
    /// A loop was told of.
    looped: bool,
    /// The run has ended: what comes now is late, and counts nowhere in it.
    closed: bool,
}

impl Running {
    pub(crate) fn new(name: Text, conversation: Text, outer: Option<Arc<Self>>) -> Self {
        if let Some(outer) = &outer {
            outer.outwards(|state| state.account.nested_runs += 1);
        }
        Self { name, conversation, outer, state: Mutex::default() }
    }

    /// Adds to its own totals, and to those of all runs around it.
    pub(crate) fn add(&self, used: &Totals) {
        self.with(|state| state.account.own.take_in(used));
        self.outwards(|state| state.account.all.take_in(used));
    }

    /// Notes the arguments of a tool call; gives how many such calls there were, it included.
    pub(crate) fn repeated(&self, tool: &Text, arguments: u64) -> u64 {
        self.with(|state| state.repeats.note(tool, arguments)).unwrap_or(1)
    }

    /// Whether it is the first loop of the run that somebody asks about.
    pub(crate) fn is_first_loop(&self) -> bool {
        self.with(|state| !std::mem::replace(&mut state.looped, true)).unwrap_or(false)
    }

    /// Says how it will have come out.
    pub(crate) fn say(&self, result: AgentResult) {
        self.with(|state| state.account.said = Some(result));
    }

    /// What was said of how it will have come out.
    pub(crate) fn said(&self) -> Option<AgentResult> {
        self.with(|state| state.account.said).flatten()
    }

    /// It has ended: gives what it used up.
    pub(crate) fn close(&self) -> Account {
        let mut state = self.lock();
        state.closed = true;
        let account = std::mem::take(&mut state.account);
        Account { most_repeated: std::mem::take(&mut state.repeats).most(), ..account }
    }

    fn outwards(&self, mut change: impl FnMut(&mut State)) {
        let mut next = Some(self);
        while let Some(run) = next {
            run.with(&mut change);
            next = run.outer.as_deref();
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> Option<T> {
        let mut state = self.lock();
        if state.closed { None } else { Some(change(&mut state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Running {
    fn finished(&self, call: &FinishedCall<'_>) {
        let nearest = call.nearest::<Self>();
        if !nearest.is_some_and(|nearest| std::ptr::eq(Arc::as_ptr(&nearest), self)) {
            return;
        }
        let mut used = Totals { cost: call.cost, ..Totals::default() };
        if call.is_inference() {
            used.inference_calls = 1;
            used.input_tokens = call.timing.usage.input_tokens();
            used.output_tokens = call.timing.usage.output_tokens();
        }
        self.add(&used);
    }
}

/// Says how the run that we are in will have come out; an error that ends it is stronger, and a drop only than a success. Outside any run nothing happens.
///
/// For code inside a run, that has no guard at hand; who has one uses [`Run::result`](crate::Run::result).
///
/// ```
/// use llmperf_agent::{AgentResult, Work as _, conclude, run};
///
/// run("travel-desk").in_scope(|| conclude(AgentResult::StepLimit), |guard, ()| guard.complete());
/// ```
pub fn conclude(result: AgentResult) {
    if let Some(run) = part::nearest_here::<Running>() {
        run.say(result);
    }
}
