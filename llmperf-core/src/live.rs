//! A call from its start to its latch: the state that adapters drive.
//!
//! Owned by one adapter or recorder, so nothing here is locked. What code *inside* the call may touch lies in
//! [`Shared`], in the call's context.

use std::{
    borrow::Cow,
    time::{Instant, SystemTime},
};

use opentelemetry::{Context, ContextGuard, KeyValue};

use crate::{
    Failure, Instrumentation, Oddity, Sees, TokenSource, Usage,
    answer::{Answer, Due, Gaps},
    armed::Armed,
    capture::Content,
    clock::{Clock, Tick},
    current,
    finish::Finished,
    internal::caught,
    marks::{Count, Marks},
    outcome::{Ending, Latch, PANIC},
    output::Output,
    scope,
    shared::{self, Outer, Shared},
    span,
    spec::Spec,
    text::{Text, cut},
    timing::{FinishReason, Timing},
};

/// Most finish reasons that are kept, one per choice.
const MOST_REASONS: usize = 64;
/// Longest name or id that is taken over from a provider, in bytes.
const LONGEST: usize = 256;

/// A call, from the moment it was made.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) spec: Spec,
    pub(crate) instrumentation: Instrumentation,
    /// The parent's; once the call is armed its own, with its span and [`Shared`]. Attached around polls.
    pub(crate) context: Context,
    /// The wall-clock time of the start.
    pub(crate) begun: SystemTime,
    pub(crate) marks: Marks,
    pub(crate) ending: Ending,
    pub(crate) answer: Answer,
    pub(crate) gaps: Gaps,
    /// Something is asked of each output: progress, a count of tokens, content.
    pub(crate) asked: bool,
    pub(crate) armed: Option<Armed>,
    pub(crate) finished: Option<Box<Finished>>,
}

impl Live {
    pub(crate) fn new(instrumentation: Instrumentation, provider: Text, model: Text) -> Self {
        let (clock, context) = (instrumentation.clock(), current::current());
        let (start, around) = (clock.tick(), scope::innermost(&context));
        let anchor = around.and_then(|frame| frame.anchor(clock));
        let begun = anchor.map_or_else(|| clock.wall(), |anchor| anchor.wall_at(start, clock));
        Self {
            spec: Spec::new(provider, model),
            instrumentation,
            context,
            begun,
            marks: Marks::starting_at(start),
            ending: Ending::default(),
            answer: Answer::default(),
            gaps: Gaps::default(),
            asked: false,
            armed: None,
            finished: None,
        }
    }

    #[inline]
    pub(crate) fn clock(&self) -> &Clock {
        self.instrumentation.clock()
    }

    pub(crate) fn set_parent(&mut self, parent: Context) {
        if self.armed.is_some() {
            return;
        }
        let (start, clock) = (self.marks.start(), self.clock());
        // A call that was made before the run is older than that: its own reading of the clock stands.
        let anchor = scope::innermost(&parent).and_then(|frame| frame.anchor(clock)).filter(|run| run.tick <= start);
        self.begun = anchor.map_or(self.begun, |anchor| anchor.wall_at(start, clock));
        self.context = parent;
    }

    pub(crate) fn nanos_from_start_until(&self, at: Instant) -> u64 {
        let clock = self.clock();
        let from_now = clock.nanos_until(at);
        clock.nanos_between(self.marks.start(), clock.tick()).saturating_add(from_now)
    }

    pub(crate) fn prompt(&mut self, prompt: &str) {
        if let Some(content) = self.content() {
            content.prompt(prompt);
        }
    }

    /// Whether content is captured.
    pub(crate) fn captures(&self) -> bool {
        match self.spec.given().and_then(|extras| extras.content.as_ref()) {
            Some(content) => content.capture().is_on(),
            None => self.instrumentation.settings().capture.is_on(),
        }
    }

    /// Where content goes; `None` where capture is off.
    fn content(&mut self) -> Option<&mut Content> {
        if !self.captures() {
            return None;
        }
        let capture = &self.instrumentation.settings().capture;
        Some(self.spec.extras().content.get_or_insert_with(|| Box::new(Content::new(capture.clone()))))
    }

