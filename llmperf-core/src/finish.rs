//! What happens at the latch, once per call: figures, metrics, statistics, span, event, observers.

use std::{borrow::Cow, sync::atomic::Ordering};

use opentelemetry::{KeyValue, trace::TraceContextExt as _};

use crate::{
    FinishReason, GenAiNames, Oddity, Outcome, Side, TokenSource, Usage,
    answer::MOST_GAPS,
    armed::Armed,
    clock::Tick,
    event,
    journal::Entry,
    labels::{InputSize, NameKind, Sets, TokenType, Variant},
    live::Live,
    marks::Figures,
    metrics::Metric as M,
    observe::FinishedCall,
    outcome::Latch,
    scope::Frame,
    shared::{Attempt, Given, Shared},
    span,
    stats::{Figure, SeriesKind, SlowCall, Title},
    timing::Timing,
};

/// Most values that the statistics take from a call at its end: one of each figure, and the gaps that are left.
const MOST_FIGURES: usize = Figure::ALL.len() + MOST_GAPS;

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    pub(crate) error_type: Option<Cow<'static, str>>,
    pub(crate) figures: Figures,
    pub(crate) usage: Usage,
    pub(crate) token_source: Option<TokenSource>,
    pub(crate) finish_reasons: Vec<FinishReason>,
    pub(crate) attempts: Vec<Attempt>,
    /// TTFT from the start of the attempt that streamed.
    pub(crate) attempt_ttft: Option<u64>,
    /// Attributes that code inside the call gave.
    pub(crate) told: Vec<KeyValue>,
    pub(crate) cost: Option<f64>,
}

impl Finished {
    /// How many attempts there were; absent where nobody could see them.
    pub(crate) fn attempts(&self) -> Option<u32> {
        u32::try_from(self.attempts.len()).ok().filter(|attempts| *attempts > 0)
    }

    /// The same for the caller. Made on request: most never ask.
    pub(crate) fn timing(&self) -> Timing {
        let mut timing = Timing::from_figures(&self.figures);
        timing.usage = self.usage;
        timing.token_source = self.token_source;
        timing.attempts = self.attempts();
        timing.outcome = Some(self.outcome);
        timing.error_type.clone_from(&self.error_type);
        timing.finish_reasons.clone_from(&self.finish_reasons);
        timing
    }
}

impl Live {
    /// Records the call. Runs at the latch; in `Drop` only if there was none before. Uses the stored context only.
    pub(crate) fn finish(&mut self, latch: &Latch, at: Tick) {
        let Some(armed) = &self.armed else { return };
        let given = Shared::of(&self.context).map(Shared::close).unwrap_or_default();
        let (joined, withdrawn) = (armed.is_joined(), self.spec.withdrawn);
        let given = self.take_in(given);
        let mut room = [0; MOST_GAPS];
        let gaps = self.drain_gaps(&mut room);
        let finished = self.figure_out(latch, at, given);
        if withdrawn {
            self.guarded(|| self.forget());
        } else if joined {
            self.give_to_outer(&finished);
        } else {
            // A view of the SDK, or a provider of the user's, may panic.
            self.guarded(|| self.record(latch, at, &finished, gaps));
        }
        self.guarded(|| span::end(self, &finished));
        if !joined {
            if !withdrawn {
                event::emit(self, &finished);
                self.notify_finished(&finished);
            }
            // Last of all: whoever waits for live calls to end shuts telemetry down next.
            self.instrumentation.live().fetch_sub(1, Ordering::AcqRel);
        }
        self.finished = Some(Box::new(finished));
        // Whoever keeps the stream for its timing must not keep the span around it open.
        if let Some(armed) = &mut self.armed {
            armed.outer = None;
        }
    }

    /// Fills what this call lacks from what those inside it saw.
    fn take_in(&mut self, mut given: Given) -> Given {
        self.answer.usage = self.answer.usage.settled(self.output_seen());
        self.answer.usage.fill_from(&given.usage);
        self.answer.model = self.answer.model.take().or(given.model.take().map(Into::into));
        self.answer.id = self.answer.id.take().or(given.id.take().map(Into::into));
        if self.answer.reasons.is_empty() {
            self.answer.reasons = std::mem::take(&mut given.reasons);
        }
        if let Some(head) = given.head {
            self.marks.head(head);
        }
        given
    }

