//! `measure_wire`: the bytes pass through untouched, what they say is measured. The only file that knows core.

use std::fmt;
use std::marker::PhantomData;

use futures_core::Stream;
use llmperf_core::{self as core, Call, Classify, Measured, Open, Output, Read, Reader, Recorder, semconv as name};

use crate::event::{Chunk, Event, Finish, FinishKind, Origin, Piece, PieceKind, ServerTimings, Usage};
use crate::{Counts, Decoder, Dialect, Form, Sees, Text};

/// Measures byte streams that a [`Decoder`] reads. Import it to have the method on every such stream.
pub trait MeasureWire: Stream + Sized + sealed::Sealed {
    /// Decodes the bytes on the side and measures what they say; every item passes through as it is.
    ///
    /// The decoder is that of a [`Dialect`](crate::Dialect), or one that finds out
    /// [what the answer is](Decoder::sniffing).
    ///
    /// An `Err` item is recorded as an interruption if its source chain holds an I/O error of the transport.
    ///
    /// ```
    /// use futures::{StreamExt as _, stream};
    /// use llmperf_core::Outcome;
    /// use llmperf_wire::{Dialect, MeasureWire as _};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let reads = [
    ///     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n",
    ///     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    /// ];
    /// let body = stream::iter(reads.map(Ok::<_, std::io::Error>));
    /// let mut body = body.measure_wire(llmperf_core::chat("openai", "gpt-4o-mini"), Dialect::OpenAiChat);
    /// while let Some(bytes) = body.next().await { /* untouched */ }
    /// assert_eq!(body.timing().outcome, Some(Outcome::Complete));
    /// # }
    /// ```
    fn measure_wire<B, E, By>(self, call: impl Into<Recorder>, decoder: impl Into<Decoder>) -> Measured<Self, Wire<By>>
    where
        Self: Stream<Item = Result<B, E>>,
        B: AsRef<[u8]>,
        E: Classify<By>,
    {
        let wire = Wire::new(decoder);
        let sees = wire.sees();
        Measured::new(self, call, wire).sees(sees)
    }
}

impl<S: Stream> MeasureWire for S {}

/// Opens calls whose streams are bytes that a [`Decoder`] reads.
pub trait OpenWire: sealed::SealedCall {
    /// As [`Call::open`], for a request that gives a byte stream.
    ///
    /// A client that takes a status of 400 and above for an answer tells it by [`core::CallHandle::status`]:
    ///
    /// ```
    /// use futures::{StreamExt as _, stream};
    /// use llmperf_wire::{Dialect, OpenWire as _};
    ///
    /// # type Body = stream::Empty<std::io::Result<&'static str>>;
    /// # async fn send() -> std::io::Result<(u16, Body)> { Ok((429, stream::empty())) }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let request = async {
    ///     let (status, body) = send().await?;
    ///     if let Some(call) = llmperf_core::current_call() {
    ///         call.status(status);
    ///     }
    ///     Ok::<_, std::io::Error>(body)
    /// };
    /// let mut body = llmperf_core::chat("openai", "gpt-4o-mini").open_wire(request, Dialect::OpenAiChat).await?;
    /// while body.next().await.is_some() {}
    /// assert_eq!(body.timing().error_type.as_deref(), Some("429"));
    /// # Ok(()) }
    /// ```
    fn open_wire<F, S, B, E, I, By, ByItems>(
        self,
        request: F,
        decoder: impl Into<Decoder>,
    ) -> Open<F, Wire<ByItems>, By>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream<Item = Result<B, I>>,
        B: AsRef<[u8]>,
        I: Classify<ByItems>,
        E: Classify<By>;
}

impl OpenWire for Call {
    fn open_wire<F, S, B, E, I, By, ByItems>(
        self,
        request: F,
        decoder: impl Into<Decoder>,
    ) -> Open<F, Wire<ByItems>, By>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream<Item = Result<B, I>>,
        B: AsRef<[u8]>,
        I: Classify<ByItems>,
        E: Classify<By>,
    {
        let wire = Wire::new(decoder);
        self.sees(wire.sees()).open_by(request, wire)
    }
}

mod sealed {
    pub trait Sealed {}
    impl<S: futures_core::Stream> Sealed for S {}
    pub trait SealedCall {}
    impl SealedCall for llmperf_core::Call {}
}

/// Reads the bytes of an answer and tells a call what they say.
///
/// As a [`Reader`] it takes `Result`s of bytes, with errors that are classified `By`; who pulls the bytes out of something
/// else gives them to [`read_bytes`](Self::read_bytes) and [`end_bytes`](Self::end_bytes).
pub struct Wire<By = ()> {
    decoder: Decoder,
    /// What has been told of the decoder's counts.
    told: Counts,
    heard: Heard,
    by: PhantomData<fn() -> By>,
}