    pub(crate) fn wants_text(&self) -> bool {
        let extras = self.spec.given();
        self.instrumentation.settings().capture.is_on()
            || extras.is_some_and(|extras| extras.content.is_some() || extras.tokenizer.is_some())
    }

    /// The items show this much of an ending, unless the caller has said otherwise.
    pub(crate) fn default_sees(&mut self, sees: Sees) {
        let sees = *self.spec.sees.get_or_insert(sees);
        self.ending.sees(sees);
    }

    pub(crate) fn set_sees(&mut self, sees: Sees) {
        self.spec.sees = Some(sees);
        self.ending.sees(sees);
    }

    /// Runs a callback of the user's; a panic in it is caught and counted.
    pub(crate) fn guarded(&self, callback: impl FnOnce()) {
        if caught(callback).is_none() {
            self.oddity(Oddity::CaughtPanic, 1);
        }
    }

    pub(crate) fn oddity(&self, oddity: Oddity, times: u64) {
        if let Some(armed) = &self.armed {
            self.instrumentation.internal().count(&armed.instruments, oddity, times);
        }
    }

    /// Attaches the call's context for one poll. Never held across polls.
    #[inline]
    pub(crate) fn enter(&self) -> Option<ContextGuard> {
        let armed = self.armed.as_ref()?;
        if armed.is_attached(self.marks.event_seen()) { current::attach(&self.context) } else { None }
    }

    /// The call's context, once it is armed; before, its parent's.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// The response head has come.
    pub(crate) fn head(&mut self) {
        let now = self.clock().tick();
        self.marks.head(now);
        self.ending.head();
    }

    /// The consumer polls.
    #[inline]
    pub(crate) fn polled(&mut self) {
        if self.marks.awaits_consumer() {
            let now = self.clock().tick();
            self.marks.polled(now);
        }
    }

    /// The poll found nothing.
    #[inline]
    pub(crate) fn pending(&mut self) {
        self.marks.pending();
    }

    /// A poll came back with an item: its time is taken now, before any parsing.
    #[inline]
    pub(crate) fn read(&mut self) {
        let now = self.clock().tick();
        self.marks.read(now);
    }

    /// The same for a source that no consumer can delay.
    pub(crate) fn read_unasked(&mut self) {
        let now = self.clock().tick();
        self.marks.read_unasked(now);
    }

    /// One event of the current read.
    #[inline]
    pub(crate) fn event(&mut self, output: &Output<'_>) {
        if self.ending.is_latched() {
            return;
        }
        if output.ignored {
            return self.ending.head(); // no event, but a sign of life: the answer has begun
        }
        if !output.uncounted && !self.marks.event_seen() {
            self.first_event();
        }
        if let Some(gap) = self.marks.event(output) {
            match self.gaps.push(gap) {
                None => {}
                Some(Due::All) => self.flush_gaps(),
                Some(Due::This) => self.record_gap(gap),
            }
        }
        if output.has_output() {
            self.ending.choice(output.choice);
            if self.asked {
                self.output(output);
            }
        }
        self.answered(output);
    }

    #[cold]
    fn first_event(&mut self) {
        self.ending.head();
        let side = self.spec.side;
        if let Some(armed) = self.armed.as_mut().filter(|armed| !armed.is_joined()) {
            armed.stream(side);
        }
    }

    /// What few calls ask of each output: progress, the caller's tokenizer, content.
    #[cold]
    fn output(&mut self, output: &Output<'_>) {
        if let Some(progress) = self.armed.as_ref().and_then(|armed| armed.progress.get()) {
            progress.add(output.tokens.map_or(u64::from(!output.uncounted), u64::from));
        }
        for piece in [output.reasoning, output.answer].into_iter().flatten() {
            if let Some(content) = self.content() {
                content.piece(piece);
            }
            if let Some(tokenizer) = self.spec.given().and_then(|extras| extras.tokenizer.clone()) {
                let tokens = tokenizer(piece.text);
                let tokenized = &mut self.spec.extras().tokenized;
                *tokenized = tokenized.saturating_add(tokens);
            }
        }
    }

