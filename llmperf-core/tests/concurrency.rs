//! Ten thousand streams that end, fail, panic, are dropped and aborted at random points on a multi-thread runtime: the
//! outcome of each is right and counted once.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    collections::{BTreeMap, HashSet},
    future,
    panic::resume_unwind,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, StreamExt as _};
use llmperf_core::{
    Failure, Instrumentation, Measured, Outcome, Output, Read, Reader, Sees, current_call,
    testing::{ManualClock, Probe},
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::{sync::oneshot, task::JoinSet};

const STREAMS: u64 = 10_000;

#[derive(Clone, Copy, Debug)]
enum Fate {
    NeverArmed,
    RequestFails,
    RequestBreaks,
    RequestDropped,
    Ends,
    EndsEarly,
    EndsAfterMarker,
    EndsWithoutMarker,
    Fails,
    FailsAfterFinish,
    Breaks,
    BreaksAfterFinish,
    Panics,
    ReaderPanics,
    Dropped,
    DroppedAfterFinish,
    DroppedAfterDeadline,
    TaskPanics,
    TaskAborted,
    GivenBack,
}

use Fate as F;

const FATES: [Fate; 20] = [
    F::NeverArmed,
    F::RequestFails,
    F::RequestBreaks,
    F::RequestDropped,
    F::Ends,
    F::EndsEarly,
    F::EndsAfterMarker,
    F::EndsWithoutMarker,
    F::Fails,
    F::FailsAfterFinish,
    F::Breaks,
    F::BreaksAfterFinish,
    F::Panics,
    F::ReaderPanics,
    F::Dropped,
    F::DroppedAfterFinish,
    F::DroppedAfterDeadline,
    F::TaskPanics,
    F::TaskAborted,
    F::GivenBack,
];

impl Fate {
    /// The outcome table of design section 3.
    fn outcome(self) -> Option<(Outcome, &'static str)> {
        Some(match self {
            F::NeverArmed => return None,
            F::RequestFails => (Outcome::Error, "concurrency::Refused"),
            F::RequestBreaks => (Outcome::Error, "connection_refused"),
            F::Fails | F::FailsAfterFinish => (Outcome::Error, "overloaded"),
            F::Panics | F::ReaderPanics => (Outcome::Error, "panic"),
            F::DroppedAfterDeadline => (Outcome::Error, "timeout"),
            F::EndsEarly | F::Breaks => (Outcome::Interrupted, "stream_interrupted"),
            F::RequestDropped | F::Dropped | F::TaskPanics | F::TaskAborted | F::GivenBack => (Outcome::Cancelled, ""),
            F::Ends | F::EndsAfterMarker | F::EndsWithoutMarker | F::BreaksAfterFinish | F::DroppedAfterFinish => {
                (Outcome::Complete, "")
            }
        })
    }

    fn sees(self) -> Sees {
        match self {
            F::EndsAfterMarker | F::EndsWithoutMarker => Sees::Marker,
            _ => Sees::Finish,
        }
    }

    /// What comes after the text.
    fn last(self) -> Vec<Step> {
        let finish = Step::Item(Output::finish("stop"));
        // Error and marker in one event: two latches at once, of which the first stands.
        let overloaded = Step::Item(Output::error("overloaded").and_done());
        let reset = Step::Item(Output::failure(Failure::transport("connection_reset")));
        match self {
            F::Ends | F::EndsWithoutMarker | F::DroppedAfterFinish => vec![finish],
            F::EndsAfterMarker => vec![finish, Step::Item(Output::done())],
            F::Fails => vec![overloaded],
            F::FailsAfterFinish => vec![finish, overloaded],
            F::Breaks => vec![reset],
            F::BreaksAfterFinish => vec![finish, reset],
            F::Panics => vec![Step::Panic],
            F::ReaderPanics => vec![Step::Item(Output::finish("panic"))],
            _ => vec![],
        }
    }
}

#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "a script of a few steps")]
enum Step {
    Item(Output<'static>),
    Panic,
}

/// Text, then what the fate says; between items it is pending at random, and code inside the call tells it things.
#[derive(Debug)]
struct Fated {
    rng: StdRng,
    clock: ManualClock,
    text: usize,
    last: std::vec::IntoIter<Step>,
}

impl Stream for Fated {
    type Item = Output<'static>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Output<'static>>> {
        self.clock.advance(Duration::from_micros(1));
        if self.rng.random_bool(0.3) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.rng.random_bool(0.05)
            && let Some(call) = current_call()
        {
            // It races with the end of the call, and may come too late.
            tokio::spawn(async move {
                call.attempt();
                call.attribute("raced", true);
            });
        }
        if self.text > 0 {
            self.text -= 1;
            return Poll::Ready(Some(Output::text("word")));
        }
        match self.last.next() {
            Some(Step::Item(item)) => Poll::Ready(Some(item)),
            Some(Step::Panic) => scripted_panic(),
            None => Poll::Ready(None),
        }
    }
}

/// A panic that prints nothing.
fn scripted_panic() -> ! {
    resume_unwind(Box::new("scripted"))
}

/// Reads outputs as they are; panics at the finish reason `panic`.
#[derive(Debug)]
struct Verbatim;

impl Reader<Output<'static>> for Verbatim {
    const SEES: Sees = Sees::Nothing;

    fn read(&mut self, item: &Output<'static>, read: &mut Read<'_>) {
        if format!("{item:?}").contains("reason: \"panic\"") {
            scripted_panic();
        }
        read.event(*item);
    }
}

type Reply = Measured<Fated, Verbatim>;

/// Reads a number of items, or to the end; each item by a task of its own at random.
async fn read(mut reply: Reply, items: Option<usize>, rng: &mut StdRng) -> Option<Reply> {
    let mut left = items.unwrap_or(usize::MAX);
    while left > 0 {
        left -= 1;
        let item = if rng.random_bool(0.2) {
            let reading = tokio::spawn(async move {
                let item = reply.next().await;
                (reply, item)
            });
            let item;
            // A panic in the poll dropped the stream where it was polled.
            (reply, item) = reading.await.ok()?;
            item
        } else {
            reply.next().await
        };
        if item.is_none() {
            break;
        }
    }
    Some(reply)
}

/// Lives one call to its fated end.
async fn live(fate: Fate, seed: u64, instrumentation: Instrumentation, clock: ManualClock) {
    let mut rng = StdRng::seed_from_u64(seed);
    let text = rng.random_range(1..6);
    let fated = Fated { rng: StdRng::seed_from_u64(!seed), clock, text, last: fate.last().into_iter() };
    let mut call = instrumentation.chat("openai", "gpt-4o-mini").sees(fate.sees());
    if let F::DroppedAfterDeadline = fate {
        call = call.deadline(Duration::ZERO);
    }
    match fate {
        F::NeverArmed => return drop(call),
        F::RequestFails => {
            let failed = call.open_with(future::ready(Err::<Fated, _>(Refused)), |item| *item).await;
            return assert!(failed.is_err());
        }
        F::RequestBreaks => {
            let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
            let failed = call.open_with(future::ready(Err::<Fated, _>(refused)), |item| *item).await;
            return assert!(failed.is_err());
        }
        F::RequestDropped => {
            let request = future::pending::<Result<Fated, std::io::Error>>();
            let mut open = Box::pin(call.open_with(request, |item| *item));
            return assert!(futures::poll!(&mut open).is_pending());
        }
        _ => {}
    }
    let reply = Measured::new(fated, call, Verbatim);
    let text_alone = rng.random_range(0..=text);
    match fate {
        F::Dropped | F::DroppedAfterDeadline => drop(read(reply, Some(text_alone), &mut rng).await),
        F::DroppedAfterFinish => drop(read(reply, Some(text + 1), &mut rng).await),
        F::GivenBack => drop(read(reply, Some(text_alone), &mut rng).await.map(Measured::into_inner)),
        F::TaskPanics => {
            let reply = read(reply, Some(text_alone), &mut rng).await;
            let panicked = tokio::spawn(async move {
                let _reply = reply;
                tokio::task::yield_now().await;
                scripted_panic()
            });
            let ended: Result<(), _> = panicked.await;
            assert!(ended.unwrap_err().is_panic());
        }
        F::TaskAborted => {
            let (here, reached) = oneshot::channel();
            let aborted = tokio::spawn(async move {
                let _reply = read(reply, Some(text_alone), &mut rng).await;
                here.send(()).unwrap();
                future::pending::<()>().await;
            });
            reached.await.unwrap();
            aborted.abort();
            assert!(aborted.await.unwrap_err().is_cancelled());
        }
        F::Panics | F::ReaderPanics => {
            let ended = tokio::spawn(async move { read(reply, None, &mut rng).await.is_some() }).await;
            assert!(!ended.unwrap_or(false), "{fate:?} panics");
        }
        _ => drop(read(reply, None, &mut rng).await.unwrap()),
    }
}

/// An error of a client's own.
#[derive(Debug)]
struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("refused")
    }
}

