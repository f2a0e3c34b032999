//! What a live call shows to those inside it: transports that join it, code that adds an attempt or an attribute.

use std::{
    borrow::Cow,
    mem,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use opentelemetry::{Context, Key, KeyValue, Value};

use crate::{
    Side, Usage,
    clock::{Clock, Tick},
    current,
    failure::bounded,
    finish::is_inference,
    spec::Spec,
    text::Text,
    timing::FinishReason,
};

/// Most attempts, and most attributes of either kind, that are kept of a call.
const MOST: usize = 64;

/// The part of a live call that its context carries.
#[derive(Debug)]
pub(crate) struct Shared {
    side: Side,
    provider: Text,
    model: Text,
    work: Work,
    clock: Clock,
    start: Tick,
    /// Tells calls apart, and from frames; 0 where nobody observes. An attempt has that of its call.
    id: u64,
    live: AtomicBool,
    /// Made when something is told: most calls are told nothing.
    given: OnceLock<Box<Mutex<Given>>>,
}

/// What others told a call while it lived.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) usage: Usage,
    pub(crate) model: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) reasons: Vec<FinishReason>,
    pub(crate) head: Option<Tick>,
    pub(crate) failed: Option<Cow<'static, str>>,
    /// HTTP status of the last attempt.
    pub(crate) status: Option<u16>,
}

impl Given {
    /// What the call has failed by, whatever its stream or future says.
    pub(crate) fn failure(&self) -> Option<Cow<'static, str>> {
        let status = self.status.filter(|status| *status >= 400);
        self.failed.clone().or_else(|| status.map(|status| status.to_string().into()))
    }
}

/// One attempt of a call.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) started: Tick,
    pub(crate) model: Option<Text>,
    pub(crate) error_type: Option<Cow<'static, str>>,
    /// A measured transport was seen to make it.
    pub(crate) seen: bool,
}

impl Given {
    /// A measured transport inside the call begins: the attempt that was told last, unless that one has failed already or
    /// was seen to be made by another. Gives the attempt's place, if it is kept.
    fn join(&mut self, seen: Attempt) -> Option<usize> {
        match self.attempts.last_mut().filter(|told| !told.seen && told.error_type.is_none()) {
            Some(told) => {
                told.seen = true;
                told.model = told.model.take().or(seen.model);
                Some(self.attempts.len() - 1)
            }
            None => {
                self.forget_the_last();
                self.attempt(seen)
            }
        }
    }

    /// Another attempt begins: head and status are the last attempt's, and what one before it had is no longer the call's.
    fn forget_the_last(&mut self) {
        (self.head, self.status) = (None, None);
    }

    fn attempt(&mut self, attempt: Attempt) -> Option<usize> {
        let place = self.attempts.len();
        (place < MOST).then(|| {
            self.attempts.push(attempt);
            place
        })
    }
}

/// The live call that another one is an attempt at.
#[derive(Debug)]
pub(crate) struct Outer {
    context: Context,
    /// The attempt's place, if it is kept.
    place: Option<usize>,
}

impl Outer {
    /// Joins the call of this context, at the beginning of the attempt: the call may end before it.
    pub(crate) fn join(context: &Context, spec: &Spec, started: Tick) -> Option<Self> {
        let shared = Shared::of(context).filter(|outer| outer.takes_in(spec))?;
        let attempt = Attempt { started, model: Some(spec.model.clone()), error_type: None, seen: true };
        let place = shared.give(|given| given.join(attempt));
        Some(Self { context: context.clone(), place })
    }

    pub(crate) fn shared(&self) -> Option<&Shared> {
        Shared::of(&self.context)
    }

    /// Tells the call what the attempt saw, and how it ended.
    pub(crate) fn give(&self, error_type: Option<&Cow<'static, str>>, what: impl FnOnce(&mut Given)) {
        let Some(shared) = self.shared() else { return };
        shared.give(|given| {
            what(given);
            if let Some(attempt) = self.place.and_then(|place| given.attempts.get_mut(place)) {
                attempt.error_type = error_type.cloned();
            }
        });
    }
}

/// Keeps what was told of a call's span: of one key the last value.
pub(crate) fn keep(attributes: &mut Vec<KeyValue>, told: KeyValue) {
    if let Some(kept) = attributes.iter_mut().find(|kept| kept.key == told.key) {
        *kept = told;
    } else if attributes.len() < MOST {
        attributes.push(told);
    }
}

impl Shared {
    /// Of a call of this identity that began at `start`.
    pub(crate) fn new(spec: &Spec, clock: Clock, start: Tick, id: u64) -> Self {
        let (provider, model, work) = (spec.provider.clone(), spec.model.clone(), Work::of(spec));
        Self {
            side: spec.side,
            provider,
            model,
            work,
            clock,
            start,
            id,
            live: AtomicBool::new(true),
            given: OnceLock::new(),
        }
    }

    pub(crate) fn of(context: &Context) -> Option<&Self> {
        context.get::<Self>()
    }