    fn figure_out(&mut self, latch: &Latch, at: Tick, given: Given) -> Finished {
        let (count, usage, source) = self.count();
        let finish_reasons = std::mem::take(&mut self.answer.reasons);
        let clock = self.clock();
        let nanos = |from, to| clock.nanos_between(from, to);
        let figures = self.marks.figures(at, &count, latch.outcome != Outcome::Complete, nanos);
        let error_type = latch.error_type.as_ref().map(|error_type| {
            let capped = self.instrumentation.labels().names().capped(NameKind::ErrorType, &error_type.clone().into());
            if capped.as_str() == &**error_type { error_type.clone() } else { crate::failure::OTHER.into() }
        });
        let attempt_ttft = self.marks.first_output().and_then(|first| {
            let streamed = given.attempts.iter().rev().find(|attempt| attempt.started <= first)?;
            Some(clock.nanos_between(streamed.started, first))
        });
        let prices = &self.instrumentation.settings().prices;
        let billable = source == Some(TokenSource::Usage) || source == Some(TokenSource::Tokenizer);
        let cost_as = |model: &str| prices.cost(self.spec.provider.as_str(), model, &usage);
        let answered_by = self.answer.model.as_deref().filter(|_| billable);
        let cost = answered_by.and_then(cost_as).or_else(|| billable.then(|| cost_as(self.spec.model.as_str()))?);
        Finished {
            outcome: latch.outcome,
            error_type,
            figures,
            usage,
            token_source: source,
            finish_reasons,
            attempts: given.attempts,
            attempt_ttft,
            told: given.attributes,
            cost,
        }
    }

    /// A joined attempt gives the call around it what it saw, and records nothing itself.
    fn give_to_outer(&self, finished: &Finished) {
        let Some(outer) = self.armed.as_ref().and_then(|armed| armed.outer.as_deref()) else { return };
        outer.give(finished.error_type.as_ref(), |given| {
            given.usage.absorb(&self.answer.usage, self.output_seen());
            given.model = self.answer.model.as_deref().map(str::to_owned).or(given.model.take());
            given.id = self.answer.id.as_deref().map(str::to_owned).or(given.id.take());
            if !finished.finish_reasons.is_empty() {
                given.reasons.clone_from(&finished.finish_reasons);
            }
            given.head = self.marks.head_at().or(given.head);
        });
    }

    /// Records the gaps gathered so far.
    #[cold]
    pub(crate) fn flush_gaps(&mut self) {
        let mut room = [0; MOST_GAPS];
        let gaps = self.drain_gaps(&mut room);
        self.record_gaps(gaps);
    }

    /// Records a gap of so many ticks, too long to be kept.
    #[cold]
    pub(crate) fn record_gap(&self, ticks: u64) {
        self.record_gaps(&[self.clock().nanos_between(0, ticks)]);
    }