impl std::error::Error for Refused {}

type Counts = BTreeMap<(String, String), u64>;

/// What each of the fates, drawn from a seed, should count.
fn drawn(seed: u64) -> (Vec<Fate>, Counts) {
    let mut rng = StdRng::seed_from_u64(seed);
    let fates: Vec<_> = (0..STREAMS).map(|_| FATES[rng.random_range(0..FATES.len())]).collect();
    let mut expected = Counts::new();
    for (outcome, error_type) in fates.iter().filter_map(|fate| fate.outcome()) {
        *expected.entry((outcome.to_string(), error_type.to_owned())).or_default() += 1;
    }
    (fates, expected)
}

fn counted(probe: &Probe) -> Counts {
    let points = probe.points("llmperf.client.calls");
    let mut counts = Counts::new();
    for point in points {
        let key = ["llmperf.outcome", "error.type"].map(|name| point.attribute(name).to_owned()).into();
        *counts.entry(key).or_default() += point.sum as u64;
    }
    counts
}

/// The same, from the spans.
fn traced(probe: &Probe) -> Counts {
    let mut counts = Counts::new();
    for span in probe.spans() {
        let attribute = |name: &str| {
            let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
            found.map(|attribute| attribute.value.to_string()).unwrap_or_default()
        };
        *counts.entry((attribute("llmperf.outcome"), attribute("error.type"))).or_default() += 1;
    }
    counts
}

#[test]
fn ten_thousand_fates_are_each_counted_once() {
    let probe = Probe::new();
    let (fates, expected) = drawn(20_261_201);
    assert_eq!(expected.len(), 8, "each sort of ending is drawn: {expected:?}");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    runtime.block_on(async {
        let mut lives = JoinSet::new();
        for (seed, fate) in fates.into_iter().enumerate() {
            lives.spawn(live(fate, seed as u64, probe.instrumentation().clone(), probe.clock().clone()));
        }
        lives.join_all().await;
    });
    assert_eq!(counted(&probe), expected);
    assert_eq!(traced(&probe), expected);

    let armed: u64 = expected.values().sum();
    let spans: HashSet<_> = probe.spans().iter().map(|span| span.span_context.span_id()).collect();
    assert_eq!(spans.len() as u64, armed);
    assert_eq!(probe.count("llmperf.client.duration") as u64, armed);
    let active = probe.points("llmperf.client.active_calls");
    assert!(!active.is_empty() && active.iter().all(|point| point.sum == 0.0), "{active:?}");
    assert_eq!(probe.instrumentation().live_calls(), 0);
    assert_eq!(probe.points("llmperf.internal.events"), []);
}
