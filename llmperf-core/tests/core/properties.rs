//! Design section 3 over random sequences: a call against a reference that is written from the table alone.
//!
//! The reference knows no ticks, no bits and no latch: it walks over the events once, in whole milliseconds.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use llmperf_core::{Call, Failure, MeasureStream as _, Outcome, Output, Recorder, Sees, testing::Probe};
use proptest::prelude::*;

use crate::script::{Step, attribute, script};

/// One thing that happens to a call.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// The model works for so long: a pending poll.
    Busy(u64),
    /// The consumer works for so long between two polls.
    Consumer(u64),
    Text(&'static str),
    Reasoning(&'static str),
    Nothing,
    Comment,
    Usage(u64, u64),
    Finish,
    Marker,
    Error,
    Reset,
    /// The application says how it ended.
    Verdict(Outcome),
}

/// How the caller leaves: it takes the whole stream, or it drops it behind so many polls.
type Leaves = Option<usize>;

impl Happens {
    fn item(self) -> Option<Output<'static>> {
        Some(match self {
            Self::Busy(_) | Self::Consumer(_) | Self::Verdict(_) => return None,
            Self::Text(text) => Output::text(text),
            Self::Reasoning(text) => Output::reasoning(text),
            Self::Nothing => Output::none(),
            Self::Comment => Output::ignored(),
            Self::Usage(input, output) => Output::usage(input, output),
            Self::Finish => Output::finish("stop"),
            Self::Marker => Output::done(),
            Self::Error => Output::error("overloaded"),
            Self::Reset => Output::failure(Failure::transport("connection_reset")),
        })
    }

    /// The same where nobody can hold up the source: all time is the model's.
    fn unasked(self) -> Self {
        if let Self::Consumer(millis) = self { Self::Busy(millis) } else { self }
    }
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => (0..2_000_u64).prop_map(Happens::Busy),
        2 => (0..2_000_u64).prop_map(Happens::Consumer),
        6 => prop_oneof![Just("a"), Just("some words"), Just("")].prop_map(Happens::Text),
        2 => Just(Happens::Reasoning("hm")),
        1 => Just(Happens::Nothing),
        1 => Just(Happens::Comment),
        2 => (0..500_u64, 0..60_u64).prop_map(|(input, output)| Happens::Usage(input, output)),
        1 => Just(Happens::Finish),
        1 => Just(Happens::Marker),
        1 => Just(Happens::Error),
        1 => Just(Happens::Reset),
    ]
}

/// What the reference says of a call, in milliseconds.
#[derive(Debug, Default)]
struct Reference {
    outcome: Option<Outcome>,
    error_type: Option<&'static str>,
    chunks: u64,
    first_chunk: Option<u64>,
    first: Option<u64>,
    first_answer: Option<u64>,
    last: u64,
    gaps: Vec<u64>,
    wait: u64,
    wait_between_outputs: u64,
    /// How long the consumer has held items since the last output.
    held: u64,
    ended: u64,
    last_read: Option<u64>,
    /// Bytes of each read with output.
    bytes: Vec<u64>,
    input: Option<u64>,
    output: Option<u64>,
    finished: bool,
    head: bool,
}

impl Reference {
    /// What the table of outcomes makes of an end of the stream, `None`, or of a break of its transport.
    fn ends(&mut self, now: u64, sees: Sees, broken: bool) {
        if self.finished {
            // The break is a read itself, the end counts as the last one.
            self.ends_as(Outcome::Complete, None, if broken { now } else { self.last_read.unwrap_or(now) });
        } else if broken && !self.head {
            self.ends_as(Outcome::Error, Some("connection_reset"), now);
        } else if broken || sees != Sees::Nothing {
            self.ends_as(Outcome::Interrupted, Some("stream_interrupted"), now);
        } else {
            self.ends_as(Outcome::Complete, None, now);
        }
    }

    fn ends_as(&mut self, outcome: Outcome, error_type: Option<&'static str>, at: u64) {
        (self.outcome, self.error_type, self.ended) = (Some(outcome), error_type, at);
    }

    fn output(&mut self, now: u64, text: &str, answer: bool, waited: u64) {
        if text.is_empty() {
            return;
        }
        if self.first.is_some() {
            self.gaps.push(now - self.last);
            self.wait_between_outputs += waited;
        }
        self.first.get_or_insert(now);
        if answer {
            self.first_answer.get_or_insert(now);
        }
        self.last = now;
        self.bytes.push(text.len() as u64);
    }

    fn usage(&mut self, input: u64, output: u64) {
        if output == 0 && self.first.is_some() {
            return; // not believed at all
        }
        if input > 0 {
            self.input = Some(input);
        }
        if output > 0 || self.output.is_none() {
            self.output = Some(output);
        }
    }

    fn is_consumer_bound(&self) -> bool {
        self.bytes.len() > 1 && self.wait_between_outputs * 10 > self.last - self.first.unwrap_or(0)
    }

    /// The output tokens that figures are made with: a 0 from before the first output is unknown by then.
    fn tokens(&self) -> Option<u64> {
        self.output.filter(|tokens| *tokens > 0 || self.first.is_none())
    }

