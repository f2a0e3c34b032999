//! What one item of a stream carries: [`Output`], and [`Carries`] for items that know it themselves.

use crate::{Failure, FinishKind, outcome::Sees, usage::Usage};

/// A kind of generated output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Text of the answer.
    Text,
    /// Reasoning, streamed as it was generated.
    Reasoning,
    /// A summary of reasoning that was itself not streamed.
    ReasoningSummary,
    /// Text of a refusal.
    Refusal,
    /// The name or the arguments of a tool call.
    Tool,
    /// Audio, images.
    Media,
}

impl Kind {
    #[inline]
    pub(crate) fn is_answer(self) -> bool {
        !matches!(self, Self::Reasoning | Self::ReasoningSummary)
    }
}

/// Output of one kind: how much, and the words where they are at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) kind: Kind,
    pub(crate) bytes: usize,
    pub(crate) text: &'a str,
}

/// A finish reason in the provider's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finish<'a> {
    pub(crate) choice: u32,
    pub(crate) reason: &'a str,
    /// What it means, where the reader knows more than the words say.
    pub(crate) kind: Option<FinishKind>,
}

impl Finish<'_> {
    pub(crate) fn kind(&self) -> FinishKind {
        self.kind.unwrap_or_else(|| FinishKind::of(self.reason))
    }
}

/// What one item of a stream carries: output, usage, a finish reason, an error, the terminal marker, or nothing.
///
/// A reader makes one for each item and gives it by value; it borrows from the item and allocates nothing. What an
/// item carries besides is combined with the methods: a chunk with text *and* a finish reason is
/// `Output::text(t).and_finish("stop")`.
///
/// ```
/// use llmperf_core::{Output, Usage};
///
/// enum Event { Delta(String), Usage { input: u64, output: u64 }, Ping }
///
/// fn carries(event: &Event) -> Output<'_> {
///     match event {
///         Event::Delta(text) => Output::text(text),
///         Event::Usage { input, output } => Output::usage(*input, *output),
///         Event::Ping => Output::none(),
///     }
/// }
/// # carries(&Event::Ping);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "an output that is not returned to the measured stream is not measured"]
pub struct Output<'a> {
    pub(crate) ignored: bool,
    /// No event of its own: a further part of the one before, or an `Err` item.
    pub(crate) uncounted: bool,
    pub(crate) choice: u32,
    pub(crate) answer: Option<Piece<'a>>,
    pub(crate) reasoning: Option<Piece<'a>>,
    pub(crate) tokens: Option<u32>,
    pub(crate) usage: Usage,
    pub(crate) finish: Option<Finish<'a>>,
    pub(crate) failure: Option<Failure<'a>>,
    pub(crate) done: bool,
    pub(crate) model: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
}

impl<'a> Output<'a> {
    /// An event without output: role-only, empty, ping, signature, annotation, `*.done`.
    ///
    /// It is a chunk (the time to first chunk may end at it), but no token.
    #[inline]
    pub fn none() -> Self {
        Self {
            ignored: false,
            uncounted: false,
            choice: 0,
            answer: None,
            reasoning: None,
            tokens: None,
            usage: Usage::new(),
            finish: None,
            failure: None,
            done: false,
            model: None,
            id: None,
        }
    }

    /// No event at all: a comment, a keep-alive, a payload that does not parse.
    #[inline]
    pub fn ignored() -> Self {
        Self { ignored: true, ..Self::none() }
    }

    /// Text of the answer. Empty text is an event without output.
    #[inline]
    pub fn text(text: &'a str) -> Self {
        Self::none().and_text(text)
    }

    /// Reasoning text. It counts for the TTFT, not for the time to first answer.
    #[inline]
    pub fn reasoning(text: &'a str) -> Self {
        Self::none().and_reasoning(text)
    }

    /// The name or a part of the arguments of a tool call.
    #[inline]
    pub fn tool(text: &'a str) -> Self {
        Self::none().and(Kind::Tool, text)
    }

    /// Output of any kind. Empty text is an event without output.
    #[inline]
    pub fn of(kind: Kind, text: &'a str) -> Self {
        Self::none().and(kind, text)
    }

