//! What the quickstart says about injected and measured is right for calls of which everything is known.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use llmperf::testing::Probe;
use llmperf::{Dialect, MeasureWire as _};

use crate::load::{Client, Comparison, Pair, Question, read};
use crate::server::{Consumer, Plan, Server};

/// One real call for the server's side, of which the measured side sees the same bytes at once on a clock that stands
/// still: every measured mark is zero, so each difference is the injected mark with its sign turned.
async fn pair(consumer: Consumer) -> Pair {
    let plan = Plan { consumer, ..Plan::steady(Duration::from_millis(2), 5) };
    let planned = plan.clone();
    let server = Server::start(move |_| planned.clone()).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    let bytes = client.ask(&Question::planned(0, &plan)).send().await.unwrap().bytes().await.unwrap();
    let probe = Probe::new();
    let mut body = stream::iter([Ok::<Bytes, std::io::Error>(bytes)])
        .measure_wire(probe.chat("local", plan.model), Dialect::OpenAiChat);
    read(&mut body, Consumer::Prompt).await;
    Pair::of(plan, 0, server.ledger(), body.into_timing()).unwrap()
}

#[tokio::test]
async fn differences_are_measured_less_injected() {
    let pair = pair(Consumer::Prompt).await;
    let injected = [
        ("first chunk", pair.injected.time_to_first_chunk()),
        ("TTFT", pair.injected.time_to_first_token()),
        ("first answer", pair.injected.time_to_first_answer()),
        ("generation", pair.injected.generation_time()),
        ("E2E", pair.injected.duration()),
    ];
    let marks = Comparison::of(&[pair]);
    for (name, injected) in injected {
        let mark = marks.iter().find(|mark| mark.mark == name).unwrap();
        let injected = injected.unwrap().as_secs_f64();
        assert!(injected > 0.0);
        assert_eq!((mark.calls(), mark.injected(), mark.measured()), (1, Some(injected), Some(0.0)), "{name}");
        assert_eq!((mark.difference(), mark.worst()), (Some(-injected), Some(-injected)), "{name}");
    }
}

#[tokio::test]
async fn a_mark_that_one_side_lacks_is_not_compared() {
    let marks = Comparison::of(&[pair(Consumer::Prompt).await]);
    // No head was told, and a single read has neither gaps nor a pace.
    for name in ["head", "longest gap", "TPOT"] {
        let mark = marks.iter().find(|mark| mark.mark == name).unwrap();
        assert_eq!((mark.calls(), mark.injected(), mark.worst()), (0, None, None), "{name}");
    }
}

#[tokio::test]
async fn slow_clients_are_not_compared() {
    let slow = pair(Consumer::Slow { pause: Duration::from_millis(1) }).await;
    assert!(Comparison::of(&[slow]).iter().all(|mark| mark.calls() == 0));
}

#[tokio::test]
async fn the_injected_pace_leaves_out_the_first_write() {
    let record = pair(Consumer::Prompt).await.injected;
    let output: Vec<_> = record.output().collect();
    assert_eq!(record.time_per_output_token(), Some((output[4] - output[0]) / 4));
}
