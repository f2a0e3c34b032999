//! What a decoder needs besides a framing and a reading: how an answer is begun, and what it has still to show.

use super::{Counts, Decoder, Form, Interpreter};
use crate::dialect::{Dialect, Reading};
use crate::event::Event;
use crate::framing::{EventStream, Frame, Framing, JsonArray, Lines, Sse, Whole};
use crate::sniff::{self, Declared, Opening, Signs};
use crate::whole::{self, Refusal};

/// An answer whose head is known, or that has to show what it is.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) plan: Plan,
    pub(super) limit: Option<usize>,
    pub(super) refusal: Option<Refusal>,
    pub(super) form: Option<Form>,
    pub(super) open: Open,
}

/// How each answer is begun.
#[derive(Debug, Clone, Copy)]
pub(super) enum Plan {
    Stream(Dialect),
    Whole(Option<Dialect>),
    Sniff {
        hint: Option<Dialect>,
        declared: Declared,
        /// An array can be a stream.
        array_streams: bool,
    },
}

/// What the bytes have still to show.
#[derive(Debug)]
pub(super) enum Open {
    Nothing,
    Form(Opening),
    Dialect(Signs),
}

impl Decoder {
    pub(super) fn planned(plan: Plan) -> Self {
        let answer = Answer { plan, limit: None, refusal: None, form: None, open: Open::Nothing };
        let mut decoder = Self {
            framing: Framing::Blind,
            reading: Reading::Unknown,
            counts: Counts::default(),
            answer: Some(Box::new(answer)),
        };
        decoder.begin();
        decoder
    }

    pub(super) fn refused(mut self, set: impl FnOnce(&mut Refusal)) -> Self {
        let plan = self.dialect().map_or(Plan::Whole(None), Plan::Stream);
        let answer = self.answer.get_or_insert_with(|| {
            Box::new(Answer { plan, limit: None, refusal: None, form: Some(Form::Stream), open: Open::Nothing })
        });
        set(answer.refusal.get_or_insert_default());
        if let Reading::Whole(reader) = &mut self.reading {
            reader.refuse();
        }
        self
    }

    /// Makes it ready for an answer; the buffers of a known framing are used again.
    pub(super) fn begin(&mut self) {
        match self.answer.as_ref().map(|answer| answer.plan) {
            None | Some(Plan::Stream(_)) => self.reading = self.dialect().map_or(Reading::Unknown, Dialect::reading),
            Some(Plan::Whole(hint)) => self.expect_whole(hint),
            Some(Plan::Sniff { declared, array_streams, .. }) => {
                self.framing = Framing::Blind;
                self.reading = Reading::Unknown;
                if let Some(answer) = &mut self.answer {
                    answer.form = None;
                    answer.open = Open::Form(Opening::new(declared, array_streams));
                }
            }
        }
    }

    fn frame(&mut self, framing: Framing, form: Form) {
        let limit = self.answer.as_mut().and_then(|answer| {
            answer.form = Some(form);
            answer.limit
        });
        self.framing = match limit {
            Some(bytes) => framing.limit(bytes),
            None => framing,
        };
    }

    fn expect_whole(&mut self, hint: Option<Dialect>) {
        let refused = self.answer.as_ref().is_some_and(|answer| answer.refusal.is_some());
        self.frame(Framing::Whole(Box::new(Whole::new())), Form::Whole);
        self.reading = Reading::Whole(Box::new(whole::Reader::new(hint, refused)));
    }

    /// The same as `push` where an answer has still to show something, or comes with a status.
    #[inline(never)]
    pub(super) fn push_answer(&mut self, read: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let mut rest = read;
        if let Some(Open::Form(opening)) = self.answer.as_mut().map(|answer| &mut answer.open) {
            let Some((form, held, behind)) = opening.push(read) else {
                return;
            };
            self.settle(form);
            self.push_framed(&held, sink);
            rest = behind;
        }
        self.push_framed(rest, sink);
    }

    /// The form has become clear.
    pub(super) fn settle(&mut self, form: sniff::Form) {
        let Some(answer) = &mut self.answer else {
            return;
        };
        let Plan::Sniff { hint, .. } = answer.plan else {
            return;
        };
        answer.open = Open::Nothing;
        let (framing, dialect) = match form {
            sniff::Form::Whole => return self.expect_whole(hint),
            // An error, in the array that was expected.
            sniff::Form::Array if answer.refusal.is_some() => return self.expect_whole(hint),
            sniff::Form::Blind => return self.frame(Framing::Blind, Form::Blind),
            sniff::Form::ServerSentEvents => {
                answer.open = Open::Dialect(Signs::default());
                let hint = if hint == Some(Dialect::GeminiArray) { Some(Dialect::Gemini) } else { hint };
                (Framing::Sse(Sse::new().fields(&["error"]).bare_json(true)), hint)
            }
            sniff::Form::Lines => {
                answer.open = Open::Dialect(Signs::default());
                (Framing::Lines(Lines::new()), hint)
            }
            sniff::Form::Array => (Framing::JsonArray(JsonArray::new()), Some(Dialect::GeminiArray)),
            sniff::Form::Binary => (Framing::EventStream(EventStream::new()), Some(Dialect::BedrockConverse)),
        };
        self.frame(framing, Form::Stream);
        self.reading = dialect.map_or(Reading::Unknown, Dialect::reading);
    }

    /// Takes bytes whose form is known, and looks out for their dialect.
    pub(super) fn push_framed(&mut self, read: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let Self { framing, reading, answer, counts } = self;
        let Some(Answer { refusal, open, .. }) = answer.as_deref_mut() else {
            return;
        };
        framing.push(read, Interpreter { reading, open: Some(open), refusal: refusal.as_ref(), counts, sink });
    }
}

impl Open {
    /// Looks at a frame for the dialect, and lets what it shows be read by it.
    pub(super) fn look(&mut self, frame: Frame<'_>, reading: &mut Reading) {
        let (Frame::Event { name, data, .. }, Self::Dialect(signs)) = (frame, &mut *self) else {
            return;
        };
        let shown = signs.look(name, data);
        if let Some(shown) = shown
            && reading.dialect().is_none_or(|expected| !expected.reads_like(shown))
        {
            *reading = shown.reading();
        }
        if shown.is_some() || signs.is_over() {
            *self = Self::Nothing;
        }
    }
}
