//! A plan as the writes of a streamed answer: server-sent events with their times.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::payload::{self, Asked};
use super::plan::{Burst, Ending, Finish, Kind, Piece, Plan};
use super::words::Words;

/// The writes of one answer, rendered one by one as they fall due.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    plan: Plan,
    asked: Asked,
    words: Words,
    /// Steps given so far.
    given: usize,
}

/// One write, and what the ledger notes about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// From the write before (the head for the first) to this one.
    pub(crate) after: Duration,
    pub(crate) bytes: Bytes,
    pub(crate) content: Content,
}

/// What a write carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// Events of any kind, `[DONE]` included.
    pub(crate) events: u32,
    /// Output tokens.
    pub(crate) tokens: u32,
    /// Some of the output is no reasoning.
    pub(crate) answer: bool,
    /// The stream's last events are in it.
    pub(crate) end: bool,
}

/// What follows the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    /// The body ends as HTTP wants it.
    Clean,
    /// The connection breaks.
    Broken,
    /// Nothing, until the client has gone.
    Never,
}

impl Script {
    pub(crate) fn new(plan: Plan, asked: Asked) -> Self {
        let words = Words::new(&plan, asked.index);
        Self { plan, asked, words, given: 0 }
    }

    pub(crate) fn close(&self) -> Close {
        match self.plan.ending {
            Ending::Complete(_) | Ending::Unmarked(_) | Ending::ErrorFrame => Close::Clean,
            Ending::Cut => Close::Broken,
            Ending::Silent | Ending::Refused(_) => Close::Never,
        }
    }

    fn burst(&mut self, burst: &Burst) -> Step {
        let mut content = Content { tokens: burst.tokens(), ..Content::default() };
        let mut text = String::new();
        for &piece in &burst.pieces {
            if piece == Piece::Comment {
                text.push_str(": keep-alive\n\n");
            } else {
                let delta = payload::delta(&self.asked, &mut self.words, piece);
                text.push_str(&frame(&payload::chunk(&self.asked, &delta, None)));
                content.events += 1;
                content.answer |= matches!(piece, Piece::Output { kind: Kind::Text | Kind::Tool, .. });
            }
        }
        Step { after: burst.after, bytes: Bytes::from(text), content }
    }

    /// The last step, if there is one.
    fn end(&self) -> Option<Step> {
        let (text, content) = match self.plan.ending {
            Ending::Complete(finish) => {
                let (text, events) = self.finish(finish);
                (text + "data: [DONE]\n\n", Content { events: events + 1, end: true, ..Content::default() })
            }
            Ending::Unmarked(finish) => {
                let (text, events) = self.finish(finish);
                (text, Content { events, end: true, ..Content::default() })
            }
            Ending::ErrorFrame => {
                let error = payload::error("The engine ran out of memory.", "server_error", "engine_overloaded");
                (frame(&error), Content { events: 1, end: true, ..Content::default() })
            }
            Ending::Cut => {
                let mut text = frame(&payload::chunk(&self.asked, &json!({ "content": " lost" }), None));
                text.truncate(text.len() / 2);
                (text, Content::default())
            }
            Ending::Silent | Ending::Refused(_) => return None,
        };
        Some(Step { after: self.plan.tail, bytes: Bytes::from(text), content })
    }

    /// The events with finish reason and usage, and their number.
    fn finish(&self, finish: Finish) -> (String, u32) {
        let reason = frame(&payload::chunk(&self.asked, &json!({}), Some(finish)));
        if self.asked.include_usage {
            (reason + &frame(&payload::usage_chunk(&self.asked, &self.plan)), 2)
        } else {
            (reason, 1)
        }
    }
}

impl Iterator for Script {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let given = self.given;
        self.given += 1;
        match self.plan.bursts.get(given).cloned() {
            Some(burst) => Some(self.burst(&burst)),
            None if given == self.plan.bursts.len() => self.end(),
            None => None,
        }
    }
}

fn frame(payload: &Value) -> String {
    format!("data: {payload}\n\n")
}
