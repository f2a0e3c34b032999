//! The marks of one call: which read was the first, where output began and ended, how long the longest gap was.
//!
//! Pure: it is told ticks and what a read carried. Durations and rates come out of [`Marks::figures`] once, at the end;
//! until then everything is a raw tick, so that a chunk costs additions and comparisons only.

use crate::{
    clock::Tick,
    output::{Kind, Output},
};

/// An instant that may be absent, in the room of one: no clock reaches the largest tick.
#[derive(Clone, Copy, Debug)]
struct Mark(Tick);

impl Mark {
    const ABSENT: Self = Self(Tick::MAX);

    #[inline]
    fn get(self) -> Option<Tick> {
        self.is_set().then_some(self.0)
    }

    #[inline]
    fn is_set(self) -> bool {
        self.0 != Self::ABSENT.0
    }

    /// Sets it, unless it was set before.
    #[inline]
    fn set_first(&mut self, at: Tick) {
        if !self.is_set() {
            self.0 = at;
        }
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::ABSENT
    }
}

/// A stretch of output: all of it, or the answer alone.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    first: Mark,
    last: Tick,
    first_read: u32,
    last_read: u32,
    reads: u32,
    bytes: u64,
    first_bytes: u64,
    /// Tokens of the first read as the dialect tells them.
    first_tokens: Option<u32>,
}

impl Span {
    /// Output in read number `read` at `at`; the gap to the read before it, if this is the first of its read.
    #[inline]
    fn output(&mut self, at: Tick, read: u32, bytes: u64, tokens: Option<u32>) -> Option<u64> {
        let mut gap = None;
        if !self.first.is_set() {
            (self.first, self.first_read) = (Mark(at), read);
        }
        if self.reads == 0 || self.last_read != read {
            gap = (self.reads > 0).then(|| at.saturating_sub(self.last));
            (self.last, self.last_read) = (at, read);
            self.reads = self.reads.saturating_add(1);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if read == self.first_read {
            self.first_bytes = self.first_bytes.saturating_add(bytes);
            if let Some(tokens) = tokens {
                self.first_tokens = Some(self.first_tokens.unwrap_or(0).saturating_add(tokens));
            }
        }
        gap
    }

    /// Tokens in the first read that carried output, of `streamed` in all.
    ///
    /// As the dialect tells; else in proportion to its bytes, at least 1; 1 where no bytes are known.
    fn first_tokens(&self, streamed: u64) -> u64 {
        if let Some(tokens) = self.first_tokens {
            return u64::from(tokens);
        }
        if self.bytes == 0 {
            return 1;
        }
        let share = match streamed.checked_mul(self.first_bytes) {
            Some(product) => product / self.bytes,
            // Never more than `streamed`: the first bytes are some of all.
            None => (u128::from(streamed) * u128::from(self.first_bytes) / u128::from(self.bytes)) as u64,
        };
        share.max(1)
    }

    fn length(&self) -> u64 {
        self.first.get().map_or(0, |first| self.last.saturating_sub(first))
    }
}

/// What has been marked so far. Every instant is a raw tick of the call's clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    start: Tick,
    head: Mark,
    first_event: Mark,
    last_read: Mark,
    read: u32,
    events: u64,
    outputs: u64,
    all: Span,
    answer: Span,
    reasoning_streamed: bool,
    reasoning_summarised: bool,
    /// Of the gaps between reads that carry output, once there are two.
    longest_gap: u64,
    told_tokens: u64,
    // The consumer: whether it has the last item, when it came back for more, how long it kept us waiting.
    handed_out: bool,
    came_back: Mark,
    consumer_wait: u64,
    /// Of it, what lies between the first and the last output, where it delays the model's pace.
    pace_wait: u64,
    wait_since_output: u64,
}

impl Marks {
    pub(crate) fn starting_at(start: Tick) -> Self {
        Self { start, ..Self::default() }
    }

    pub(crate) fn start(&self) -> Tick {
        self.start
    }

    pub(crate) fn head(&mut self, at: Tick) {
        self.head.set_first(at);
    }

    /// Whether the consumer's return must be stamped: only if an item was handed out since the last pending poll.
    #[inline]
    pub(crate) fn awaits_consumer(&self) -> bool {
        self.handed_out
    }

    /// The consumer polls again.
    #[inline]
    pub(crate) fn polled(&mut self, at: Tick) {
        self.came_back = Mark(at);
    }

    /// The poll found nothing ready: the model was still busy, so whatever the consumer did delayed nothing.
    #[inline]
    pub(crate) fn pending(&mut self) {
        (self.handed_out, self.came_back) = (false, Mark::ABSENT);
    }

    /// A read came back with an item at `at`.
    #[inline]
    pub(crate) fn read(&mut self, at: Tick) {
        if let (true, Some(out), Some(back)) = (self.handed_out, self.last_read.get(), self.came_back.get()) {
            let wait = back.saturating_sub(out);
            self.consumer_wait += wait;
            self.wait_since_output += wait;
        }
        (self.handed_out, self.came_back) = (true, Mark::ABSENT);
        self.last_read = Mark(at);
        self.read = self.read.wrapping_add(1);
    }

    /// The same for a source that no consumer can delay (callbacks).
    #[inline]
    pub(crate) fn read_unasked(&mut self, at: Tick) {
        self.read(at);
        self.pending();
    }

