//! The text of an answer, token by token: words of a short list, in an order that the request's number fixes.

use super::plan::{Kind, Piece, Plan};

const WORDS: [&str; 24] = [
    "amber", "birch", "cloud", "delta", "ember", "fjord", "grove", "harbour", "island", "juniper", "kestrel",
    "lantern", "meadow", "north", "orchard", "pebble", "quiet", "river", "summit", "tide", "umber", "valley", "willow",
    "zephyr",
];

/// How far the text of one answer has come.
#[derive(Clone, Debug)]
pub(super) struct Words {
    next: usize,
    tool_tokens: u32,
    tool_written: u32,
}

impl Words {
    pub(super) fn new(plan: &Plan, index: u64) -> Self {
        let tool_tokens = plan.pieces().filter(|piece| piece.kind() == Some(Kind::Tool)).map(Piece::tokens).sum();
        let next = usize::try_from(index % WORDS.len() as u64).unwrap_or_default();
        Self { next, tool_tokens, tool_written: 0 }
    }

    /// The next tokens of text or reasoning.
    pub(super) fn text(&mut self, tokens: u32) -> String {
        (0..tokens).flat_map(|_| [" ", self.word()]).collect()
    }

    /// The next tokens of the tool call. The first is its name and no part of its arguments; the pieces of the
    /// others make one JSON object.
    pub(super) fn arguments(&mut self, tokens: u32) -> String {
        let last = self.tool_tokens.saturating_sub(1);
        let mut text = String::new();
        for token in self.tool_written..self.tool_written + tokens {
            match token {
                0 => {}
                1 if last == 1 => text.push_str("{}"),
                1 => text.push_str("{\"query\":\""),
                _ if token == last => text.push_str("\"}"),
                _ => text.extend([" ", self.word()]),
            }
        }
        self.tool_written += tokens;
        text
    }

    /// No more of the tool call comes.
    pub(super) fn tool_ended(&self) -> bool {
        self.tool_written >= self.tool_tokens
    }

    fn word(&mut self) -> &'static str {
        let word = WORDS[self.next % WORDS.len()];
        self.next += 1;
        word
    }
}
