//! What passes is what was sent: data, trailers, hints, end and errors; and the outcome is right.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt as _, Full};
use llmperf_core::{Outcome, testing::Probe};
use llmperf_http::MeasuredBody;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use tower::{Layer as _, Service as _, ServiceExt as _, service_fn};

use crate::{
    bodies::{Step, Steps},
    wire::{CHAT, STREAM, Server, answer, measure, post, reqwest, tower},
};

/// A body, and what must become of a call whose application gets so much of it.
struct Case {
    content_type: &'static str,
    bytes: Vec<u8>,
    /// From here on the call is decided, by this.
    decided: Option<(usize, Outcome)>,
    /// From here on each choice has its finish reason.
    finished: Option<usize>,
    /// What an end means that comes before.
    at_end: Outcome,
}

impl Case {
    fn random(rng: &mut StdRng) -> Self {
        let mut bytes = Vec::new();
        if rng.random_ratio(1, 8) {
            let noise = (0..rng.random_range(1..600)).map(|_| rng.random());
            // A first byte that begins nothing known: a page for people, compressed bytes.
            bytes = [0xFF].into_iter().chain(noise).collect();
            return Self {
                content_type: "text/plain",
                bytes,
                decided: None,
                finished: None,
                at_end: Outcome::Complete,
            };
        }
        for _ in 0..rng.random_range(0..12) {
            let words: String =
                (0..rng.random_range(0..40)).map(|_| *['a', 'é', '\u{1F980}'].choose(rng).unwrap()).collect();
            let frame = match rng.random_range(0..5) {
                0 => ": keep-alive\n\n".to_owned(),
                1 => format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"reasoning\":\"{words}\"}}}}]}}\n\n"),
                _ => format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n"),
            };
            bytes.extend_from_slice(frame.as_bytes());
        }
        let (mut decided, mut finished) = (None, None);
        let ending = rng.random_range(0..4);
        if ending == 0 {
            bytes.extend_from_slice(b"data: {\"error\":{\"code\":\"overloaded\"}}\n\n");
            decided = Some((bytes.len(), Outcome::Error));
        }
        if ending >= 2 {
            bytes.extend_from_slice(b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
            finished = Some(bytes.len());
        }
        if ending == 3 {
            bytes.extend_from_slice(b"data: [DONE]\n\n");
            decided = Some((bytes.len(), Outcome::Complete));
        }
        if rng.random_ratio(1, 3) {
            bytes.extend_from_slice(b": and what comes behind\n\n");
        }
        Self { content_type: "text/event-stream", bytes, decided, finished, at_end: Outcome::Interrupted }
    }

    fn outcome(&self, passed: usize, at: At) -> Outcome {
        match (self.decided, self.finished) {
            (Some((decided, outcome)), _) if passed >= decided => outcome,
            (_, Some(finished)) if passed >= finished => Outcome::Complete,
            _ => match at {
                At::End => self.at_end,
                At::Failure => Outcome::Interrupted,
                At::Drop => Outcome::Cancelled,
            },
        }
    }
}

/// How it ends for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    End,
    Failure,
    Drop,
}

/// Cuts bytes anywhere, with pauses and empty frames in between.
fn cut(rng: &mut StdRng, mut bytes: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    while !bytes.is_empty() {
        match rng.random_range(0..12) {
            0 => steps.push(Step::Pause),
            1 => steps.push(Step::Data(Bytes::new())),
            _ => {}
        }
        let most = *[1, 20, 200, 5_000].choose(rng).unwrap();
        let (read, rest) = bytes.split_at(rng.random_range(1..=bytes.len().min(most)));
        steps.push(Step::Data(Bytes::copy_from_slice(read)));
        bytes = rest;
    }
    steps
}

/// A body's next frame in words, and what it says of itself.
fn polled<B: Body<Data = Bytes, Error: ToString> + Unpin>(body: &mut B, cx: &mut Context<'_>) -> (String, bool) {
    let polled = Pin::new(&mut *body).poll_frame(cx);
    let frame = match polled {
        Poll::Pending => "pending".to_owned(),
        Poll::Ready(None) => "end".to_owned(),
        Poll::Ready(Some(Err(error))) => error.to_string(),
        Poll::Ready(Some(Ok(frame))) => format!("{frame:?}"),
    };
    let over = frame == "end";
    (format!("{frame} {:?} {}", body.size_hint(), body.is_end_stream()), over)
}

async fn measured(probe: &Probe, case: &Case, body: &Steps) -> MeasuredBody<Steps> {
    let (content_type, body) = (case.content_type, body.clone());
    let service = service_fn(move |_: Request<_>| {
        let response = answer(content_type, body.clone());
        async move { Ok::<Response<Steps>, std::io::Error>(response) }
    });
    let request = post("http://api.openai.com/v1/chat/completions", CHAT);
    measure(probe).layer(service).oneshot(request).await.unwrap().into_body()
}