    /// Model, id, usage, finish reason, failure, marker: usage before outcome.
    #[inline]
    fn answered(&mut self, output: &Output<'_>) {
        if let Some(model) = output.model
            && self.answer.model.is_none()
        {
            self.answer.model = Some(cut(model, LONGEST).into());
        }
        if let Some(id) = output.id
            && self.answer.id.is_none()
        {
            self.answer.id = Some(cut(id, LONGEST).into());
        }
        if !output.usage.is_empty() {
            self.usage(output.usage);
        }
        if let Some(finish) = output.finish
            && self.ending.finish(finish.choice)
            && self.answer.reasons.len() < MOST_REASONS
        {
            self.answer.reasons.push(FinishReason {
                choice: finish.choice,
                reason: span::reason_words(finish.reason),
                kind: finish.kind(),
            });
        }
        if let Some(failure) = output.failure {
            let latch = self.latch_of(failure);
            self.latched_by_read(latch);
        }
        if output.done {
            let latch = self.judged(Ending::marker);
            self.latched_by_read(latch);
        }
    }

    pub(crate) fn usage(&mut self, usage: Usage) {
        if !self.ending.is_latched() {
            self.answer.usage.absorb(&usage, self.output_seen());
        }
    }

    pub(crate) fn attribute(&mut self, attribute: KeyValue) {
        if !self.ending.is_latched() {
            shared::keep(&mut self.answer.attributes, attribute);
        }
    }

    /// The request failed.
    pub(crate) fn failed(&mut self, failure: Failure<'_>) {
        let latch = match self.told_failure() {
            Some(error_type) => self.ending.error(error_type),
            None => self.latch_of(failure),
        };
        self.latched(latch);
    }

    /// How the call ends by what was seen, unless code inside it has said that it failed.
    fn judged(&mut self, seen: impl FnOnce(&mut Ending) -> Option<Latch>) -> Option<Latch> {
        match self.told_failure() {
            Some(error_type) => self.ending.error(error_type),
            None => seen(&mut self.ending),
        }
    }

    fn latch_of(&mut self, failure: Failure<'_>) -> Option<Latch> {
        if failure.is_recoverable() {
            return None;
        }
        let latch = if failure.is_transport() {
            self.judged(|ending| ending.transport_failure(failure.error_type()))
        } else {
            self.ending.error(failure.error_type())
        };
        if let Some(message) = failure.text().filter(|_| latch.is_some()) {
            self.error_message(message);
        }
        latch
    }

    /// A provider's message quotes prompts: it leaves only where capture is on.
    fn error_message(&mut self, message: &str) {
        if let Some(content) = self.content() {
            content.error(message);
        }
    }

    /// The stream ended.
    pub(crate) fn end(&mut self) {
        let latch = self.judged(Ending::end);
        self.latched(latch);
    }

    /// The caller's own verdict: whole.
    pub(crate) fn complete(&mut self) {
        let latch = self.judged(Ending::marker);
        self.latched(latch);
    }

    /// The whole answer of a call that does not stream: no chunk, no mark.
    pub(crate) fn whole(&mut self, output: &Output<'_>) {
        if !output.ignored && !self.ending.is_latched() {
            if output.has_output() {
                self.answer.whole = true;
                self.output(output);
            }
            self.answered(output);
        }
        self.complete();
    }

    /// A part of an answer that came whole: no chunk, no mark.
    pub(crate) fn part_of_whole(&mut self, output: &Output<'_>) {
        if self.ending.is_latched() {
            return;
        }
        self.ending.head();
        if output.has_output() {
            self.answer.whole = true;
            self.ending.choice(output.choice);
            if self.asked {
                self.output(output);
            }
        }
        self.answered(output);
    }

    /// The answer turned out to stream, or to come whole. Of a call that asked for a stream the marks of streams are
    /// expected all the same.
    pub(crate) fn turned_out(&mut self, streams: bool) {
        self.spec.streamed |= streams;
        self.spec.whole = !self.spec.streamed;
    }

