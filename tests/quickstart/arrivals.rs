//! Arrivals as llmperf stamps them lie between their own write and the next one.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use llmperf::{Dialect, Instrumentation, OpenWire as _};

use crate::load::{Client, Load, Question};
use crate::server::{Plan, Server};

const GAP: Duration = Duration::from_millis(50);
const TOKENS: usize = 20;
const CALLS: u64 = 8;

/// When one output arrived by llmperf's stamp: not before the first instant, and before the second, which are as far
/// apart as it took to make the call.
type Arrival = (Instant, Instant);

/// Makes one call and reads it at once. The stamp of each output is the call's start and the generation time as it was
/// when that output had been read.
async fn arrivals(client: Client, index: u64) -> Vec<Arrival> {
    let question = Question::planned(index, &steady());
    let request = async { Ok::<_, reqwest::Error>(client.ask(&question).send().await?.bytes_stream()) };
    let before = Instant::now();
    let call = Instrumentation::builder().build().chat("local", question.model.clone());
    let after = Instant::now();
    let mut body = call.open_wire(request, Dialect::OpenAiChat).await.unwrap();
    let mut arrivals = Vec::new();
    while let Some(read) = body.next().await {
        read.unwrap();
        let timing = body.timing();
        if let Some(last) = timing.generation_time {
            arrivals.resize(usize::try_from(timing.outputs).unwrap(), (before + last, after + last));
        }
    }
    arrivals
}

fn steady() -> Plan {
    Plan::steady(GAP, TOKENS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stamps_lie_between_their_own_write_and_the_next() {
    let server = Server::start(|_| steady()).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    let mut calls = Vec::new();
    let call = |index| {
        let client = client.clone();
        async move { (index, arrivals(client, index).await) }
    };
    let load = Load { calls: CALLS, concurrency: usize::try_from(CALLS).unwrap() };
    load.run(call, |ended| calls.push(ended.unwrap())).await;

    let (mut inside, mut all) = (0, 0);
    for (index, arrivals) in calls {
        let writes = server.ledger().of(index).unwrap().writes;
        assert_eq!((arrivals.len(), writes.len()), (TOKENS, TOKENS + 1), "every token, and the end");
        for ((earliest, latest), pair) in arrivals.into_iter().zip(writes.windows(2)) {
            all += 1;
            inside += usize::from(pair[0].at <= latest && earliest < pair[1].at);
        }
    }
    assert_eq!(all, TOKENS * usize::try_from(CALLS).unwrap());
    assert!(inside * 100 >= all * 95, "{inside} of {all} stamps lie between their own write and the next");
}