    /// Output of any kind that is not at hand as text: its size in bytes.
    #[inline]
    pub fn sized(kind: Kind, bytes: usize) -> Self {
        Self::none().and_sized(kind, bytes)
    }

    /// Input and output tokens, as a snapshot of the whole call: a later one replaces it.
    #[inline]
    pub fn usage(input: u64, output: u64) -> Self {
        Self::none().and_usage(Usage::of(input, output))
    }

    /// The finish reason of the only (or first) choice, in the provider's own words.
    #[inline]
    pub fn finish(reason: &'a str) -> Self {
        Self::none().and_finish(reason)
    }

    /// The dialect's terminal marker: the last event that can carry a figure.
    #[inline]
    pub fn done() -> Self {
        Self::none().and_done()
    }

    /// An error event in the stream. `error_type` is its string code, else its type, its status or its number; never the
    /// message.
    #[inline]
    pub fn error(error_type: &'a str) -> Self {
        Self::none().and_failure(Failure::new(error_type))
    }

    /// A failure that is no event of the provider's: an `Err` item, of any class.
    #[inline]
    pub fn failure(failure: Failure<'a>) -> Self {
        Self::none().and_failure(failure).uncounted()
    }

    /// Adds text of the answer.
    #[inline]
    pub fn and_text(self, text: &'a str) -> Self {
        self.and(Kind::Text, text)
    }

    /// Adds reasoning text.
    #[inline]
    pub fn and_reasoning(self, text: &'a str) -> Self {
        self.and(Kind::Reasoning, text)
    }

    /// Adds output of any kind.
    #[inline]
    pub fn and(self, kind: Kind, text: &'a str) -> Self {
        self.with_piece(Piece { kind, bytes: text.len(), text })
    }

    /// Adds output of any kind that is not at hand as text.
    #[inline]
    pub fn and_sized(self, kind: Kind, bytes: usize) -> Self {
        self.with_piece(Piece { kind, bytes, text: "" })
    }

    /// Adds a usage snapshot.
    #[inline]
    pub fn and_usage(self, usage: impl Into<Option<Usage>>) -> Self {
        Self { usage: usage.into().unwrap_or(self.usage), ..self }
    }

    /// Adds a finish reason, in the provider's own words; `None` adds nothing.
    #[inline]
    pub fn and_finish(self, reason: impl Into<Option<&'a str>>) -> Self {
        let choice = self.choice;
        let finish = reason.into().map(|reason| Finish { choice, reason, kind: None });
        Self { finish: finish.or(self.finish), ..self }
    }

    /// What the finish reason means, where its words alone do not tell: OpenAI's Responses call any cut `incomplete`.
    ///
    /// Without it the kind is [`FinishKind::of`] the words; without a finish reason it says nothing.
    #[inline]
    pub fn finish_kind(self, kind: FinishKind) -> Self {
        Self { finish: self.finish.map(|finish| Finish { kind: Some(kind), ..finish }), ..self }
    }

    /// Adds the terminal marker.
    #[inline]
    pub fn and_done(self) -> Self {
        Self { done: true, ..self }
    }

    /// Adds a failure.
    #[inline]
    pub fn and_failure(self, failure: Failure<'a>) -> Self {
        Self { failure: Some(failure), ..self }
    }

    /// The choice that output and finish reason belong to, where a request asks for several; 0 if not said.
    #[inline]
    pub fn choice(self, index: u32) -> Self {
        Self { choice: index, finish: self.finish.map(|finish| Finish { choice: index, ..finish }), ..self }
    }

    /// How many tokens this item carries, where the provider tells it.
    #[inline]
    pub fn tokens(self, tokens: impl Into<Option<u32>>) -> Self {
        Self { tokens: tokens.into().or(self.tokens), ..self }
    }

    /// The model that answers, as the provider names it. Empty names are no names.
    #[inline]
    pub fn model(self, model: impl Into<Option<&'a str>>) -> Self {
        Self { model: model.into().filter(|model| !model.is_empty()).or(self.model), ..self }
    }

    /// The provider's id of the response.
    #[inline]
    pub fn id(self, id: impl Into<Option<&'a str>>) -> Self {
        Self { id: id.into().filter(|id| !id.is_empty()).or(self.id), ..self }
    }