    /// The head of an answer whose body is still read has come, with this status.
    pub(crate) fn answered_with(&mut self, status: u16) {
        self.head();
        let outer = self.armed.as_ref().and_then(|armed| armed.outer.as_deref());
        for shared in [Shared::of(self.context()), outer.and_then(Outer::shared)].into_iter().flatten() {
            shared.answered_with(status);
        }
    }

    /// A poll, a scope or a callback of the caller's panicked.
    pub(crate) fn panicked(&mut self) {
        let latch = self.ending.error(PANIC.into());
        self.latched(latch);
    }

    /// The caller let go.
    pub(crate) fn dropped(&mut self) {
        if self.armed.is_none() || self.ending.is_latched() {
            return;
        }
        let passed = self.limit_passed();
        let latch = self.judged(|ending| ending.dropped(passed));
        self.latched(latch);
    }

    /// What code inside the call said of it.
    fn told_failure(&self) -> Option<Cow<'static, str>> {
        Shared::of(self.context()).and_then(Shared::failure)
    }

    fn limit_passed(&self) -> bool {
        let Some(extras) = self.spec.given() else { return false };
        let clock = self.clock();
        let now = clock.tick();
        let past =
            |since: Tick, limit: Option<u64>| limit.is_some_and(|limit| clock.nanos_between(since, now) >= limit);
        let start = self.marks.start();
        past(start, extras.deadline) || past(self.marks.last_read().unwrap_or(start), extras.idle_deadline)
    }

    /// The call is decided now: by an end, a drop, a failed request, a verdict.
    fn latched(&mut self, latch: Option<Latch>) {
        if let Some(latch) = latch {
            let now = self.clock().tick();
            let at = if latch.at_last_read { self.marks.last_read().unwrap_or(now) } else { now };
            self.finish(&latch, at);
        }
    }

    /// The call is decided by what the current read carried: it is as old as the read.
    fn latched_by_read(&mut self, latch: Option<Latch>) {
        if let Some(latch) = latch {
            let at = self.marks.last_read().unwrap_or_else(|| self.clock().tick());
            self.finish(&latch, at);
        }
    }

    /// Whether the answer has carried output, streamed or whole.
    pub(crate) fn output_seen(&self) -> bool {
        self.marks.output_seen() || self.answer.whole
    }

    /// The token count that figures are made with, and where it comes from.
    pub(crate) fn count(&self) -> (Count, Usage, Option<TokenSource>) {
        let output_seen = self.output_seen();
        let mut usage = self.answer.usage.settled(output_seen);
        let mut source = (!usage.is_empty()).then_some(TokenSource::Usage);
        let mut output = usage.output_tokens();
        if output.is_none() && output_seen {
            let tokenized =
                self.spec.given().filter(|extras| extras.tokenizer.is_some()).map(|extras| extras.tokenized);
            if let Some(tokens) = tokenized {
                (output, source) = (Some(tokens), Some(TokenSource::Tokenizer));
                usage = usage.output(tokens);
            } else if let Some(tokens) = self.marks.told_tokens() {
                (output, source) = (Some(tokens), Some(TokenSource::Usage));
                usage = usage.output(tokens);
            } else if self.spec.estimate_tokens && self.marks.output_seen() {
                (output, source) = (Some(self.marks.outputs()), Some(TokenSource::Chunks));
            }
        }
        let count = Count { output, reasoning: usage.reasoning_tokens(), choices: self.ending.choices() };
        (count, usage, source)
    }

    /// What has been measured, as of now.
    pub(crate) fn timing(&self) -> Timing {
        if let Some(finished) = &self.finished {
            return finished.timing();
        }
        let (count, usage, source) = self.count();
        let clock = self.clock();
        let figures = self.marks.figures(clock.tick(), &count, false, |from, to| clock.nanos_between(from, to));
        let mut timing = Timing::from_figures(&figures);
        (timing.usage, timing.token_source) = (usage, source);
        timing.finish_reasons.clone_from(&self.answer.reasons);
        timing
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.dropped();
    }
}
