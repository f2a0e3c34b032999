//! Token counts as a provider reports them, and the rules by which snapshots of them are put together.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeMap as _};

/// The figures of a [`Usage`], in the order in which they are stored.
#[derive(Clone, Copy)]
enum Field {
    Input,
    Output,
    CacheRead,
    CacheWrite,
    Reasoning,
    BilledInput,
    BilledOutput,
    AudioInput,
    AudioOutput,
}

const FIELDS: [(Field, &str); 9] = [
    (Field::Input, "input"),
    (Field::Output, "output"),
    (Field::CacheRead, "cache_read"),
    (Field::CacheWrite, "cache_write"),
    (Field::Reasoning, "reasoning"),
    (Field::BilledInput, "billed_input"),
    (Field::BilledOutput, "billed_output"),
    (Field::AudioInput, "audio_input"),
    (Field::AudioOutput, "audio_output"),
];

/// Token counts. Each figure is known or absent; an absent one is never 0.
///
/// *Input* includes cached tokens and *output* includes reasoning tokens: where a provider reports them apart (Anthropic's
/// cache, Gemini's thoughts), whoever reads the provider's words adds them. Counts above `u32::MAX` are kept as
/// `u32::MAX`.
///
/// ```
/// use llmperf_core::Usage;
///
/// let usage = Usage::of(120, 48).cache_read(100).reasoning(None);
/// assert_eq!(usage.input_tokens(), Some(120));
/// assert_eq!(usage.reasoning_tokens(), None);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    present: u16,
    counts: [u32; FIELDS.len()],
}

macro_rules! figures {
    ($($(#[$doc:meta])* $field:ident, $set:ident, $get:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[must_use = "this returns the usage with the figure set"]
        pub fn $set(self, tokens: impl Into<Option<u64>>) -> Self {
            self.with(Field::$field, tokens.into())
        }

        $(#[$doc])*
        #[must_use]
        pub fn $get(&self) -> Option<u64> {
            self.get(Field::$field)
        }
    )*};
}

impl Usage {
    /// Nothing known.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Input and output tokens.
    #[inline]
    #[must_use]
    pub fn of(input: u64, output: u64) -> Self {
        Self::new().input(input).output(output)
    }

    figures! {
        /// Tokens of the request, cached ones included.
        Input, input, input_tokens;
        /// Tokens of the answer, reasoning included.
        Output, output, output_tokens;
        /// The part of the input that came from the provider's cache.
        CacheRead, cache_read, cache_read_tokens;
        /// The part of the input that was written to the provider's cache.
        CacheWrite, cache_write, cache_write_tokens;
        /// The part of the output that was spent on reasoning.
        Reasoning, reasoning, reasoning_tokens;
        /// Input tokens that are billed, where they differ from those used.
        BilledInput, billed_input, billed_input_tokens;
        /// Output tokens that are billed, where they differ from those used.
        BilledOutput, billed_output, billed_output_tokens;
        /// The part of the input that was audio.
        AudioInput, audio_input, audio_input_tokens;
        /// The part of the output that was audio.
        AudioOutput, audio_output, audio_output_tokens;
    }

    /// Whether no figure is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Takes in a later snapshot of the same call: the last value wins per figure, and nothing is ever added up.
    ///
    /// Zeros never replace non-zeros, an input of 0 is unknown, and a snapshot that claims an output of 0 although
    /// output has been seen is not believed at all.
    pub(crate) fn absorb(&mut self, snapshot: &Self, output_seen: bool) {
        if output_seen && snapshot.get(Field::Output) == Some(0) {
            return;
        }
        for (field, _) in FIELDS {
            match snapshot.get(field) {
                None => {}
                Some(0) if matches!(field, Field::Input) || self.get(field).is_some() => {}
                Some(tokens) => *self = self.with(field, Some(tokens)),
            }
        }
    }

    /// Fills in what this usage lacks from another count of the same call.
    pub(crate) fn fill_from(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        for (field, _) in FIELDS {
            if self.get(field).is_none() {
                *self = self.with(field, other.get(field));
            }
        }
    }

    /// The usage once the call has ended: an output of 0 that came before any output was seen is unknown if some was.
    pub(crate) fn settled(self, output_seen: bool) -> Self {
        if output_seen && self.get(Field::Output) == Some(0) { self.with(Field::Output, None) } else { self }
    }

    fn get(&self, field: Field) -> Option<u64> {
        (self.present & (1 << field as u16) != 0).then(|| u64::from(self.counts[field as usize]))
    }

    #[inline]
    fn with(mut self, field: Field, tokens: Option<u64>) -> Self {
        let bit = 1 << field as u16;
        match tokens {
            Some(tokens) => {
                self.present |= bit;
                self.counts[field as usize] = u32::try_from(tokens).unwrap_or(u32::MAX);
            }
            None => {
                self.present &= !bit;
                self.counts[field as usize] = 0;
            }
        }
        self
    }

    fn known(&self) -> impl Iterator<Item = (&'static str, u64)> {
        FIELDS.into_iter().filter_map(|(field, name)| Some((name, self.get(field)?)))
    }
}

impl fmt::Debug for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut figures = f.debug_struct("Usage");
        for (name, tokens) in self.known() {
            figures.field(name, &tokens);
        }
        figures.finish()
    }
}

impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, tokens) in self.known() {
            map.serialize_entry(name, &tokens)?;
        }
        map.end()
    }
}

/// Where the token counts of a call come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TokenSource {
    /// The provider's own count.
    Usage,
    /// The caller's tokenizer ([`Call::tokenizer`](crate::Call::tokenizer)).
    Tokenizer,
    /// One token for each chunk with output, an estimate ([`Call::estimate_tokens`](crate::Call::estimate_tokens)).
    Chunks,
}

impl TokenSource {
    /// The value of `llmperf.token.source`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Tokenizer => "tokenizer",
            Self::Chunks => "chunks",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(snapshots: &[Usage]) -> Usage {
        let mut usage = Usage::new();
        for snapshot in snapshots {
            usage.absorb(snapshot, true);
        }
        usage.settled(true)
    }

    #[test]
    fn the_last_value_wins_and_nothing_is_added_up() {
        let repeated = [Usage::of(28, 8), Usage::of(28, 8), Usage::of(28, 9)];
        assert_eq!(merged(&repeated), Usage::of(28, 9));
    }

    #[test]
    fn an_absent_field_keeps_what_was_there() {
        let start = Usage::new().input(721).cache_read(600);
        assert_eq!(merged(&[start, Usage::new().output(113)]), start.output(113));
    }

    #[test]
    fn a_zero_never_replaces_a_count() {
        assert_eq!(
            merged(&[Usage::of(5, 7).cache_read(3), Usage::new().input(0).output(7).cache_read(0)]),
            Usage::of(5, 7).cache_read(3)
        );
    }

    #[test]
    fn an_input_of_zero_is_unknown() {
        assert_eq!(merged(&[Usage::of(0, 4)]).input_tokens(), None);
    }

    #[test]
    fn an_output_of_zero_with_output_seen_discards_the_snapshot() {
        assert_eq!(merged(&[Usage::of(12, 0).reasoning(3)]), Usage::new());
    }

    #[test]
    fn an_output_of_zero_without_output_is_a_count() {
        let mut usage = Usage::new();
        usage.absorb(&Usage::of(16, 0), false);
        assert_eq!(usage.settled(false).output_tokens(), Some(0));
        assert_eq!(usage.settled(true).output_tokens(), None);
    }

    proptest! {
        #[test]
        fn absorbing_a_snapshot_twice_changes_nothing(input in any::<Option<u32>>(), output in any::<Option<u32>>(), cached in any::<Option<u32>>(), seen in any::<bool>()) {
            let wide = |n: Option<u32>| n.map(u64::from);
            let snapshot = Usage::new().input(wide(input)).output(wide(output)).cache_read(wide(cached));
            let mut once = Usage::new();
            once.absorb(&snapshot, seen);
            let mut twice = once;
            twice.absorb(&snapshot, seen);
            prop_assert_eq!(once, twice);
        }

        #[test]
        fn a_figure_that_was_set_is_the_figure_that_is_read(tokens in any::<u32>()) {
            let usage = Usage::new().reasoning(u64::from(tokens));
            prop_assert_eq!(usage.reasoning_tokens(), Some(u64::from(tokens)));
            prop_assert_eq!(usage.known().count(), 1);
        }
    }
}