#[tokio::test]
async fn a_thousand_random_bodies_pass_unchanged_however_they_are_cut_and_their_outcome_is_right() {
    let mut rng = StdRng::seed_from_u64(1);
    let mut cx = Context::from_waker(Waker::noop());
    let mut seen = [0; 12];
    for round in 0..1_000 {
        let case = Case::random(&mut rng);
        let at = *[At::End, At::Failure, At::Drop].choose(&mut rng).unwrap();
        let mut steps = cut(&mut rng, &case.bytes);
        let kept = if at == At::End { steps.len() } else { rng.random_range(0..=steps.len()) };
        steps.truncate(kept);
        let data = |step: &Step| if let Step::Data(data) = step { data.len() } else { 0 };
        let passed: usize = steps.iter().map(data).sum();
        match at {
            At::End if rng.random_bool(0.5) => {
                steps.push(Step::Trailers(HeaderMap::from_iter([(
                    http::header::ETAG,
                    HeaderValue::from_static("\"as it was\""),
                )])));
            }
            At::Failure => steps.push(Step::Fail),
            At::Drop => steps.push(Step::Hang),
            At::End => {}
        }
        let mut body = Steps::new(steps);
        (body.tells_end, body.tells_size) = (rng.random_bool(0.5), rng.random_bool(0.5));

        let probe = Probe::new();
        let mut passing = measured(&probe, &case, &body).await;
        assert!(passing.is_measured());
        assert_eq!(format!("{:?}", passing.size_hint()), format!("{:?}", body.size_hint()));
        for _ in 0..=kept + 1 {
            // As a server does, that knows the end by this and polls no more.
            if body.is_end_stream() {
                break;
            }
            let (sent, over) = polled(&mut body, &mut cx);
            assert_eq!(polled(&mut passing, &mut cx).0, sent, "round {round}");
            if over {
                break;
            }
        }
        drop(passing);
        let outcome = case.outcome(passed, at);
        let said = probe.points("llmperf.client.calls");
        assert_eq!(said.len(), 1, "round {round}");
        assert_eq!(
            said[0].attribute("llmperf.outcome"),
            outcome.as_str(),
            "round {round}, {at:?} at {passed} of {case:?}"
        );
        seen[outcome as usize * 3 + at as usize] += 1;
    }
    // Complete, error and the rest at each sort of end; nothing is cancelled by an end, nor interrupted by a drop.
    let impossible = [Outcome::Interrupted as usize * 3 + At::Drop as usize, Outcome::Cancelled as usize * 3]
        .into_iter()
        .chain([Outcome::Cancelled as usize * 3 + At::Failure as usize]);
    let impossible: Vec<usize> = impossible.collect();
    for (index, count) in seen.into_iter().enumerate() {
        assert_eq!(count == 0, impossible.contains(&index), "{seen:?}");
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {}", String::from_utf8_lossy(&self.bytes), self.bytes.len())
    }
}

#[tokio::test]
async fn random_bodies_pass_unchanged_over_loopback_through_layer_and_middleware() {
    let mut rng = StdRng::seed_from_u64(2);
    let cases: Vec<(Case, Vec<Step>, bool)> = (0..150)
        .map(|_| {
            let case = Case::random(&mut rng);
            let mut steps = cut(&mut rng, &case.bytes);
            let fails = rng.random_ratio(1, 4);
            if fails {
                steps.push(Step::Pause);
                steps.push(Step::Fail);
            }
            (case, steps, fails)
        })
        .collect();
    let replies: Vec<_> = cases.iter().map(|(case, steps, _)| (case.content_type, steps.clone())).collect();
    let server = Server::start(move |asked| {
        let index: usize = asked.uri.query().unwrap().parse().unwrap();
        let (content_type, steps) = &replies[index];
        answer(content_type, Steps::new(steps.clone()))
    })
    .await;
    for (index, (case, _, fails)) in cases.iter().enumerate() {
        let probe = Probe::new();
        let url = server.url(&format!("/v1/chat/completions?{index}"));

        let mut client = tower(measure(&probe));
        let mut body = client.ready().await.unwrap().call(post(&url, CHAT)).await.unwrap().into_body();
        let (mut got, mut failed) = (Vec::new(), false);
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => got.extend_from_slice(&frame.into_data().unwrap()),
                Err(_) => failed = true,
            }
        }
        assert_eq!((&got, failed), (&case.bytes, *fails));

        let client = reqwest(measure(&probe));
        let mut response = client.post(&url).body(CHAT).send().await.unwrap();
        assert_eq!(response.url().as_str(), url);
        assert_eq!(response.remote_addr(), Some(server.address));
        let mut got = Vec::new();
        let failed = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => got.extend_from_slice(&chunk),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        assert_eq!((&got, failed), (&case.bytes, *fails));

        let outcome = case.outcome(case.bytes.len(), if *fails { At::Failure } else { At::End });
        let said = probe.points("llmperf.client.calls");
        assert_eq!(said.iter().map(|point| point.sum).sum::<f64>(), 2.0);
        assert!(said.iter().all(|point| point.attribute("llmperf.outcome") == outcome.as_str()), "{said:?} {case:?}");
    }
    let asked = server.asked();
    assert_eq!(asked.len(), 2 * cases.len());
    assert!(asked.iter().all(|asked| asked.method == http::Method::POST && asked.body == CHAT));
}