/// What could be made of the bytes so far.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    /// There were any.
    bytes: bool,
    /// They made an event, of whatever sort.
    events: bool,
    chunks: u64,
    /// The last event was too large to be read: it may have been the end.
    ends_unread: bool,
}

impl Heard {
    #[inline]
    fn event(&mut self, event: &Event<'_>) {
        self.events = true;
        match event {
            Event::Chunk(_) => (self.chunks, self.ends_unread) = (self.chunks + 1, false),
            Event::Oversized => self.ends_unread = true,
            Event::Comment(_) | Event::Malformed(_) | Event::Broken => {}
        }
    }
}

impl<By> Wire<By> {
    /// A reader of one answer.
    pub fn new(decoder: impl Into<Decoder>) -> Self {
        Self { decoder: decoder.into(), told: Counts::default(), heard: Heard::default(), by: PhantomData }
    }

    /// Its decoder: what the answer turned out to be, and what could not be read.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// How much of an ending it can see.
    pub fn sees(&self) -> core::Sees {
        match self.decoder.sees() {
            Sees::Marker => core::Sees::Marker,
            Sees::Finish => core::Sees::Finish,
        }
    }

    /// The next bytes of the answer, of one read.
    #[inline]
    pub fn read_bytes(&mut self, bytes: &[u8], read: &mut Read<'_>) {
        self.heard.bytes |= !bytes.is_empty();
        let Self { decoder, heard, .. } = self;
        decoder.push(bytes, |event| {
            heard.event(&event);
            tell(event, read);
        });
        self.tell_oddities(read);
    }

    /// The answer has ended. Of one whose end could not be seen the end of the bytes is the end: a page for people, events of
    /// which not one was of a kind that is known, a last event that was too large to be read.
    pub fn end_bytes(&mut self, read: &mut Read<'_>) {
        let is_blind = self.decoder.form() == Some(Form::Blind);
        let Self { decoder, heard, .. } = self;
        decoder.finish(|event| {
            heard.event(&event);
            tell(event, read);
        });
        self.tell_oddities(read);
        if self.heard.bytes && !self.heard.events {
            read.oddity(core::Oddity::DecoderBlind, 1);
        }
        let is_foreign = self.heard.chunks > 0 && self.heard.chunks == self.told.unknown;
        if is_blind || is_foreign || self.heard.ends_unread {
            read.sees(core::Sees::Nothing);
        }
    }

    fn tell_oddities(&mut self, read: &mut Read<'_>) {
        let counts = self.decoder.counts();
        if counts != self.told {
            read.oddity(core::Oddity::MalformedPayload, counts.malformed - self.told.malformed);
            read.oddity(core::Oddity::UnknownEvent, counts.unknown - self.told.unknown);
            let blind = (counts.oversized - self.told.oversized) + (counts.broken - self.told.broken);
            read.oddity(core::Oddity::DecoderBlind, blind);
            self.told = counts;
        }
    }
}

impl<B: AsRef<[u8]>, E: Classify<By>, By> Reader<Result<B, E>> for Wire<By> {
    const SEES: core::Sees = core::Sees::Marker;

    fn read(&mut self, item: &Result<B, E>, read: &mut Read<'_>) {
        match item {
            Ok(bytes) => self.read_bytes(bytes.as_ref(), read),
            Err(error) => read.event(Output::failure(error.failure())),
        }
    }

    fn end(&mut self, read: &mut Read<'_>) {
        self.end_bytes(read);
    }
}

impl<By> fmt::Debug for Wire<By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("decoder", &self.decoder).finish_non_exhaustive()
    }
}

/// Tells core what an event says. A comment, a malformed payload and what was dropped are no events, but signs of life.
#[inline]
fn tell(event: Event<'_>, read: &mut Read<'_>) {
    if read.is_over() {
        return;
    }
    match event {
        Event::Chunk(chunk) => tell_chunk(chunk, read),
        Event::Comment(_) | Event::Malformed(_) | Event::Oversized | Event::Broken => read.event(Output::ignored()),
    }
}

