//! A client of the local server gets exactly what was planned, and the ledger tells when it left.

use std::time::{Duration, Instant};

use crate::load::{Client, Load, Question, Received, read};
use crate::server::{Asked, Close, Dialect, Ending, Finish, Piece, Plan, Record, Script, Server, Step};
use crate::transcript::Transcript;

const SEED: u64 = 7;
const CALLS: u64 = 120;

/// One call: its plan, what its client got (`Err`: the status that refused it), what the ledger says.
struct Seen {
    index: u64,
    plan: Plan,
    received: Result<Received<reqwest::Error>, u16>,
    record: Record,
}

impl Seen {
    fn steps(&self) -> (Vec<Step>, Close) {
        let asked = Asked {
            dialect: Dialect::OpenAiChat,
            index: self.index,
            model: self.plan.model.into(),
            include_usage: true,
        };
        let mut script = Script::new(self.plan.clone(), asked);
        (script.by_ref().collect(), script.close())
    }
}

/// Runs all calls as the load does and returns them with the ledger of the stopped server.
async fn drive(plans: fn(u64) -> Plan, calls: u64) -> Vec<Seen> {
    let server = Server::start(plans).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    let mut received = Vec::new();
    let call = |index| {
        let client = client.clone();
        async move {
            let plan = plans(index);
            let response = client.ask(&Question::planned(index, &plan)).send().await.unwrap();
            if response.status() != 200 {
                return (index, Err(response.status().as_u16()));
            }
            (index, Ok(read(response.bytes_stream(), plan.consumer).await))
        }
    };
    Load { calls, concurrency: 40 }.run(call, |ended| received.push(ended.unwrap())).await;
    drop(client);
    let ledger = server.ledger().clone();
    assert!(server.stop(Duration::from_secs(20)), "some response never ended");
    let seen = |(index, received)| Seen { index, plan: plans(index), received, record: ledger.of(index).unwrap() };
    received.into_iter().map(seen).collect()
}

fn body(received: &Received<reqwest::Error>) -> Vec<u8> {
    received.reads.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect()
}

fn bytes_of(steps: &[Step]) -> Vec<u8> {
    steps.iter().flat_map(|step| step.bytes.to_vec()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_get_the_planned_bytes_and_the_ledger_has_every_write() {
    let calls = drive(|index| Plan::nth(SEED, index), CALLS).await;
    assert_eq!(calls.len(), usize::try_from(CALLS).unwrap());
    for seen in &calls {
        sees_what_was_planned(seen);
        stamps_are_in_order(seen);
        nothing_arrives_before_it_left(seen);
    }
}

fn sees_what_was_planned(seen: &Seen) {
    let Seen { index, plan, .. } = seen;
    let received = match (&seen.received, plan.ending) {
        (Err(status), Ending::Refused(planned)) => return assert_eq!(*status, planned),
        (received, _) => received.as_ref().expect("a stream"),
    };
    let (steps, close) = seen.steps();
    let body = body(received);
    assert!(bytes_of(&steps).starts_with(&body), "call {index} got something else");
    assert_eq!(received.broken.is_some(), close == Close::Broken, "call {index}");
    if close == Close::Never {
        return; // Its client left in the middle; what it got is a prefix.
    }
    assert_eq!(body, bytes_of(&steps), "call {index} got less");

    let transcript = Transcript::of(&body);
    let count = |piece| plan.pieces().filter(|other| *other == piece).count();
    assert_eq!(transcript.tokens(), usize::try_from(plan.output_tokens()).unwrap());
    assert_eq!(transcript.comments, count(Piece::Comment));
    assert_eq!(transcript.role_frames, count(Piece::Role));
    assert_eq!(transcript.error.is_some(), plan.ending == Ending::ErrorFrame);
    assert_eq!(transcript.done, matches!(plan.ending, Ending::Complete(_)));
    assert_eq!(!transcript.rest.is_empty(), plan.ending == Ending::Cut);
    let (Ending::Complete(finish) | Ending::Unmarked(finish)) = plan.ending else {
        assert_eq!((transcript.finish, transcript.usage), (None, None));
        return;
    };
    let word = match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
    };
    assert_eq!(transcript.finish.as_deref(), Some(word));
    let usage = transcript.usage.expect("usage was asked for");
    assert_eq!(usage["completion_tokens"], plan.output_tokens());
    assert_eq!(usage["prompt_tokens"], plan.prompt_tokens);
    assert_eq!(usage["total_tokens"], plan.prompt_tokens + plan.output_tokens());
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], plan.cached_tokens);
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], plan.reasoning_tokens());
    if finish == Finish::ToolCalls {
        assert_eq!(transcript.tool_names, ["look_up"]);
        serde_json::from_str::<serde_json::Value>(&transcript.arguments).expect("whole arguments");
    }
}

/// Stamps never run backwards, and none is earlier than the plan allows.
fn stamps_are_in_order(seen: &Seen) {
    let Seen { index, plan, record, .. } = seen;
    let head = record.head.expect("a head");
    let mut earliest = record.received + plan.queue;
    assert!(head >= earliest, "call {index}: head too early");
    assert!(record.released.is_some(), "call {index} is still held");
    if matches!(plan.ending, Ending::Refused(_)) {
        return assert_eq!(record.writes.len(), 0);
    }
    let (steps, close) = seen.steps();
    assert!(record.writes.len() <= steps.len());
    assert!(close == Close::Never || record.writes.len() == steps.len(), "call {index}: a write is missing");
    let mut last = head;
    for (write, step) in record.writes.iter().zip(&steps) {
        earliest += step.after;
        assert!(write.at >= earliest && write.at >= last, "call {index}: stamp too early");
        assert_eq!(write.content, step.content);
        last = write.at;
    }
}

/// Each byte is read at or after the time that the ledger has for the write that carried it.
fn nothing_arrives_before_it_left(seen: &Seen) {
    let Ok(received) = &seen.received else { return };
    for (write, arrival) in arrivals(seen, received) {
        assert!(arrival >= write, "call {} read bytes that had not left", seen.index);
    }
}

/// For each write that was read whole: its stamp, and that of the read that brought its last byte.
fn arrivals(seen: &Seen, received: &Received<reqwest::Error>) -> Vec<(Instant, Instant)> {
    let (steps, _) = seen.steps();
    let mut reads = received.reads.iter();
    let (mut sent, mut got) = (0, 0);
    let mut last_read = None;
    let mut pairs = Vec::new();
    for (write, step) in seen.record.writes.iter().zip(&steps) {
        sent += step.bytes.len();
        while got < sent {
            let Some((at, bytes)) = reads.next() else { return pairs };
            got += bytes.len();
            last_read = Some(*at);
        }
        pairs.extend(last_read.map(|at| (write.at, at)));
    }
    pairs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arrivals_lie_between_their_own_write_and_the_next() {
    let calls = drive(|_| Plan::steady(Duration::from_millis(50), 20), 8).await;
    let (mut inside, mut all) = (0, 0);
    for seen in &calls {
        let received = seen.received.as_ref().expect("a stream");
        let pairs = arrivals(seen, received);
        assert_eq!(pairs.len(), 21, "20 tokens and the end");
        for pair in pairs.windows(2) {
            let ((_, arrival), (next_write, _)) = (pair[0], pair[1]);
            all += 1;
            inside += usize::from(arrival < next_write);
        }
    }
    assert!(inside * 100 >= all * 95, "{inside} of {all} arrivals lie before the next write");
}
