//! Whole JSON answers as a push filter: bytes, cut anywhere, in; each value at the top, condensed, out.
//!
//! Answers that are not streamed may be megabytes of numbers of which nobody reads one. What cannot hold a figure is
//! dropped while it comes, and what is left is JSON still:
//!
//! | in the answer | kept |
//! |---|---|
//! | arrays of numbers, if longer than half a KiB | `[]` |
//! | the values of `embedding`, `embeddings`, `data`, `results`, `texts` in an object at the top | `null` |
//! | all but the first elements of an array at the top | nothing |
//! | strings | their first 64 KiB |
//!
//! So the answer to a request for any number of vectors is held in a few hundred bytes. A value is given at its closing
//! bracket, not at the end of the body: whoever reads up to the declared length may never ask for the end.

use memchr::memchr2;

use super::{DEFAULT_LIMIT, Frame};

/// How much of one string is kept.
const LONGEST_STRING: usize = 64 << 10;

/// How long an array of numbers may be that is kept.
const LONGEST_NUMBERS: usize = 512;

/// How many elements of an array at the top are kept.
const ELEMENTS: usize = 8;

/// Fields of an object at the top that hold no figure, but most of the bytes.
const DROPPED: &[&[u8]] = &[b"embedding", b"embeddings", b"data", b"results", b"texts"];