    fn per_token(&self) -> Option<f64> {
        let tokens = self.tokens()?;
        let share = tokens * self.bytes.first()? / self.bytes.iter().sum::<u64>();
        let after_first = tokens.checked_sub(share.max(1)).filter(|tokens| *tokens > 0)?;
        let pace = (self.last - self.first?) as f64 / after_first as f64;
        (self.bytes.len() > 1 && !self.is_consumer_bound()).then_some(pace)
    }
}

/// What is given to a call before anything happens.
#[derive(Clone, Copy, Debug)]
struct Given {
    sees: Sees,
    head: bool,
    deadline: Option<u64>,
}

/// Walks over what happens, poll for poll.
fn reference(happens: &[Happens], Given { sees, head, deadline }: Given, leaves: Leaves) -> Reference {
    let mut now = 0;
    let mut polls = 0;
    // The consumer's time since it got an item, as long as no poll has found the model busy meanwhile.
    let (mut handed_out, mut away) = (false, 0);
    let mut waited_since_output = 0;
    let mut call = Reference { head, ..Reference::default() };
    for happens in happens {
        match *happens {
            Happens::Consumer(millis) => {
                now += millis;
                away += millis;
                call.held = waited_since_output + if handed_out { away } else { 0 };
                continue;
            }
            Happens::Verdict(outcome) => {
                let error_type = (outcome == Outcome::Error).then_some("overloaded");
                call.ends_as(outcome, error_type, now);
                return call;
            }
            _ if leaves == Some(polls) => break,
            _ => polls += 1,
        }
        if let Happens::Busy(millis) = *happens {
            now += millis;
            (handed_out, away) = (false, 0);
            call.held = waited_since_output;
            continue;
        }
        if handed_out {
            call.wait += away;
            waited_since_output += away;
        }
        (handed_out, away) = (true, 0);
        call.held = waited_since_output;
        call.last_read = Some(now);
        call.head |= !matches!(happens, Happens::Reset); // nothing else comes before it
        if !matches!(happens, Happens::Comment | Happens::Reset) {
            call.chunks += 1;
            call.first_chunk.get_or_insert(now);
        }
        match *happens {
            Happens::Text(text) => call.output(now, text, true, waited_since_output),
            Happens::Reasoning(text) => call.output(now, text, false, waited_since_output),
            Happens::Usage(input, output) => call.usage(input, output),
            Happens::Finish => call.finished = true,
            Happens::Marker => call.ends_as(Outcome::Complete, None, now),
            Happens::Error => call.ends_as(Outcome::Error, Some("overloaded"), now),
            Happens::Reset => call.ends(now, sees, true),
            _ => {}
        }
        if matches!(happens, Happens::Text(text) | Happens::Reasoning(text) if !text.is_empty()) {
            (waited_since_output, call.held) = (0, 0);
        }
        if call.outcome.is_some() {
            return call;
        }
    }
    if leaves.is_none_or(|leaves| leaves > polls) {
        call.ends(now, sees, false);
    } else if call.finished {
        call.ends_as(Outcome::Complete, None, call.last_read.unwrap_or(now));
    } else if deadline.is_some_and(|deadline| now >= deadline) {
        call.ends_as(Outcome::Error, Some("timeout"), now);
    } else {
        call.ends_as(Outcome::Cancelled, None, now);
    }
    call
}

fn given() -> impl Strategy<Value = Given> {
    let sees = prop_oneof![Just(Sees::Nothing), Just(Sees::Finish), Just(Sees::Marker)];
    (sees, any::<bool>(), prop::option::of(0..6_000_u64)).prop_map(|(sees, head, deadline)| Given {
        sees,
        head,
        deadline,
    })
}

fn call(probe: &Probe, given: Given) -> Call {
    let call = probe.chat("openai", "gpt-4o-mini").sees(given.sees);
    match given.deadline {
        Some(deadline) => call.deadline(Duration::from_millis(deadline)),
        None => call,
    }
}

/// Lets it happen to a measured stream, whose call is armed and has its head if it was given one.
fn stream(probe: &Probe, happens: &[Happens], given: Given, leaves: Leaves) {
    let steps = happens.iter().filter_map(|happens| match happens {
        Happens::Busy(millis) => Some(Step::Busy(*millis)),
        happens => happens.item().map(Step::Item),
    });
    let mut recorder = call(probe, given).start();
    if given.head {
        recorder.on_head();
    }
    let mut reply = script(probe, steps).measure_with(recorder, |output| *output);
    let mut polls = 0;
    for happens in happens {
        match happens {
            Happens::Consumer(millis) => probe.clock().advance(Duration::from_millis(*millis)),
            _ if leaves == Some(polls) => return,
            _ => {
                reply.next().now_or_never();
                polls += 1;
            }
        }
    }
    if leaves.is_none_or(|leaves| leaves > polls) {
        assert!(reply.next().now_or_never().is_some_and(|item| item.is_none()), "the script has ended");
    }
}

