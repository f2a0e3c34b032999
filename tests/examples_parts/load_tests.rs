//! The closed loop and the readers.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::stream;
use tokio::sync::Barrier;

use crate::load::{Load, read};
use crate::server::Consumer;

#[tokio::test]
async fn as_many_calls_at_a_time_as_asked_for() {
    let live = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    // Nobody passes before four are there: fewer at a time would never end.
    let gate = Arc::new(Barrier::new(4));
    let call = |index| {
        let (live, most, gate) = (Arc::clone(&live), Arc::clone(&most), Arc::clone(&gate));
        async move {
            most.fetch_max(live.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            gate.wait().await;
            live.fetch_sub(1, Ordering::SeqCst);
            index
        }
    };
    let mut ended = Vec::new();
    Load { calls: 20, concurrency: 4 }.run(call, |index| ended.push(index.unwrap())).await;
    ended.sort_unstable();
    assert_eq!(ended, (0..20).collect::<Vec<u64>>());
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_call_that_panics_is_reported_and_the_others_go_on() {
    let call = |index| async move {
        assert_ne!(index, 1, "this one panics");
        index
    };
    let mut ended = Vec::new();
    Load { calls: 3, concurrency: 1 }.run(call, |result| ended.push(result.ok())).await;
    assert_eq!(ended, [Some(0), None, Some(2)]);
}

#[tokio::test]
async fn a_client_leaves_with_the_event_that_it_waited_for() {
    let body = ["data: 1\n", "\n: comment\n\nda", "ta: 2\n\n", "data: 3\n\n"];
    let body = stream::iter(body.map(|bytes| Ok::<_, Infallible>(Bytes::from_static(bytes.as_bytes()))));
    let received = read(body, Consumer::Leaves { events: 2 }).await;
    assert_eq!(received.reads.len(), 3);
}

#[tokio::test]
async fn a_broken_stream_keeps_what_came_before() {
    let body = stream::iter([Ok(Bytes::from_static(b"data: 1\n\n")), Err("cut")]);
    let received = read(body, Consumer::Prompt).await;
    assert_eq!((received.reads.len(), received.broken), (1, Some("cut")));
}