#[tokio::test]
async fn trailers_of_http2_pass() {
    let trailers = HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("\"t\""))]);
    let sent = trailers.clone();
    let server = Server::start(move |_| {
        let data = Step::Data("data: [DONE]\n\n".into());
        answer("text/event-stream", Steps::new([data, Step::Trailers(sent.clone())]))
    })
    .await;
    let probe = Probe::new();
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .http2_only(true)
        .build_http::<llmperf_http::RequestBody<Full<Bytes>>>();
    let request = post(&server.url("/v1/chat/completions"), CHAT);
    let body = measure(&probe).layer(client).oneshot(request).await.unwrap().into_body();
    let collected = body.collect().await.unwrap();
    assert_eq!(collected.trailers(), Some(&trailers));
    assert_eq!(collected.to_bytes(), "data: [DONE]\n\n");
    assert_eq!(probe.points("llmperf.client.calls")[0].attribute("llmperf.outcome"), "complete");
}

#[test]
fn bodies_and_futures_are_send_sync_and_unpin_if_what_is_inside_is() {
    fn all<T: Send + Sync + Unpin>() {}
    all::<MeasuredBody<Steps>>();
    all::<llmperf_http::RequestBody<Steps>>();
    all::<llmperf_http::ResponseFuture<std::future::Ready<()>>>();
    all::<llmperf_http::Measure>();
    all::<llmperf_http::MeasureServer>();
}

/// Codes each part so that it can be decoded once it has come.
fn flushed(coding: &str, parts: &[&str]) -> Vec<Bytes> {
    fn each<W: std::io::Write>(mut to: W, parts: &[&str], take: impl Fn(&mut W) -> Vec<u8>) -> Vec<Bytes> {
        let part = |part: &&str| {
            to.write_all(part.as_bytes()).unwrap();
            to.flush().unwrap();
            take(&mut to).into()
        };
        parts.iter().map(part).collect()
    }
    let level = flate2::Compression::default();
    match coding {
        "gzip" => each(flate2::write::GzEncoder::new(Vec::new(), level), parts, |to| std::mem::take(to.get_mut())),
        "deflate" => each(flate2::write::ZlibEncoder::new(Vec::new(), level), parts, |to| std::mem::take(to.get_mut())),
        "br" => each(brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22), parts, |to| std::mem::take(to.get_mut())),
        _ => each(zstd::Encoder::new(Vec::new(), 3).unwrap(), parts, |to| std::mem::take(to.get_mut())),
    }
}

#[tokio::test]
async fn the_marks_of_a_coded_stream_are_those_of_the_frames_that_carried_them() {
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let probe = Probe::new();
        let role = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n";
        let parts = flushed(coding, &[role, STREAM[0], STREAM[1], STREAM[2]]);
        let service = service_fn(|_: Request<_>| {
            let mut response = answer("text/event-stream", Steps::of(parts.clone()));
            response.headers_mut().insert("content-encoding", HeaderValue::from_str(coding).unwrap());
            async { Ok::<Response<Steps>, std::io::Error>(response) }
        });
        let request = post("http://api.openai.com/v1/chat/completions", CHAT);
        let mut body = measure(&probe).layer(service).oneshot(request).await.unwrap().into_body();
        while !body.is_end_stream() {
            probe.clock().advance(Duration::from_millis(100));
            if body.frame().await.is_none() {
                break;
            }
        }
        let timing = body.timing().unwrap();
        let millis = |time: Option<Duration>| time.map(|time| time.as_millis());
        assert_eq!(millis(timing.time_to_first_chunk), Some(100), "{coding}");
        assert_eq!(millis(timing.time_to_first_token), Some(200), "{coding}");
        assert_eq!((millis(timing.longest_gap), timing.duration.as_millis()), (Some(100), 400), "{coding}");
    }
}

#[tokio::test]
async fn a_frame_of_a_stream_costs_no_allocation() {
    let probe = Probe::new();
    let frames = std::iter::once(STREAM[0]).chain(std::iter::repeat_n(STREAM[0], 1_000));
    let case = Case {
        content_type: "text/event-stream",
        bytes: Vec::new(),
        decided: None,
        finished: None,
        at_end: Outcome::Interrupted,
    };
    let mut body = measured(&probe, &case, &Steps::of(frames)).await;
    let mut cx = Context::from_waker(Waker::noop());
    let mut poll = |times| (0..times).all(|_| Pin::new(&mut body).poll_frame(&mut cx).is_ready());
    assert!(poll(100));
    let allocations = allocation_counter::measure(|| assert!(poll(800)));
    assert_eq!(allocations.count_total, 0);
}