    #[inline]
    pub(crate) fn uncounted(self) -> Self {
        Self { uncounted: true, ..self }
    }

    #[inline]
    pub(crate) fn has_output(&self) -> bool {
        self.answer.is_some() || self.reasoning.is_some()
    }

    #[inline]
    fn with_piece(mut self, piece: Piece<'a>) -> Self {
        if piece.bytes == 0 {
            return self;
        }
        let slot = if piece.kind.is_answer() { &mut self.answer } else { &mut self.reasoning };
        // Two pieces of one sort in one item count together; the words of the first stand.
        *slot = Some(slot.map_or(piece, |first| Piece { bytes: first.bytes.saturating_add(piece.bytes), ..first }));
        self
    }
}

/// An item of a stream that knows what it carries.
///
/// Implement it for the event type of your client, and its streams are measured by
/// [`measure`](crate::MeasureStream::measure) without a closure.
///
/// ```
/// use llmperf_core::{Carries, Output, Sees};
///
/// struct Delta { text: String, finish_reason: Option<String> }
///
/// impl Carries for Delta {
///     const SEES: Sees = Sees::Finish;
///
///     fn output(&self) -> Output<'_> {
///         Output::text(&self.text).and_finish(self.finish_reason.as_deref())
///     }
/// }
/// # assert_eq!(Delta::SEES, Sees::Finish);
/// ```
#[diagnostic::on_unimplemented(
    message = "llmperf does not know what a `{Self}` carries",
    note = "say it with a closure: `.measure_with(call, |item| Output::text(…))`, or `try_measure_with` for `Result` items",
    note = "or implement `Carries` for the type"
)]
pub trait Carries {
    /// How much of an ending items of this type show.
    const SEES: Sees = Sees::Nothing;

    /// What this item carries.
    fn output(&self) -> Output<'_>;
}

impl Carries for String {
    #[inline]
    fn output(&self) -> Output<'_> {
        Output::text(self)
    }
}

impl Carries for &str {
    #[inline]
    fn output(&self) -> Output<'_> {
        Output::text(self)
    }
}

impl Carries for std::borrow::Cow<'_, str> {
    #[inline]
    fn output(&self) -> Output<'_> {
        Output::text(self)
    }
}

impl<T: Carries, E: std::error::Error + 'static> Carries for Result<T, E> {
    const SEES: Sees = T::SEES;

    #[inline]
    fn output(&self) -> Output<'_> {
        match self {
            Ok(item) => item.output(),
            Err(error) => Output::failure(Failure::of(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_text_is_an_event_but_no_output() {
        assert!(!Output::text("").has_output());
        assert!(!Output::text("").ignored);
        assert!(Output::ignored().ignored);
    }

    #[test]
    fn pieces_of_one_sort_count_together() {
        let output = Output::text("ab").and(Kind::Tool, "cde").and_reasoning("f");
        assert_eq!(output.answer.map(|piece| piece.bytes), Some(5));
        assert_eq!(output.reasoning.map(|piece| piece.bytes), Some(1));
    }

    #[test]
    fn a_finish_reason_belongs_to_the_choice_whichever_is_said_first() {
        let before = Output::none().choice(1).and_finish("stop");
        let after = Output::finish("stop").choice(1);
        assert_eq!(before.finish, after.finish);
        assert_eq!(after.finish, Some(Finish { choice: 1, reason: "stop", kind: None }));
    }

    #[test]
    fn a_finish_reason_means_what_its_words_say_unless_the_reader_knows_better() {
        let kind = |output: Output<'_>| output.finish.map(|finish| finish.kind());
        assert_eq!(kind(Output::finish("incomplete")), Some(FinishKind::Length));
        let filtered = Output::finish("incomplete").finish_kind(FinishKind::ContentFilter);
        assert_eq!(kind(filtered.choice(1)), Some(FinishKind::ContentFilter));
        assert_eq!(kind(Output::none().finish_kind(FinishKind::Stop)), None);
    }

    #[test]
    fn empty_models_and_ids_are_absent() {
        let output = Output::none().model("").id("");
        assert_eq!((output.model, output.id), (None, None));
    }
}