fn tell_chunk(chunk: &Chunk<'_>, read: &mut Read<'_>) {
    read.streams(!chunk.whole);
    if let Some(timings) = &chunk.timings {
        tell_timings(timings, read);
    }
    // The conventions have these two for OpenAI alone.
    if matches!(chunk.dialect, Some(Dialect::OpenAiChat | Dialect::OpenAiResponses)) {
        tell_once(name::SERVICE_TIER, chunk.service_tier, read);
        tell_once(name::SYSTEM_FINGERPRINT, chunk.system_fingerprint, read);
    }
    let (model, id) = (chunk.model.map(|model| model.decode()), chunk.id.map(|id| id.decode()));
    let base = Output::none().model(model.as_deref()).id(id.as_deref()).and_usage(chunk.usage.map(usage));
    // What stands between the events (an `error:` line, a bare object) may decide the outcome; a chunk it is not.
    if chunk.origin != Origin::Event {
        read.also(base);
        return tell_ending(chunk, read);
    }
    let mut unsaid = Some(base.tokens(chunk.tokens));
    for piece in chunk.outputs() {
        let words = read.wants_text().then(|| piece.text.decode());
        match unsaid.take() {
            Some(first) => read.event(with_piece(first, piece, words.as_deref())),
            None => read.also(with_piece(Output::none(), piece, words.as_deref())),
        }
    }
    if let Some(without_output) = unsaid {
        read.event(without_output);
    }
    tell_ending(chunk, read);
}

fn tell_once(key: &'static str, value: Option<Text<'_>>, read: &mut Read<'_>) {
    if let Some(value) = value.filter(|_| !read.has_attribute(key)) {
        read.attribute(key, value.decode().into_owned());
    }
}

/// Finish reasons, failure, marker: after output and usage of the same event.
fn tell_ending(chunk: &Chunk<'_>, read: &mut Read<'_>) {
    for Finish { choice, reason, kind } in chunk.finishes() {
        let reason = reason.decode();
        let finish = Output::finish(&reason).choice(*choice);
        read.also(finish_kind(*kind).map_or(finish, |kind| finish.finish_kind(kind)));
    }
    if let Some(failure) = &chunk.failure {
        let (error_type, message) = (failure.error_type(), failure.message.map(|message| message.decode()));
        let failure = core::Failure::new(&error_type);
        read.also(Output::failure(message.as_deref().map_or(failure, |message| failure.message(message))));
    }
    if chunk.terminal {
        read.also(Output::done());
    }
}

fn with_piece<'a>(output: Output<'a>, piece: &Piece<'_>, words: Option<&'a str>) -> Output<'a> {
    let kind = match piece.kind {
        PieceKind::Text => core::Kind::Text,
        PieceKind::Reasoning => core::Kind::Reasoning,
        PieceKind::ReasoningSummary => core::Kind::ReasoningSummary,
        PieceKind::Refusal => core::Kind::Refusal,
        PieceKind::Tool => core::Kind::Tool,
        PieceKind::Media => core::Kind::Media,
    };
    match words {
        Some(words) => output.and(kind, words),
        None => output.and_sized(kind, piece.text.len()),
    }
    .choice(piece.choice)
}

/// A reason that the decoder does not know is left to the call.
fn finish_kind(kind: FinishKind) -> Option<core::FinishKind> {
    Some(match kind {
        FinishKind::Stop => core::FinishKind::Stop,
        FinishKind::Length => core::FinishKind::Length,
        FinishKind::ToolCall => core::FinishKind::ToolCall,
        FinishKind::ContentFilter => core::FinishKind::ContentFilter,
        FinishKind::Refusal => core::FinishKind::Refusal,
        FinishKind::Error => core::FinishKind::Error,
        FinishKind::Other => return None,
    })
}

fn usage(wire: Usage) -> core::Usage {
    core::Usage::new()
        .input(wire.input)
        .output(wire.output)
        .cache_read(wire.cache_read)
        .cache_write(wire.cache_write)
        .reasoning(wire.reasoning)
        .billed_input(wire.billed_input)
        .billed_output(wire.billed_output)
        .audio_input(wire.audio_input)
        .audio_output(wire.audio_output)
}

fn tell_timings(timings: &ServerTimings, read: &mut Read<'_>) {
    let times = [
        (name::SERVER_QUEUE, timings.queue),
        (name::SERVER_LOAD, timings.load),
        (name::SERVER_PROMPT, timings.prompt),
        (name::SERVER_GENERATION, timings.generation),
        (name::SERVER_TOTAL, timings.total),
        (name::SERVER_TTFT, timings.time_to_first_token),
        (name::SERVER_TPOT, timings.time_per_token),
    ];
    for (key, time) in times {
        if let Some(time) = time {
            read.attribute(key, time.as_secs_f64());
        }
    }
    let counts = [(name::SERVER_DRAFTED, timings.draft_tokens), (name::SERVER_ACCEPTED, timings.accepted_draft_tokens)];
    for (key, count) in counts {
        if let Some(count) = count.and_then(|count| i64::try_from(count).ok()) {
            read.attribute(key, count);
        }
    }
}