    /// Takes out the gaps gathered so far, in nanoseconds.
    fn drain_gaps<'a>(&mut self, room: &'a mut [u64; MOST_GAPS]) -> &'a [u64] {
        let mut len = 0;
        for (slot, ticks) in room.iter_mut().zip(self.gaps.drain()) {
            *slot = self.clock().nanos_between(0, ticks);
            len += 1;
        }
        &room[..len]
    }

    fn record_gaps(&self, gaps: &[u64]) {
        let Some(armed) = self.armed.as_ref().filter(|armed| !armed.is_joined()) else { return };
        self.instrumentation.labels().with_answered(&armed.series, self.answer.model.as_deref(), |sets| {
            self.record_chunks(armed, sets, gaps);
        });
        if !self.marks.is_consumer_bound() {
            armed.series.stats().record_many(self.clock().nanos(), Figure::ChunkGap, gaps);
        }
    }

    /// The convention's histogram with one record per chunk.
    fn record_chunks(&self, armed: &Armed, sets: &Sets, gaps: &[u64]) {
        let per_chunk = self.instrumentation.settings().per_chunk && is_inference(self.spec.operation().as_str());
        if per_chunk && self.spec.side == Side::Client {
            sets.with(Variant::GenAi, |set| {
                for gap in gaps {
                    armed.instruments.record(M::GenAiPerChunk as usize, *gap as f64 / 1e9, set);
                }
            });
        }
    }

    /// All that is undone of a call that was none.
    fn forget(&self) {
        if let Some(armed) = self.armed.as_ref().filter(|armed| !armed.is_joined()) {
            armed.shift_active(self.spec.side, -1);
        }
    }

    fn record(&self, latch: &Latch, at: Tick, finished: &Finished, gaps: &[u64]) {
        let Some(armed) = &self.armed else { return };
        armed.shift_active(self.spec.side, -1);
        self.instrumentation.labels().with_answered(&armed.series, self.answer.model.as_deref(), |sets| {
            let record = Record { live: self, finished, sets, instruments: &armed.instruments };
            match self.spec.side {
                Side::Client => record.client(latch),
                Side::Server => record.server(),
            }
            record.slos();
            self.record_chunks(armed, sets, gaps);
            record.statistics(self.clock().nanos_between(0, at), gaps);
        });
        if self.instrumentation.labels().take_folded() {
            self.oddity(Oddity::FoldedName, 1);
        }
        if armed.frames.iter().flat_map(Frame::outwards).any(|frame| frame.is_closed()) {
            self.oddity(Oddity::LateCall, 1);
        }
        self.note(armed, at);
    }

    /// Tells those around it that it has ended.
    fn note(&self, armed: &Armed, at: Tick) {
        let Some(frames) = &armed.frames else { return };
        let clock = self.clock();
        frames.note(clock, || {
            let kind = match self.spec.side {
                Side::Client => SeriesKind::Call,
                Side::Server => SeriesKind::ServerCall,
            };
            Entry {
                title: Title::new(kind, self.spec.provider.clone(), self.spec.model.clone()),
                id: self.id(),
                call: 0,
                within: frames.id_of_work(),
                began: clock.nanos_between(0, self.marks.start()),
                ended: clock.nanos_between(0, at),
            }
        });
    }

    fn notify_finished(&self, finished: &Finished) {
        let Some(armed) = &self.armed else { return };
        let global = &self.instrumentation.settings().observers;
        let framed = || armed.frames.iter().flat_map(Frame::outwards).filter_map(|frame| frame.observer());
        if global.is_empty() && framed().next().is_none() {
            return;
        }
        let span = self.context.span();
        let clock = self.clock();
        let since_start = clock.nanos_between(self.marks.start(), clock.tick());
        let call = FinishedCall {
            id: self.id(),
            side: self.spec.side,
            operation: self.spec.operation().as_str(),
            provider: self.spec.provider.as_str(),
            model: self.spec.model.as_str(),
            timing: &finished.timing(),
            cost: finished.cost,
            span: span.span_context(),
            ended_ago: std::time::Duration::from_nanos(since_start.saturating_sub(finished.figures.duration)),
            frames: armed.frames.as_ref(),
        };
        for observer in global.iter().chain(framed()) {
            self.guarded(|| observer.finished(&call));
        }
    }
}

/// Operations that are inferences; others have `gen_ai.client.operation.duration` and nothing else of the convention.
pub(crate) fn is_inference(operation: &str) -> bool {
    let is_other = matches!(
        operation,
        "embeddings" | "retrieval" | "rerank" | "execute_tool" | "create_agent" | "invoke_agent" | "fetch_response"
    );
    let is_memory = operation.ends_with("_memory") || operation.ends_with("_memory_store");
    !is_other && !is_memory
}

/// One call on its way into instruments and statistics.
struct Record<'a> {
    live: &'a Live,
    finished: &'a Finished,
    sets: &'a Sets,
    instruments: &'a crate::instruments::Instruments,
}

