//! A client that reads a stream: at once, slowly, or until it has had enough.

use std::pin::pin;
use std::time::Instant;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use tokio::time::sleep;

use crate::server::Consumer;

/// What a client got.
#[derive(Debug)]
pub(crate) struct Received<E> {
    /// Each read and when it came.
    pub(crate) reads: Vec<(Instant, Bytes)>,
    /// What broke the stream, if anything did.
    pub(crate) broken: Option<E>,
}

/// Reads `body` as `consumer` does; a client that leaves drops the stream before this returns.
pub(crate) async fn read<S, E>(body: S, consumer: Consumer) -> Received<E>
where
    S: Stream<Item = Result<Bytes, E>>,
{
    let mut body = pin!(body);
    let mut received = Received { reads: Vec::new(), broken: None };
    let mut events = Events::default();
    while let Some(read) = body.next().await {
        let at = Instant::now();
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) => {
                received.broken = Some(error);
                break;
            }
        };
        let seen = events.count(&bytes);
        received.reads.push((at, bytes));
        match consumer {
            Consumer::Prompt => {}
            Consumer::Slow { pause } => sleep(pause).await,
            Consumer::Leaves { events } if seen >= events => break,
            Consumer::Leaves { .. } => {}
        }
    }
    received
}

/// Counts the events that have come whole: lines that begin with `data`, comments left aside.
#[derive(Default)]
struct Events {
    seen: usize,
    /// The line that is still coming.
    line: Vec<u8>,
}

impl Events {
    fn count(&mut self, bytes: &[u8]) -> usize {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
            } else {
                self.seen += usize::from(self.line.starts_with(b"data"));
                self.line.clear();
            }
        }
        self.seen
    }
}
