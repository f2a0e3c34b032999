//! What the arguments of a tool call have grown by, where they are told so far and not by deltas.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The arguments that were told last. Some providers' chunks give what is new, others all there is so far, and which it is
/// depends on the options too; nothing says so, so that it is seen from the chunks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arguments {
    /// Of the call's id.
    call: Option<u64>,
    len: usize,
    /// Of the arguments so far.
    told: u64,
    /// Whether chunks give all there is so far, once that is known.
    accumulate: Option<bool>,
}

impl Arguments {
    /// Whether this is another call than the one before.
    pub(super) fn begins(&mut self, call_id: &str) -> bool {
        let call = Some(hash(call_id));
        let begins = self.call != call;
        if begins {
            (self.call, self.len) = (call, 0);
        }
        begins
    }

    /// The part of `arguments` that was not told before.
    pub(super) fn added<'a>(&mut self, arguments: &'a str) -> &'a str {
        let added = if self.len == 0 { arguments } else { self.grown_by(arguments) };
        (self.len, self.told) = (arguments.len(), hash(arguments));
        added
    }

    fn grown_by<'a>(&mut self, arguments: &'a str) -> &'a str {
        let parted = arguments.split_at_checked(self.len).filter(|(before, _)| hash(before) == self.told);
        match (self.accumulate, parted) {
            (Some(false), _) => arguments,
            (_, None) => {
                self.accumulate = Some(false);
                arguments
            }
            // The same again: nothing was added, or two deltas are alike.
            (None, Some((_, ""))) => arguments,
            (_, Some((_, rest))) => {
                self.accumulate = Some(true);
                rest
            }
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(chunks: &[(&str, &'static str)]) -> Vec<&'static str> {
        let mut arguments = Arguments::default();
        let mut added = |&(call, text): &(&str, &'static str)| {
            arguments.begins(call);
            arguments.added(text)
        };
        chunks.iter().map(&mut added).collect()
    }

    #[test]
    fn arguments_that_accumulate_are_told_once() {
        let chunks =
            [("a", ""), ("a", "{\"q"), ("a", "{\"q\":"), ("a", "{\"q\":"), ("a", "{\"q\":1}"), ("b", ""), ("b", "{}")];
        assert_eq!(told(&chunks), ["", "{\"q", "\":", "", "1}", "", "{}"]);
    }

    #[test]
    fn deltas_are_told_as_they_are() {
        let chunks = [("a", "{\"q"), ("a", "\":"), ("a", "0"), ("a", "0"), ("a", "00"), ("a", "}")];
        assert_eq!(told(&chunks), ["{\"q", "\":", "0", "0", "00", "}"]);
    }

    #[test]
    fn a_cut_inside_a_character_is_no_prefix() {
        assert_eq!(told(&[("a", "é"), ("a", "x€")]), ["é", "x€"]);
    }
}
