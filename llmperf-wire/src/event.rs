//! What the bytes say, in words that all providers share.

use std::borrow::Cow;
use std::time::Duration;

use crate::dialect::Dialect;
use crate::list::List;
use crate::text::Text;

/// Longest word that is the name of an error, in bytes.
const LONGEST_NAME: usize = 64;

/// One thing that a [`Decoder`](crate::Decoder) reports.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An event of the provider: a chunk, with or without output.
    Chunk(&'a Chunk<'a>),
    /// A comment: the connection is alive, the model has said nothing. Not an event of the provider.
    Comment(&'a [u8]),
    /// A payload that does not parse: neither a chunk nor an error. It may hold a part of the answer.
    Malformed(&'a [u8]),
    /// An event that passed the decoder's limit and was dropped.
    Oversized,
    /// The bytes are not of the dialect's framing, or it can no longer be told where events begin: nothing more of the
    /// stream is read.
    Broken,
}

/// An event of the provider.
///
/// Whoever follows a stream takes [`outputs`](Self::outputs) and `usage` before `failure`, [`finishes`](Self::finishes)
/// and `terminal`: figures that come together with the end belong to the stream that they end.
///
/// Providers repeat id, model and the like in every event. They are told whenever the head of an event says something
/// new, and may be left out of events that begin like the one before.
#[derive(Debug)]
#[non_exhaustive]
pub struct Chunk<'a> {
    /// Where in the stream it stood.
    pub origin: Origin,
    /// The dialect that it was read by; none if it is of no known one.
    pub dialect: Option<Dialect>,
    /// It is a whole answer, not an event of a stream.
    pub whole: bool,
    /// The figures of its usage report; each is what the stream has used so far, never to be added up.
    pub usage: Option<Usage>,
    /// The failure that it reports.
    pub failure: Option<Failure<'a>>,
    /// True for the event that the dialect ends every whole stream with.
    pub terminal: bool,
    /// The times that the server took itself.
    pub timings: Option<ServerTimings>,
    /// Output tokens in this event, where the server lists them one by one.
    pub tokens: Option<u32>,
    /// The provider's id of the response.
    pub id: Option<Text<'a>>,
    /// The model that answers, in the provider's words.
    pub model: Option<Text<'a>>,
    /// The service tier that the request was given.
    pub service_tier: Option<Text<'a>>,
    /// The provider's name for the configuration that answers.
    pub system_fingerprint: Option<Text<'a>>,
    /// True if the stream ended before the event was whole by the rules of its framing.
    pub unterminated: bool,
    pub(crate) pieces: List<Piece<'a>, 4>,
    pub(crate) finishes: List<Finish<'a>, 2>,
}

impl<'a> Chunk<'a> {
    #[inline]
    pub(crate) fn new(origin: Origin, unterminated: bool) -> Self {
        Self {
            origin,
            dialect: None,
            whole: false,
            usage: None,
            failure: None,
            terminal: false,
            timings: None,
            tokens: None,
            id: None,
            model: None,
            service_tier: None,
            system_fingerprint: None,
            unterminated,
            pieces: List::new(),
            finishes: List::new(),
        }
    }

    /// Adds a piece of output of the only choice, if there is one.
    #[inline]
    pub(crate) fn output(&mut self, kind: PieceKind, text: Option<Text<'a>>) {
        if let Some(text) = text {
            self.pieces.push(Piece { kind, choice: 0, text });
        }
    }

    /// Its only piece of output, if it says nothing else but what events repeat of their answer.
    pub(crate) fn only_output(&self) -> Option<&Piece<'a>> {
        let says_more = self.usage.is_some()
            || self.failure.is_some()
            || self.terminal
            || self.timings.is_some()
            || self.tokens.is_some()
            || self.finishes.len() > 0;
        self.pieces.iter().next().filter(|_| self.pieces.len() == 1 && !says_more)
    }

    /// The pieces of output, none of them empty, in the order of the wire; nothing for an event that is no output.
    pub fn outputs(&self) -> impl Iterator<Item = &Piece<'a>> {
        self.pieces.iter()
    }

    /// The choices that end here. A provider may say it again for the same choice: its first word stands.
    pub fn finishes(&self) -> impl Iterator<Item = &Finish<'a>> {
        self.finishes.iter()
    }
}

/// Where in the stream a chunk stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// An event by the rules of the framing.
    Event,
    /// A field that the framing ignores but the dialect knows: llama.cpp's older forks write `error: {…}`.
    Field,
    /// A JSON object between the events: some servers report a late failure so.
    Bare,
    /// The end of the array that holds the events: the marker of a dialect whose events have none.
    Close,
}

