//! Whether the cost of a poll stays what it is with threads and with live streams.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use criterion::Criterion;
use futures_core::Stream;
use llmperf_core::{Instrumentation, Measured};

use crate::{
    poll::endless,
    ratio::{Bar, Contestant, Race},
    setup::{Sdk, Tokens, poll},
};

pub(crate) fn race(criterion: &mut Criterion) {
    let sdk = Sdk::new();
    let instrumentation = sdk.instrumentation().per_chunk_histogram(false).build();
    threads(&instrumentation, criterion);
    live_streams(&instrumentation, criterion);
}

fn threads(instrumentation: &Instrumentation, criterion: &mut Criterion) {
    let measured = || endless(instrumentation);
    Race::new(
        "threads",
        [
            side_by_side("bare stream, 1 thread", [Tokens::new()]),
            side_by_side("bare stream, 2 threads", [Tokens::new(), Tokens::new()]),
            side_by_side("measured, 1 thread", [measured()]),
            side_by_side("measured, 2 threads", [measured(), measured()]),
        ],
    )
    .ratio("scaling to 2 threads / scaling of the bare stream", Bar::AtLeast(0.9), |[bare, bare_2, ours, ours_2]| {
        (ours / ours_2) / (bare / bare_2)
    })
    .run(criterion);
}

/// Each stream polled on a thread of its own; the mean of their times, each taken on its thread.
fn side_by_side<'a, S: Stream + Unpin + Send + 'a, const N: usize>(
    name: &'static str,
    mut streams: [S; N],
) -> Contestant<'a> {
    Contestant::timed(name, move |times| {
        let start = Barrier::new(N);
        let alone = |stream: &mut S| {
            start.wait();
            let started = Instant::now();
            poll(stream, times);
            started.elapsed()
        };
        let total: Duration = thread::scope(|scope| {
            let threads = streams.each_mut().map(|stream| scope.spawn(|| alone(stream)));
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        total / N as u32
    })
}

fn live_streams(instrumentation: &Instrumentation, criterion: &mut Criterion) {
    let bare = |count| (0..count).map(|_| Tokens::new()).collect::<Vec<_>>();
    let measured = |count| (0..count).map(|_| endless(instrumentation)).collect::<Vec<Measured<_, _>>>();
    Race::new(
        "live streams",
        [
            in_turn("bare, 1", bare(1)),
            in_turn("bare, 100", bare(100)),
            in_turn("bare, 10,000", bare(10_000)),
            in_turn("measured, 1", measured(1)),
            in_turn("measured, 100", measured(100)),
            in_turn("measured, 10,000", measured(10_000)),
        ],
    )
    .ratio("added per chunk, 100 live / 1 live", Bar::None, |[bare, bare_100, _, ours, ours_100, _]| {
        (ours_100 - bare_100) / (ours - bare)
    })
    .ratio("added per chunk, 10,000 live / 1 live", Bar::None, |[bare, _, bare_10k, ours, _, ours_10k]| {
        (ours_10k - bare_10k) / (ours - bare)
    })
    .run(criterion);
}

/// Streams polled one after the other, each for one item at a time.
fn in_turn<'a, S: Stream + Unpin + 'a>(name: &'static str, mut streams: Vec<S>) -> Contestant<'a> {
    let mut next = 0;
    Contestant::new(name, move |times| {
        for _ in 0..times {
            poll(&mut streams[next], 1);
            next += 1;
            if next == streams.len() {
                next = 0;
            }
        }
    })
}
