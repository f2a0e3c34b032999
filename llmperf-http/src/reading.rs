//! Reads the body of an answer on the side: undoes its codings, decodes what it says, tells the call.

use bytes::Buf;
use http::{HeaderMap, header::CONTENT_TYPE};
use http_body::Frame;
use llmperf_core::{Failure, Oddity, Output, Read, Reader, Sees};
use llmperf_wire::{Decoder, Endpoint, Wire};

use crate::{
    ahead::each_part,
    coding::{Blind, Codings},
};

/// What AWS says of an error in the head.
const ERROR_KIND: &str = "x-amzn-errortype";

/// Reads the frames of one body.
#[derive(Debug)]
pub(crate) struct Reading {
    sight: Sight,
    /// An answer with this status may have no body.
    may_be_empty: bool,
    empty: bool,
}

/// What can be seen of a body.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it lies in a box already, and is wide while it is of use")]
enum Sight {
    Open {
        codings: Codings,
        wire: Wire,
    },
    /// It has a coding that nobody here knows: to be said once.
    Unsaid,
    Blind,
}

impl Reading {
    pub(crate) fn new(endpoint: &Endpoint, status: u16, headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let mut decoder = Decoder::answer_of(endpoint, text(CONTENT_TYPE.as_str())).status(status);
        if let Some(kind) = text(ERROR_KIND) {
            decoder = decoder.error_kind(kind);
        }
        let sight = match Codings::of(headers) {
            Ok(codings) => Sight::Open { codings, wire: Wire::new(decoder) },
            Err(Blind) => Sight::Unsaid,
        };
        Self { sight, may_be_empty: status != 200, empty: true }
    }

    /// How much of an ending can be seen.
    pub(crate) fn sees(&self) -> Sees {
        match &self.sight {
            Sight::Open { wire, .. } => wire.sees(),
            Sight::Unsaid | Sight::Blind => Sees::Nothing,
        }
    }

    /// The call has ended: what was held for it is let go.
    pub(crate) fn close(&mut self) {
        if !matches!(self.sight, Sight::Blind) {
            self.sight = Sight::Blind;
        }
    }

    fn data(&mut self, data: &impl Buf, read: &mut Read<'_>) {
        read.received(data.remaining() as u64);
        self.empty &= !data.has_remaining();
        let seen = match &mut self.sight {
            Sight::Open { codings, wire } => {
                let mut seen = Ok(());
                let parted = each_part(data, |part| {
                    if seen.is_ok() {
                        seen = codings.push(part, &mut |decoded| wire.read_bytes(decoded, read));
                    }
                });
                if parted { seen } else { Err(Blind) }
            }
            Sight::Unsaid => Err(Blind),
            Sight::Blind => Ok(()),
        };
        if seen.is_err() {
            self.sight = Sight::Blind;
            read.event(Output::ignored());
            read.oddity(Oddity::DecoderBlind, 1);
        }
    }
}

impl<D: Buf, E> Reader<Result<Frame<D>, E>> for Reading {
    const SEES: Sees = Sees::Marker;

    fn read(&mut self, frame: &Result<Frame<D>, E>, read: &mut Read<'_>) {
        match frame {
            Ok(frame) => {
                if let Some(data) = frame.data_ref() {
                    self.data(data, read);
                }
            }
            // The body of a message fails as its transport does, whatever the error is called.
            Err(_) => read.event(Output::failure(Failure::transport("_OTHER"))),
        }
    }

    fn end(&mut self, read: &mut Read<'_>) {
        let is_open = if let Sight::Open { wire, .. } = &mut self.sight {
            wire.end_bytes(read);
            true
        } else {
            false
        };
        // Where nothing could be seen, or nothing was to be expected, the end is the end.
        if !is_open || (self.empty && self.may_be_empty) {
            read.sees(Sees::Nothing);
        }
    }
}