/// A piece of output.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Piece<'a> {
    /// What kind of output it is.
    pub kind: PieceKind,
    /// The choice that it belongs to.
    pub choice: u32,
    /// The output itself; for media as the wire carries it (base64).
    pub text: Text<'a>,
}

/// Kinds of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PieceKind {
    /// Text of the answer.
    Text,
    /// The model's reasoning.
    Reasoning,
    /// A summary of reasoning that is not itself streamed.
    ReasoningSummary,
    /// A refusal in place of an answer.
    Refusal,
    /// The name or the arguments of a tool call.
    Tool,
    /// Audio, images.
    Media,
}

/// The end of one choice.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Finish<'a> {
    /// The choice that ended.
    pub choice: u32,
    /// The reason in the provider's own words.
    pub reason: Text<'a>,
    /// What that means.
    pub kind: FinishKind,
}

/// Why a choice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishKind {
    /// The model had said what it had to say, or met a stop sequence.
    Stop,
    /// The limit on tokens was reached.
    Length,
    /// The model calls a tool.
    ToolCall,
    /// A filter cut the answer, or blocked the prompt.
    ContentFilter,
    /// The model refused.
    Refusal,
    /// The provider failed while it generated.
    Error,
    /// A reason of the provider's own.
    Other,
}

/// A usage report, as the event gives it: a figure that it does not give is absent.
///
/// `input` includes tokens read from a cache, `output` includes reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the prompt.
    pub input: Option<u64>,
    /// Tokens generated.
    pub output: Option<u64>,
    /// Prompt tokens that came from a cache.
    pub cache_read: Option<u64>,
    /// Prompt tokens that were written into a cache.
    pub cache_write: Option<u64>,
    /// Generated tokens that were reasoning.
    pub reasoning: Option<u64>,
    /// Prompt tokens that are billed, where they are not the used ones.
    pub billed_input: Option<u64>,
    /// Generated tokens that are billed, where they are not the used ones.
    pub billed_output: Option<u64>,
    /// Prompt tokens that were audio.
    pub audio_input: Option<u64>,
    /// Generated tokens that were audio.
    pub audio_output: Option<u64>,
}

/// A failure that the provider reports inside the stream.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// Its code, if that is a word.
    pub code: Option<Text<'a>>,
    /// Its type.
    pub kind: Option<Text<'a>>,
    /// Its status, if that is a word.
    pub status: Option<Text<'a>>,
    /// Its number: a numeric code or an HTTP status.
    pub number: Option<u64>,
    /// The provider's message. It may quote the prompt.
    pub message: Option<Text<'a>>,
}

impl<'a> Failure<'a> {
    /// The value for `error.type`: the first of code, type, status and number that is a name, else `_OTHER`. Some servers
    /// put their message there.
    pub fn error_type(&self) -> Cow<'a, str> {
        let mut words = [self.code, self.kind, self.status].into_iter().flatten().map(|word| word.decode());
        if let Some(name) = words.find(|word| is_name(word)) {
            name
        } else if let Some(number) = self.number {
            Cow::Owned(number.to_string())
        } else {
            Cow::Borrowed("_OTHER")
        }
    }
}

/// Whether a word is short enough, and of characters, to be the name of an error.
fn is_name(word: &str) -> bool {
    let of_names = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/');
    !word.is_empty() && word.len() <= LONGEST_NAME && word.bytes().all(of_names)
}

/// What a server says of its own times and counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct ServerTimings {
    /// In the queue.
    pub queue: Option<Duration>,
    /// Loading the model.
    pub load: Option<Duration>,
    /// Reading the prompt (prefill).
    pub prompt: Option<Duration>,
    /// Generating (decode).
    pub generation: Option<Duration>,
    /// All of it.
    pub total: Option<Duration>,
    /// From the request to the first token.
    pub time_to_first_token: Option<Duration>,
    /// Mean time of a token after the first.
    pub time_per_token: Option<Duration>,
    /// Prompt tokens that had to be read, those from the cache not counted.
    pub prompt_tokens: Option<u64>,
    /// Prompt tokens that came from the cache.
    pub cached_tokens: Option<u64>,
    /// Tokens generated.
    pub generated_tokens: Option<u64>,
    /// Tokens that a draft model proposed (speculative decoding).
    pub draft_tokens: Option<u64>,
    /// Of those, the ones that were taken.
    pub accepted_draft_tokens: Option<u64>,
}
