//! [eventsource-stream](https://docs.rs/eventsource-stream): server-sent events whose payloads are yours to parse.
//!
//! Where the bytes underneath can be had, measure those: `body.measure_wire(call, dialect).eventsource()` (`llmperf-wire`)
//! knows the providers' payloads, takes the times of the reads and parses nothing twice. Where your own code maps events to a
//! type of yours, measure that stream, with [`try_measure_with`](llmperf_core::MeasureStream::try_measure_with). This is for
//! streams of events that are passed on as they are.
//!
//! ```
//! use eventsource_stream::Eventsource as _;
//! use futures::{StreamExt as _, stream};
//! use llmperf_clients::eventsource_stream as measured;
//! use llmperf_core::{Carries, Outcome, Output, Sees};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Token { text: String, finish_reason: Option<String> }
//!
//! impl Carries for Token {
//!     const SEES: Sees = Sees::Finish;
//!
//!     fn output(&self) -> Output<'_> {
//!         Output::text(&self.text).and_finish(self.finish_reason.as_deref())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # let body = stream::iter(["data: {\"text\":\"Hi\"}\n\n", "data: [DONE]\n\n"].map(Ok::<_, std::io::Error>));
//! let call = llmperf_core::chat("house", "parrot-1");
//! let mut events = measured::measure(body.eventsource(), call, |payload| serde_json::from_str::<Token>(payload));
//! while let Some(event) = events.next().await { /* as it came */ }
//! assert_eq!(events.timing().outcome, Some(Outcome::Complete));
//! # }
//! ```
//!
//! | event | means |
//! |---|---|
//! | `data` that parses | what the payload says |
//! | `data` that begins with `[DONE]` | the marker |
//! | `event: error`, or `data` that does not parse but is an error's body | the call has failed, by the code in it |
//! | other `data` that does not parse | no event; it is counted |
//! | `Err(Transport)` | the transport failed |
//! | `Err(Utf8)`, `Err(Parser)` | the call has failed: `malformed_stream` |
//!
//! # What the client hides
//!
//! - **Comments**: keep-alives are no sign of life here.
//! - **An event whose end never came**, at the end of the body.
//! - **All of it, after a byte order mark in the middle**: it panics there, and the call ends as an error `panic`.

use std::{fmt, marker::PhantomData};

use eventsource_stream::{Event, EventStreamError};
use futures_core::Stream;
use llmperf_core::{Carries, Classify, Failure, Measured, Oddity, Output, Read, Reader, Recorder, Sees};
use serde_json::Value;

use crate::error_body;

/// Measures a stream of events; `parse` makes of a payload what says what it carries.
///
/// `parse` runs on each payload but the markers, beside whatever the application makes of it.
pub fn measure<S, E, By, F, T, X>(stream: S, call: impl Into<Recorder>, parse: F) -> Measured<S, Payloads<F, By>>
where
    S: Stream<Item = Result<Event, EventStreamError<E>>>,
    E: Classify<By>,
    F: FnMut(&str) -> Result<T, X>,
    T: Carries,
{
    Measured::new(stream, call, payloads(parse))
}

/// The reader of [`measure`], for [`Call::open_by`](llmperf_core::Call::open_by).
pub fn payloads<F, By>(parse: F) -> Payloads<F, By> {
    Payloads { parse, by: PhantomData }
}

/// Reads events by their payloads. It sees as much of an ending as the payloads do, and `[DONE]`.
pub struct Payloads<F, By> {
    parse: F,
    by: PhantomData<fn() -> By>,
}

impl<F, By> fmt::Debug for Payloads<F, By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Payloads")
    }
}

impl<E, By, F, T, X> Reader<Result<Event, EventStreamError<E>>> for Payloads<F, By>
where
    E: Classify<By>,
    F: FnMut(&str) -> Result<T, X>,
    T: Carries,
{
    const SEES: Sees = T::SEES;

    fn read(&mut self, item: &Result<Event, EventStreamError<E>>, read: &mut Read<'_>) {
        match item {
            Ok(event) if event.data.starts_with("[DONE]") => read.event(Output::done()),
            Ok(event) if event.event == "error" => {
                if !told_error(&event.data, read) {
                    read.event(Output::error("error"));
                }
            }
            Ok(event) => match (self.parse)(&event.data) {
                Ok(payload) => read.event(payload.output()),
                Err(_) if told_error(&event.data, read) => {}
                Err(_) => {
                    read.oddity(Oddity::MalformedPayload, 1);
                    read.event(Output::ignored());
                }
            },
            Err(EventStreamError::Transport(error)) => {
                let failure = error.failure();
                let failure = if failure.is_transport() { failure } else { Failure::transport("stream_failed") };
                read.event(Output::failure(failure));
            }
            Err(_) => read.event(Output::failure(Failure::new("malformed_stream"))),
        }
    }
}

/// Tells the error in a payload; false where there is none.
fn told_error(payload: &str, read: &mut Read<'_>) -> bool {
    let event: Value = serde_json::from_str(payload).unwrap_or_default();
    let Some(body) = error_body::in_event(&event) else { return false };
    let failure = Failure::new(body.error_type.as_deref().unwrap_or("error"));
    let failure = body.message.map_or(failure, |message| failure.message(message));
    read.event(Output::none().and_failure(failure));
    true
}