    /// What the current read carried; a read may carry several events. Gives the chunk gap that it closes.
    #[inline]
    pub(crate) fn event(&mut self, output: &Output<'_>) -> Option<u64> {
        if output.ignored || (output.uncounted && !output.has_output()) {
            return None;
        }
        let at = self.last_read.get().unwrap_or(self.start);
        self.events += u64::from(!output.uncounted);
        self.first_event.set_first(at);
        if !output.has_output() {
            return None;
        }
        self.outputs += u64::from(!output.uncounted);
        self.told_tokens += u64::from(output.tokens.unwrap_or(0));
        let answer = output.answer.map_or(0, |piece| piece.bytes as u64);
        let mut bytes = answer;
        if let Some(piece) = output.reasoning {
            bytes = bytes.saturating_add(piece.bytes as u64);
            if piece.kind == Kind::ReasoningSummary {
                self.reasoning_summarised = true;
            } else {
                self.reasoning_streamed = true;
            }
        }
        if output.answer.is_some() {
            self.answer.output(at, self.read, answer, output.tokens);
        }
        let opened = self.all.first.is_set();
        let gap = self.all.output(at, self.read, bytes, output.tokens);
        let waited = std::mem::take(&mut self.wait_since_output);
        if opened {
            self.pace_wait += waited;
        }
        if let Some(gap) = gap {
            self.longest_gap = self.longest_gap.max(gap);
        }
        gap
    }

    pub(crate) fn output_seen(&self) -> bool {
        self.all.first.is_set()
    }

    pub(crate) fn event_seen(&self) -> bool {
        self.first_event.is_set()
    }

    pub(crate) fn last_read(&self) -> Option<Tick> {
        self.last_read.get()
    }

    /// Whether the consumer has held up the output so far by more than a tenth: its pace is not the model's.
    pub(crate) fn is_consumer_bound(&self) -> bool {
        self.all.reads > 1 && u128::from(self.pace_wait) * 10 > u128::from(self.all.length())
    }

    /// How long the model has kept its consumer waiting since the last output, at `at`: less the time for which the consumer
    /// had an item and did not ask for more.
    fn open_gap(&self, at: Tick) -> u64 {
        let out = self.last_read.get().filter(|_| self.handed_out);
        let held = out.map_or(0, |out| self.came_back.get().unwrap_or(at).saturating_sub(out));
        at.saturating_sub(self.all.last).saturating_sub(self.wait_since_output).saturating_sub(held)
    }

    /// The figures of a call that ended, or is looked at, at `at`.
    ///
    /// `open_gap` adds the gap from the last output to `at`: a stall, in a call that does not complete. `nanos` turns
    /// the ticks between two instants into nanoseconds.
    pub(crate) fn figures(
        &self,
        at: Tick,
        count: &Count,
        open_gap: bool,
        nanos: impl Fn(Tick, Tick) -> u64,
    ) -> Figures {
        let since_start = |mark: Mark| mark.get().map(|mark| nanos(self.start, mark));
        let generation = self.all.first.get().map(|_| nanos(self.start, self.all.last));
        let open = (open_gap && self.output_seen()).then(|| self.open_gap(at));
        let longest = (self.all.reads > 1).then_some(self.longest_gap).max(open);
        Figures {
            head: since_start(self.head),
            first_chunk: since_start(self.first_event),
            first_token: since_start(self.all.first),
            first_answer: since_start(self.answer.first),
            longest_gap: longest.map(|gap| nanos(0, gap)),
            per_token: self.per_token(count, &nanos),
            generation,
            duration: nanos(self.start, at),
            token_rate: generation
                .zip(count.output.filter(|tokens| *tokens > 0))
                .and_then(|(generation, tokens)| (generation > 0).then(|| tokens as f64 * 1e9 / generation as f64)),
            consumer_wait: nanos(0, self.consumer_wait),
            consumer_bound: self.is_consumer_bound(),
            chunks: self.events,
            outputs: self.outputs,
        }
    }

    /// TPOT in nanoseconds: (last output − first output) / (streamed tokens − tokens in the first output read).
    ///
    /// Reasoning that was not streamed, or only as a summary, is no streamed token, and the window is then the
    /// answer's output only.
    fn per_token(&self, count: &Count, nanos: &impl Fn(Tick, Tick) -> u64) -> Option<f64> {
        let hidden =
            if self.reasoning_streamed && !self.reasoning_summarised { 0 } else { count.reasoning.unwrap_or(0) };
        let span = if hidden > 0 { &self.answer } else { &self.all };
        let streamed = count.output?.checked_sub(hidden)?;
        let after_first = streamed.checked_sub(span.first_tokens(streamed)).filter(|tokens| *tokens > 0)?;
        if span.reads < 2 || count.choices > 1 || self.is_consumer_bound() {
            return None;
        }
        Some(nanos(span.first.get()?, span.last) as f64 / after_first as f64)
    }

    /// Tokens that the items themselves told, where a dialect counts them.
    pub(crate) fn told_tokens(&self) -> Option<u64> {
        (self.told_tokens > 0).then_some(self.told_tokens)
    }

    pub(crate) fn first_output(&self) -> Option<Tick> {
        self.all.first.get()
    }

    pub(crate) fn head_at(&self) -> Option<Tick> {
        self.head.get()
    }

    pub(crate) fn outputs(&self) -> u64 {
        self.outputs
    }
}

/// The token counts that the figures need, from whatever source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) output: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) choices: u32,
}

/// The figures of one call: durations in nanoseconds, absent where they are not defined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) head: Option<u64>,
    pub(crate) first_chunk: Option<u64>,
    pub(crate) first_token: Option<u64>,
    pub(crate) first_answer: Option<u64>,
    pub(crate) longest_gap: Option<u64>,
    pub(crate) per_token: Option<f64>,
    pub(crate) generation: Option<u64>,
    pub(crate) duration: u64,
    pub(crate) token_rate: Option<f64>,
    pub(crate) consumer_wait: u64,
    pub(crate) consumer_bound: bool,
    pub(crate) chunks: u64,
    pub(crate) outputs: u64,
}
