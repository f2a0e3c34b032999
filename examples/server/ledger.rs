//! What the server did and when: the truth that measured marks are compared with.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::script::Content;

/// Every request that the server has seen, in order of arrival. Clones share one ledger.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<Vec<Record>>>);

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Index of the plan that it was answered by.
    pub(crate) plan: u64,
    /// The request head had been read.
    pub(crate) received: Instant,
    /// Just before the response head was handed to the socket.
    pub(crate) head: Option<Instant>,
    /// The writes of the body, in order.
    pub(crate) writes: Vec<Write>,
    /// The server let go of the request: it had ended, or its client had gone.
    pub(crate) released: Option<Instant>,
}

/// One write of body bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    /// Just before the call that handed the first of its bytes to the socket; if older bytes still wait there for a
    /// slow client, just before the call that took some of those.
    pub(crate) at: Instant,
    pub(crate) content: Content,
}

/// What a page is told when bytes leave.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent {
    Head,
    Body(Content),
}

impl Ledger {
    /// The last request that was answered by this plan.
    pub(crate) fn of(&self, plan: u64) -> Option<Record> {
        self.lock().iter().rev().find(|record| record.plan == plan).cloned()
    }

    /// All requests in order of arrival.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.lock().clone()
    }

    pub(super) fn open(&self, plan: u64) -> Page {
        let mut records = self.lock();
        records.push(Record { plan, received: Instant::now(), head: None, writes: Vec::new(), released: None });
        Page { ledger: self.clone(), place: records.len() - 1 }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    /// From the request to the response head.
    pub(crate) fn time_to_head(&self) -> Option<Duration> {
        self.head.map(|at| at - self.received)
    }

    /// From the request to the first event of any kind.
    pub(crate) fn time_to_first_chunk(&self) -> Option<Duration> {
        self.first(|content| content.events > 0)
    }

    /// From the request to the first output.
    pub(crate) fn time_to_first_token(&self) -> Option<Duration> {
        self.first(|content| content.tokens > 0)
    }

    /// From the request to the first output that is no reasoning.
    pub(crate) fn time_to_first_answer(&self) -> Option<Duration> {
        self.first(|content| content.answer)
    }

    /// From the request to the last output.
    pub(crate) fn generation_time(&self) -> Option<Duration> {
        Some(self.output().last()? - self.received)
    }

    /// From the request to the end marker.
    pub(crate) fn duration(&self) -> Option<Duration> {
        self.first(|content| content.end)
    }

    /// Times of the writes that carried output.
    pub(crate) fn output(&self) -> impl Iterator<Item = Instant> + '_ {
        self.writes.iter().filter(|write| write.content.tokens > 0).map(|write| write.at)
    }

    /// Times between consecutive writes that carried output.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = Duration> + '_ {
        self.output().zip(self.output().skip(1)).map(|(earlier, later)| later - earlier)
    }

    /// From the first output to the last, per token after those of the first write.
    pub(crate) fn time_per_output_token(&self) -> Option<Duration> {
        let span = self.output().last()? - self.output().next()?;
        let tokens = self.writes.iter().map(|write| write.content.tokens).filter(|tokens| *tokens > 0).skip(1);
        let rest: u32 = tokens.sum();
        (rest > 0).then(|| span / rest)
    }

    fn first(&self, carries: impl Fn(&Content) -> bool) -> Option<Duration> {
        let write = self.writes.iter().find(|write| carries(&write.content))?;
        Some(write.at - self.received)
    }
}

/// A request's own place in the ledger; dropping it says that the server is done with the request.
#[derive(Debug)]
pub(super) struct Page {
    ledger: Ledger,
    place: usize,
}

impl Page {
    /// Notes are passed on to the socket, which knows the time.
    pub(super) fn note(&self, sent: Sent) -> Note {
        Note { ledger: self.ledger.clone(), place: self.place, sent }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(record) = self.ledger.lock().get_mut(self.place) {
            record.released = Some(Instant::now());
        }
    }
}

/// Something that is about to be written.
#[derive(Debug)]
pub(super) struct Note {
    ledger: Ledger,
    place: usize,
    sent: Sent,
}

impl Note {
    pub(super) fn ledger(&self) -> Ledger {
        self.ledger.clone()
    }

    /// Enters it among the records of its ledger.
    pub(super) fn enter(self, at: Instant, records: &mut [Record]) {
        let Some(record) = records.get_mut(self.place) else { return };
        match self.sent {
            Sent::Head => record.head = Some(at),
            Sent::Body(content) => record.writes.push(Write { at, content }),
        }
    }
}