    /// The one of a context, while its call lives.
    pub(crate) fn live_in(context: &Context) -> Option<&Self> {
        Self::of(context).filter(|shared| shared.live.load(Ordering::Acquire))
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The context as if no call lived in it.
    pub(crate) fn hidden(&self, context: &Context) -> Context {
        context.with_value(Self {
            side: self.side,
            provider: self.provider.clone(),
            model: self.model.clone(),
            work: self.work,
            clock: self.clock.clone(),
            start: self.start,
            id: self.id,
            live: AtomicBool::new(false),
            given: OnceLock::new(),
        })
    }

    /// Whether a call like this, made inside this one, is a part of it. A transport's is, whatever its names, unless it does
    /// other work: what embeds a query for a chat is no attempt at the chat.
    fn takes_in(&self, spec: &Spec) -> bool {
        let named_alike = || self.provider == spec.provider && self.model == spec.model;
        let carries = || spec.transport && self.work == Work::of(spec);
        self.side == spec.side && self.live.load(Ordering::Acquire) && (named_alike() || carries())
    }

    /// A transport that is part of the call has an answer of this HTTP status. Most calls are told nothing of success.
    pub(crate) fn answered_with(&self, status: u16) {
        if status >= 400 || self.given.get().is_some() {
            self.give(|given| given.status = Some(status));
        }
    }

    /// No more: the call has ended.
    pub(crate) fn close(&self) -> Given {
        self.live.store(false, Ordering::Release);
        self.given.get().map(|given| mem::take(&mut *lock(given))).unwrap_or_default()
    }

    /// Tells the call something.
    pub(crate) fn give<T>(&self, what: impl FnOnce(&mut Given) -> T) -> T {
        what(&mut lock(self.given.get_or_init(Box::default)))
    }

    /// The failure that code inside the call told.
    pub(crate) fn failure(&self) -> Option<Cow<'static, str>> {
        self.given.get().and_then(|given| lock(given).failure())
    }
}

/// What sort of work a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Inference,
    Embeddings,
    Rerank,
    Other,
}

impl Work {
    fn of(spec: &Spec) -> Self {
        let operation = spec.operation();
        match operation.as_str() {
            "embeddings" => Self::Embeddings,
            "rerank" => Self::Rerank,
            _ if is_inference(operation.as_str()) => Self::Inference,
            _ => Self::Other,
        }
    }
}

fn lock(given: &Mutex<Given>) -> MutexGuard<'_, Given> {
    given.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A live call, as code inside it sees it: retry loops, transports, fallbacks.
///
/// ```
/// use llmperf_core::current_call;
///
/// // in a retry loop, inside `open`, `run` or a measured stream
/// if let Some(call) = current_call() {
///     call.attempt();
///     call.attempt_failed("429");
///     call.attribute("http.response.header.retry-after", 2);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct CallHandle(Context);

/// The live call whose future, stream or scope is being polled, if there is one. Where no tracer is installed, a stream
/// shows its call until its first event only: by then the request has left.
#[must_use]
pub fn current_call() -> Option<CallHandle> {
    current::map_current(|context| Shared::live_in(context).map(|_| CallHandle(context.clone())))
}

impl CallHandle {
    /// An attempt begins. Tell each, the first one included; only of a first one that [fails](Self::attempt_failed) is
    /// that enough. A call that was told of none has no count of attempts.
    pub fn attempt(&self) {
        self.attempt_with(None);
    }

    /// An attempt with another model begins: a fallback took over.
    pub fn attempt_by(&self, model: impl Into<Cow<'static, str>>) {
        self.attempt_with(Some(model.into().into()));
    }

    fn attempt_with(&self, model: Option<Text>) {
        self.tell(|shared, given| {
            given.forget_the_last();
            given.attempt(Attempt { started: shared.clock.tick(), model, error_type: None, seen: false });
        });
    }

    /// The attempt that runs has failed. It ends the attempt, never the call. `error_type` is a code or a status.
    pub fn attempt_failed(&self, error_type: &str) {
        let error_type = bounded(error_type);
        self.tell(|shared, given| {
            if given.attempts.is_empty() {
                given.attempt(Attempt { started: shared.start, model: None, error_type: None, seen: false });
            }
            if let Some(attempt) = given.attempts.last_mut() {
                attempt.error_type = Some(error_type);
            }
        });
    }

    /// The response head of the attempt that streams has come.
    pub fn head(&self) {
        self.tell(|shared, given| given.head = Some(shared.clock.tick()));
    }

    /// The HTTP status of the attempt. If that of the last attempt is 400 or more, the call fails: by
    /// the code in its body where a decoder finds one, else by that number.
    pub fn status(&self, status: u16) {
        self.tell(|_, given| given.status = Some(status));
    }

    /// Adds an attribute to the call's span; never to metrics.
    pub fn attribute(&self, key: impl Into<Key>, value: impl Into<Value>) {
        let attribute = KeyValue::new(key, value);
        self.tell(|_, given| keep(&mut given.attributes, attribute));
    }

    /// The call has failed, whatever its stream says. `error_type` is a code or a type, never a message.
    pub fn fail(&self, error_type: &str) {
        let error_type = bounded(error_type);
        self.tell(|_, given| given.failed = Some(error_type));
    }

    fn tell(&self, what: impl FnOnce(&Shared, &mut Given)) {
        if let Some(shared) = Shared::of(&self.0) {
            shared.give(|given| what(shared, given));
        }
    }
}
