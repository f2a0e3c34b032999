//! A TCP stream that stamps the ledger when bytes leave.
//!
//! The answering side says what it hands to HTTP; the stamp is taken here, right before the system call that takes
//! the bytes, so that encoding and buffering in between belong to the server and not to the wire.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::ledger::{Ledger, Note};

/// What the next write of a connection carries.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox(Arc<Mutex<Vec<Note>>>);

impl Outbox {
    pub(super) fn announce(&self, note: Note) {
        self.notes().push(note);
    }

    fn notes(&self) -> MutexGuard<'_, Vec<Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    outbox: Outbox,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, outbox: Outbox) -> Self {
        Self { stream, outbox }
    }

    /// An attempt that the socket does not take leaves no stamp: the bytes have not left. The ledger is closed while they
    /// leave, so that whoever has read them finds their stamp.
    fn stamped(
        &mut self,
        write: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let mut notes = self.outbox.notes();
        let ledger = notes.first().map(Note::ledger);
        let mut records = ledger.as_ref().map(Ledger::lock);
        let before = Instant::now();
        let written = ready!(write(Pin::new(&mut self.stream)))?;
        for note in notes.drain(..) {
            if let Some(records) = &mut records {
                note.enter(before, records);
            }
        }
        Poll::Ready(Ok(written))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().stamped(|stream| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().stamped(|stream| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}
