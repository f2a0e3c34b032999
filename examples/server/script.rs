//! A plan as the writes of a streamed answer: the bytes of its dialect with their times.

use std::mem;
use std::time::Duration;

use bytes::Bytes;

use super::dialects::{Dialect, Speech, Voice};
use super::plan::{Burst, Ending, Kind, Piece, Plan};
use super::reply::Reply;
use super::sheet::Sheet;
use super::words::Words;

/// The writes of one answer, rendered one by one as they fall due.
#[derive(Debug)]
pub(crate) struct Script {
    plan: Plan,
    speech: &'static dyn Speech,
    voice: Box<dyn Voice>,
    words: Words,
    /// The tool call so far, where it is given whole.
    call: (String, u32),
    begun: bool,
    /// Bursts that have been rendered, and the end as one more.
    given: usize,
}

/// The request as far as it changes the answer.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) dialect: Dialect,
    /// Number of the plan; part of the response's id.
    pub(crate) index: u64,
    pub(crate) model: String,
    /// Whether a chat stream ends with a usage frame; other dialects always tell it.
    pub(crate) include_usage: bool,
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
    /// Events of any kind, the marker included.
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
        let speech = asked.dialect.speech();
        let words = Words::new(&plan, asked.index);
        let voice = speech.voice(Reply::new(&plan, asked));
        Self { plan, speech, voice, words, call: Default::default(), begun: false, given: 0 }
    }

    pub(crate) fn close(&self) -> Close {
        match self.plan.ending {
            Ending::Complete(_) | Ending::Unmarked(_) | Ending::ErrorFrame => Close::Clean,
            Ending::Cut => Close::Broken,
            Ending::Silent | Ending::Refused(_) => Close::Never,
        }
    }

    fn burst(&mut self, burst: &Burst, sheet: &mut Sheet) {
        for &piece in &burst.pieces {
            match piece {
                Piece::Comment => self.voice.comment(sheet),
                Piece::Role if self.speech.begins_always() => self.begin(sheet),
                Piece::Role => self.voice.role(sheet),
                Piece::Output { kind, tokens } => {
                    self.begin(sheet);
                    self.output(kind, tokens, sheet);
                }
            }
        }
    }

    fn begin(&mut self, sheet: &mut Sheet) {
        if self.speech.begins_always() && !mem::replace(&mut self.begun, true) {
            self.voice.role(sheet);
        }
    }

    fn output(&mut self, kind: Kind, mut tokens: u32, sheet: &mut Sheet) {
        let text = match kind {
            Kind::Text | Kind::Reasoning => self.words.text(tokens),
            Kind::Tool => {
                self.call.0.push_str(&self.words.arguments(tokens));
                self.call.1 += tokens;
                if self.speech.gives_calls_whole() && !self.words.tool_ended() {
                    return;
                }
                let (arguments, of_call) = mem::take(&mut self.call);
                tokens = of_call;
                arguments
            }
        };
        self.voice.output(kind, &text, tokens, sheet);
        sheet.output(kind, tokens);
    }

    fn end(&mut self, sheet: &mut Sheet) {
        match self.plan.ending {
            Ending::Silent | Ending::Refused(_) => return,
            _ => self.begin(sheet),
        }
        match self.plan.ending {
            Ending::Complete(finish) => {
                self.voice.finish(finish, sheet);
                self.voice.mark(finish, sheet);
                sheet.end();
            }
            Ending::Unmarked(finish) => {
                self.voice.finish(finish, sheet);
                sheet.end();
            }
            Ending::ErrorFrame => {
                self.voice.error(sheet);
                sheet.end();
            }
            Ending::Cut => {
                self.voice.output(Kind::Text, " lost", 1, sheet);
                sheet.cut();
            }
            Ending::Silent | Ending::Refused(_) => {}
        }
    }
}

impl Iterator for Script {
    type Item = Step;

    /// A dialect may have nothing to write for a burst; its time then passes before the next write.
    fn next(&mut self) -> Option<Step> {
        let mut after = Duration::ZERO;
        loop {
            let mut sheet = Sheet::default();
            match self.plan.bursts.get(self.given).cloned() {
                Some(burst) => {
                    after += burst.after;
                    self.burst(&burst, &mut sheet);
                }
                None if self.given == self.plan.bursts.len() => {
                    after += self.plan.tail;
                    self.end(&mut sheet);
                }
                None => return None,
            }
            self.given += 1;
            if let Some((bytes, content)) = sheet.write() {
                return Some(Step { after, bytes, content });
            }
        }
    }
}