/// An incremental reader of whole JSON values.
#[derive(Debug)]
pub(crate) struct Whole {
    limit: usize,
    /// The value at hand as far as it is kept.
    kept: Vec<u8>,
    keeping: Keeping,
    state: State,
    /// Open objects and arrays.
    depth: usize,
    top: Top,
    /// The value ahead is dropped.
    drops_next: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a value at the top.
    Outside,
    /// In an object or array, between strings.
    Structure,
    /// Behind a `[` that may begin an array of numbers.
    ArrayStart,
    /// In an array of numbers that began here, in what is kept.
    Numbers { start: usize, dropped: bool },
    /// In a string of which so many bytes have come; `name` is where the name of a field at the top begins.
    String { length: usize, escaped: bool, name: Option<usize> },
    /// In a value that is dropped, or in several.
    Dropped(Dropped),
    /// What is no object or array at the top: held up to the end, where it will not parse.
    Stray,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dropped {
    /// Open objects and arrays within.
    depth: usize,
    string: bool,
    escaped: bool,
    /// All up to the end of the array at the top.
    to_end: bool,
}

/// Where in the object or array at the top the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Top {
    Name,
    Value,
    Element { number: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    Yes,
    /// The value has just passed the limit.
    Full,
    No,
}

impl Whole {
    pub(crate) fn new() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
            kept: Vec::new(),
            keeping: Keeping::Yes,
            state: State::Outside,
            depth: 0,
            top: Top::Name,
            drops_next: false,
        }
    }

    pub(crate) fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    pub(crate) fn held(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn push(&mut self, read: &[u8], mut sink: impl FnMut(Frame<'_>)) {
        let mut rest = read;
        while !rest.is_empty() {
            rest = self.step(rest);
            if self.keeping == Keeping::Full {
                self.keeping = Keeping::No;
                sink(Frame::Oversized);
            }
            if self.state == State::Structure && self.depth == 0 {
                if self.keeping == Keeping::Yes {
                    sink(Frame::Event { name: &[], data: &self.kept, unterminated: false });
                }
                self.clear();
            }
        }
    }

    pub(crate) fn finish(&mut self, mut sink: impl FnMut(Frame<'_>)) {
        if self.keeping == Keeping::Yes && self.state != State::Outside {
            let unterminated = self.state != State::Stray;
            sink(Frame::Event { name: &[], data: &self.kept, unterminated });
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.keeping = Keeping::Yes;
        self.state = State::Outside;
        self.depth = 0;
        self.drops_next = false;
    }

    /// Takes some of the bytes ahead, or changes the state in which they are looked at.
    fn step<'r>(&mut self, rest: &'r [u8]) -> &'r [u8] {
        match self.state {
            State::String { length, escaped, name } => return self.string(rest, length, escaped, name),
            State::Dropped(dropped) => return self.pass_over(rest, dropped),
            State::Numbers { start, dropped } => return self.numbers(rest, start, dropped),
            State::Stray => {
                self.keep(rest);
                return &[];
            }
            State::Outside | State::Structure | State::ArrayStart => {}
        }
        let Some((&byte, tail)) = rest.split_first() else {
            return rest;
        };
        if byte.is_ascii_whitespace() {
            if self.state != State::Outside {
                self.keep(&[byte]);
            }
        } else if self.state == State::Outside {
            self.begin(byte);
        } else if self.drops_next && byte != b':' {
            self.drops_next = false;
            self.keep(b"null");
            self.state = State::Dropped(Dropped { depth: 0, string: false, escaped: false, to_end: false });
            return rest;
        } else {
            self.structure(byte);
        }
        tail
    }

    fn begin(&mut self, byte: u8) {
        self.top = match byte {
            b'{' => Top::Name,
            _ => Top::Element { number: 0 },
        };
        match byte {
            b'{' | b'[' => self.structure(byte),
            // A byte order mark.
            0xEF | 0xBB | 0xBF => {}
            _ => {
                self.state = State::Stray;
                self.keep(&[byte]);
            }
        }
    }

    fn structure(&mut self, byte: u8) {
        let begins_array = self.state == State::ArrayStart;
        self.state = State::Structure;
        match byte {
            b'-' | b'0'..=b'9' if begins_array => {
                self.state = State::Numbers { start: self.kept.len(), dropped: false };
            }
            b',' if self.depth == 1 => {
                if let Top::Element { number } = &mut self.top {
                    *number += 1;
                    if *number == ELEMENTS {
                        self.state = State::Dropped(Dropped { depth: 0, string: false, escaped: false, to_end: true });
                        return;
                    }
                } else {
                    self.top = Top::Name;
                }
            }
            b':' if self.depth == 1 && self.top == Top::Name => self.top = Top::Value,
            b'"' => {
                let name = (self.depth == 1 && self.top == Top::Name).then_some(self.kept.len() + 1);
                self.state = State::String { length: 0, escaped: false, name };
            }
            b'{' => self.depth = self.depth.saturating_add(1),
            b'[' => {
                self.depth = self.depth.saturating_add(1);
                self.state = State::ArrayStart;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.keep(&[byte]);
    }

    fn numbers<'r>(&mut self, rest: &'r [u8], start: usize, dropped: bool) -> &'r [u8] {
        let end = rest.iter().position(|byte| !is_of_numbers(*byte));
        let (run, tail) = rest.split_at(end.unwrap_or(rest.len()));
        if !dropped {
            let room = LONGEST_NUMBERS.saturating_sub(self.kept.len().saturating_sub(start));
            let (fitting, more) = run.split_at(room.min(run.len()));
            self.keep(fitting);
            if !more.is_empty() {
                self.kept.truncate(start);
                self.state = State::Numbers { start, dropped: true };
            }
        }
        if end.is_some() {
            self.state = State::Structure;
        }
        tail
    }

    fn string<'r>(&mut self, rest: &'r [u8], length: usize, escaped: bool, name: Option<usize>) -> &'r [u8] {
        // What follows a backslash goes with it.
        let special = if escaped { Some(1) } else { memchr2(b'"', b'\\', rest) };
        let (run, tail) = rest.split_at(special.unwrap_or(rest.len()).min(rest.len()));
        let room = (LONGEST_STRING + usize::from(escaped)).saturating_sub(length);
        self.keep(run.split_at(room.min(run.len())).0);
        let length = length.saturating_add(run.len());
        self.state = State::String { length, escaped: false, name };
        match tail {
            [b'"', tail @ ..] if !escaped => {
                self.drops_next =
                    name.and_then(|start| self.kept.get(start..)).is_some_and(|name| DROPPED.contains(&name));
                self.keep(b"\"");
                self.state = State::Structure;
                tail
            }
            [b'\\', tail @ ..] if !escaped => {
                if length < LONGEST_STRING {
                    self.keep(b"\\");
                }
                self.state = State::String { length: length.saturating_add(1), escaped: true, name };
                tail
            }
            tail => tail,
        }
    }

    fn pass_over<'r>(&mut self, rest: &'r [u8], mut dropped: Dropped) -> &'r [u8] {
        if dropped.string {
            let special = if dropped.escaped { Some(0) } else { memchr2(b'"', b'\\', rest) };
            let (_, tail) = rest.split_at(special.unwrap_or(rest.len()));
            if let Some((byte, tail)) = tail.split_first() {
                dropped.string = dropped.escaped || *byte != b'"';
                dropped.escaped = !dropped.escaped && *byte == b'\\';
                self.state = State::Dropped(dropped);
                return tail;
            }
            return tail;
        }
        let special = rest.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']' | b','));
        let (_, tail) = rest.split_at(special.unwrap_or(rest.len()));
        let Some((byte, behind)) = tail.split_first() else {
            return tail;
        };
        match byte {
            b'"' => dropped.string = true,
            b'{' | b'[' => dropped.depth = dropped.depth.saturating_add(1),
            b'}' | b']' if dropped.depth > 0 => dropped.depth -= 1,
            b',' if dropped.depth > 0 || dropped.to_end => {}
            _ => {
                self.state = State::Structure;
                return tail;
            }
        }
        self.state = State::Dropped(dropped);
        behind
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.keeping != Keeping::Yes {
            return;
        }
        if self.kept.len().saturating_add(bytes.len()) > self.limit {
            self.keeping = Keeping::Full;
            self.kept.clear();
        } else {
            self.kept.extend_from_slice(bytes);
        }
    }
}

fn is_of_numbers(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b',' | b'.' | b'-' | b'+' | b'e' | b'E' | b' ' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
mod tests;