/// Lets it happen to a recorder; a pause is a pause.
fn push(probe: &Probe, happens: &[Happens], given: Given) -> Recorder {
    let mut recorder = call(probe, given).start();
    if given.head {
        recorder.on_head();
    }
    for happens in happens {
        match *happens {
            Happens::Busy(millis) | Happens::Consumer(millis) => probe.clock().advance(Duration::from_millis(millis)),
            happens => recorder.on_chunk(happens.item().unwrap()),
        }
    }
    recorder
}

/// Holds the one record of the call to the reference, and to what is always so.
fn hold(probe: &Probe, expected: &Reference) {
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(probe.count("llmperf.client.duration"), 1.0);
    assert_eq!(probe.instrumentation().live_calls(), 0);
    let active: Vec<_> = probe.points("llmperf.client.active_calls").iter().map(|point| point.sum).collect();
    assert!(active.iter().all(|calls| *calls == 0.0), "{active:?}");
    let span = probe.span();

    let text = |key: &str| attribute(&span, key);
    assert_eq!(text("llmperf.outcome").as_deref(), expected.outcome.map(Outcome::as_str));
    assert_eq!(text("error.type").as_deref(), expected.error_type);
    // A recorder that was pushed nothing does not know that it streams.
    let streamed = text("gen_ai.request.stream").is_some();
    assert_eq!(text("llmperf.chunks"), streamed.then(|| expected.chunks.to_string()));
    assert!(streamed || expected.chunks == 0);
    assert_eq!(text("gen_ai.usage.input_tokens"), expected.input.map(|tokens| tokens.to_string()));
    assert_eq!(text("gen_ai.usage.output_tokens"), expected.tokens().map(|tokens| tokens.to_string()));
    assert_eq!(text("llmperf.consumer_bound").is_some(), expected.is_consumer_bound());

    let seconds = |key: &str| text(key).map(|text| text.parse::<f64>().unwrap());
    let is = |key: &str, millis: Option<f64>| {
        let found = seconds(key);
        let close = found.zip(millis).is_some_and(|(found, millis)| (found * 1e3 - millis).abs() < 1e-6);
        assert!(close || (found, millis) == (None, None), "{key}: {found:?} s is not {millis:?} ms");
    };
    let whole = |millis: Option<u64>| millis.map(|millis| millis as f64);
    let incomplete = expected.outcome != Some(Outcome::Complete);
    let open = expected.first.filter(|_| incomplete).map(|_| expected.ended - expected.last - expected.held);
    is("gen_ai.response.time_to_first_chunk", whole(expected.first_chunk));
    is("llmperf.time_to_first_token", whole(expected.first));
    is("llmperf.time_to_first_answer", whole(expected.first_answer));
    is("llmperf.generation_time", whole(expected.first.map(|_| expected.last)));
    is("llmperf.longest_gap", whole(expected.gaps.iter().copied().chain(open).max()));
    is("llmperf.time_per_output_token", expected.per_token());
    is("llmperf.consumer_wait", streamed.then_some(expected.wait as f64));
    let duration = span.end_time.duration_since(span.start_time).unwrap();
    assert_eq!(duration, Duration::from_millis(expected.ended));

    let marks = [
        "gen_ai.response.time_to_first_chunk",
        "llmperf.time_to_first_token",
        "llmperf.time_to_first_answer",
        "llmperf.generation_time",
    ];
    let marks = marks.into_iter().filter_map(seconds).map(Duration::from_secs_f64).chain([duration]);
    assert!(marks.clone().is_sorted(), "{:?}", marks.collect::<Vec<_>>());
    let gaps = probe.points("gen_ai.client.inference.time_per_output_chunk");
    assert_eq!(gaps.iter().map(|point| point.count).sum::<u64>(), expected.gaps.len() as u64);
    assert!(gaps.iter().map(|point| point.sum).sum::<f64>() <= duration.as_secs_f64() + 1e-9);
    for metric in probe.metric_names() {
        for point in probe.points(&metric) {
            assert!(point.sum.is_finite() && point.sum >= 0.0, "{metric}: {}", point.sum);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_is_what_the_table_says_whatever_happens(
        happens in prop::collection::vec(happens(), 0..40),
        given in given(),
        leaves in prop::option::of(0..40_usize),
    ) {
        let probe = Probe::new();
        stream(&probe, &happens, given, leaves);
        hold(&probe, &reference(&happens, given, leaves));
    }

    #[test]
    fn a_recorder_is_what_the_table_says_whatever_happens(
        happens in prop::collection::vec(happens(), 0..40),
        given in given(),
        ending in 0..4_usize,
    ) {
        let probe = Probe::new();
        let mut recorder = push(&probe, &happens, given);
        let mut happens: Vec<_> = happens.into_iter().map(Happens::unasked).collect();
        let leaves = (ending != 0).then_some(happens.len());
        match ending {
            0 => _ = recorder.end(),
            1 => drop(recorder),
            2 => {
                recorder.fail("overloaded");
                happens.push(Happens::Verdict(Outcome::Error));
            }
            _ => {
                recorder.finish();
                happens.push(Happens::Verdict(Outcome::Complete));
            }
        }
        hold(&probe, &reference(&happens, given, leaves));
    }
}