impl Record<'_> {
    fn client(&self, latch: &Latch) {
        let figures = &self.finished.figures;
        self.gen_ai();
        self.duration(M::ClientDuration);
        self.seconds(M::ClientHead, Variant::Own, figures.head);
        if self.live.spec.streamed {
            self.first_token(M::ClientFirstToken);
            self.seconds(M::ClientFirstAnswer, Variant::Own, figures.first_answer);
            self.seconds(M::ClientConsumerWait, Variant::Own, Some(figures.consumer_wait));
            if !figures.consumer_bound {
                self.pace(M::ClientPerToken, figures.per_token);
                self.seconds(M::ClientLongestGap, Variant::Own, figures.longest_gap);
                if let Some(rate) = figures.token_rate {
                    self.sets.with(Variant::Own, |set| self.instruments.record(M::ClientTokenRate as usize, rate, set));
                }
            }
        }
        self.calls(M::ClientCalls);
        self.tokens(M::ClientTokens);
        if let Some(tokens) = self.counted().input_tokens() {
            self.count(M::ClientPromptTokens, Variant::Own, tokens);
        }
        let retries = self.finished.attempts().unwrap_or(0).saturating_sub(1);
        if retries > 0 {
            self.count(M::ClientRetries, Variant::Own, u64::from(retries));
        }
        if latch.marker_missing {
            self.count(M::ClientMarkersMissing, Variant::Own, 1);
        }
        if let Some(cost) = self.finished.cost {
            self.sets.with(Variant::Own, |set| self.instruments.record(M::ClientCost as usize, cost, set));
        }
    }

    fn server(&self) {
        let figures = &self.finished.figures;
        self.seconds(M::GenAiServerDuration, self.gen_ai_error(), Some(figures.duration));
        if self.finished.outcome == Outcome::Complete {
            self.seconds(M::GenAiServerFirstToken, Variant::GenAi, figures.first_token);
            let tokens = self.finished.usage.output_tokens().filter(|tokens| *tokens > 1);
            let after_first = figures.first_token.map(|first| figures.duration.saturating_sub(first));
            if let Some((nanos, tokens)) = after_first.zip(tokens) {
                let per_token = nanos as f64 / 1e9 / (tokens - 1) as f64;
                self.sets.with(Variant::GenAi, |set| {
                    self.instruments.record(M::GenAiServerPerToken as usize, per_token, set);
                });
            }
        }
        self.duration(M::ServerDuration);
        self.first_token(M::ServerFirstToken);
        if !figures.consumer_bound {
            self.pace(M::ServerPerToken, figures.per_token);
        }
        self.calls(M::ServerCalls);
        self.tokens(M::ServerTokens);
    }

    /// The client metrics of the GenAI conventions.
    fn gen_ai(&self) {
        let figures = &self.finished.figures;
        let error = self.gen_ai_error();
        if !is_inference(self.live.spec.operation().as_str()) {
            return self.seconds(M::GenAiOtherDuration, error, Some(figures.duration));
        }
        self.seconds(M::GenAiDuration, error, Some(figures.duration));
        if self.live.spec.streamed {
            self.seconds(M::GenAiFirstChunk, Variant::GenAi, figures.first_chunk);
        }
        let usage = self.counted();
        let input = usage.billed_input_tokens().or(usage.input_tokens());
        let output = usage.billed_output_tokens().or(usage.output_tokens());
        if self.live.instrumentation.settings().names == GenAiNames::V1_41 {
            let error = self.finished.error_type.as_deref();
            for (metric, tokens, is_output) in
                [(M::GenAiInputPerCall, input, false), (M::GenAiOutputPerCall, output, true)]
            {
                if let Some(tokens) = tokens {
                    self.count(metric, Variant::GenAiTokens { output: is_output, error }, tokens);
                }
            }
            return;
        }
        // The convention asks for a 0 of unknown modality where the provider reported no count.
        self.modal(M::GenAiInput, input, usage.audio_input_tokens());
        self.modal(M::GenAiOutput, output, usage.audio_output_tokens());
        let parts = [
            (M::GenAiCacheRead, usage.cache_read_tokens()),
            (M::GenAiCacheWrite, usage.cache_write_tokens()),
            (M::GenAiReasoning, usage.reasoning_tokens()),
        ];
        for (metric, tokens) in parts {
            if let Some(tokens) = tokens {
                self.count(metric, Variant::GenAiModality { audio: false }, tokens);
            }
        }
        for (metric, tokens) in [(M::GenAiInputPerCall, input), (M::GenAiOutputPerCall, output)] {
            if let Some(tokens) = tokens {
                self.count(metric, error, tokens);
            }
        }
    }

    fn modal(&self, metric: M, tokens: Option<u64>, audio: Option<u64>) {
        let (tokens, audio) = (tokens.unwrap_or(0), audio.unwrap_or(0));
        if audio > 0 {
            self.count(metric, Variant::GenAiModality { audio: true }, audio);
        }
        self.count(metric, Variant::GenAiModality { audio: false }, tokens.saturating_sub(audio));
    }

    /// Token counts that may enter metrics: reported, or counted by the user's own tokenizer; never an estimate.
    fn counted(&self) -> Usage {
        self.finished.usage
    }

    fn gen_ai_error(&self) -> Variant<'_> {
        match self.finished.error_type.as_deref() {
            Some(error) => Variant::GenAiError(error),
            None => Variant::GenAi,
        }
    }

    fn size(&self) -> InputSize {
        InputSize::of(self.finished.usage.input_tokens())
    }

    fn duration(&self, metric: M) {
        let variant = Variant::Duration { outcome: self.finished.outcome, size: self.size() };
        self.seconds(metric, variant, Some(self.finished.figures.duration));
    }

    fn first_token(&self, metric: M) {
        self.seconds(metric, Variant::FirstToken { size: self.size() }, self.finished.figures.first_token);
    }

    fn pace(&self, metric: M, nanos: Option<f64>) {
        if let Some(nanos) = nanos {
            self.sets.with(Variant::Own, |set| self.instruments.record(metric as usize, nanos / 1e9, set));
        }
    }

    fn calls(&self, metric: M) {
        let variant = Variant::Calls {
            streamed: self.live.spec.streamed,
            outcome: self.finished.outcome,
            error: self.finished.error_type.as_deref(),
        };
        self.count(metric, variant, 1);
    }

    fn tokens(&self, metric: M) {
        let usage = self.counted();
        let classes = [
            (TokenType::Input, usage.input_tokens()),
            (TokenType::Output, usage.output_tokens()),
            (TokenType::CacheRead, usage.cache_read_tokens()),
            (TokenType::CacheWrite, usage.cache_write_tokens()),
            (TokenType::Reasoning, usage.reasoning_tokens()),
        ];
        for (class, tokens) in classes {
            if let Some(tokens) = tokens {
                self.count(metric, Variant::Tokens(class), tokens);
            }
        }
    }

    fn slos(&self) {
        for (index, slo) in self.live.instrumentation.settings().slos.iter().enumerate() {
            if let Some(met) = slo.judge(self.finished.outcome, self.live.spec.whole, &self.finished.figures) {
                self.count(M::SloEvents, Variant::Slo { index, met }, 1);
            }
        }
    }

    /// The statistics of a call that ended at `now` on the axis of the windows; `gaps` are those not recorded yet.
    fn statistics(&self, now: u64, gaps: &[u64]) {
        let Some(armed) = &self.live.armed else { return };
        let figures = &self.finished.figures;
        let mut values = [(Figure::Duration, figures.duration); MOST_FIGURES];
        let mut len = 1;
        let mut add = |figure, value: Option<u64>| {
            if let Some(value) = value {
                values[len] = (figure, value);
                len += 1;
            }
        };
        add(Figure::TimeToHead, figures.head);
        if self.live.spec.streamed {
            add(Figure::TimeToFirstChunk, figures.first_chunk);
            add(Figure::TimeToFirstToken, figures.first_token);
            add(Figure::TimeToFirstAnswer, figures.first_answer);
            add(Figure::ConsumerWait, Some(figures.consumer_wait));
            if !figures.consumer_bound {
                add(Figure::TimePerOutputToken, figures.per_token.map(|nanos| nanos as u64));
                add(Figure::LongestGap, figures.longest_gap);
                add(Figure::OutputTokenRate, figures.token_rate.map(|rate| (rate * 1_000.0) as u64));
            }
        }
        if !figures.consumer_bound {
            gaps.iter().for_each(|gap| add(Figure::ChunkGap, Some(*gap)));
        }
        let trace_id = self.live.context.span().span_context().trace_id().to_bytes();
        let slow = SlowCall::new(figures.duration, figures.first_token, trace_id);
        let streamed = self.live.spec.streamed;
        armed.series.stats().record(now, values[..len].iter().copied(), self.finished.outcome, streamed, Some(slow));
    }

    fn seconds(&self, metric: M, variant: Variant<'_>, nanos: Option<u64>) {
        if let Some(nanos) = nanos {
            let seconds = nanos as f64 / 1e9;
            self.sets.with(variant, |set| self.instruments.record(metric as usize, seconds, set));
        }
    }

    fn count(&self, metric: M, variant: Variant<'_>, value: u64) {
        self.sets.with(variant, |set| self.instruments.count(metric as usize, value, set));
    }
}
