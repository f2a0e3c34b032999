//! The body of a request reaches the server as it was, whatever was read of it.

use std::{
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Mutex,
    task::{Context, Waker},
};

use bytes::{Buf, Bytes, BytesMut};
use futures::FutureExt as _;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use llmperf_core::testing::Probe;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::{
    bodies::{Step, Steps},
    wire::{CHAT, STREAM, answer, attribute, measure},
};

const URL: &str = "http://api.openai.com/v1/chat/completions";

/// All that a body says and gives until it ends, fails twice, or has nothing more.
fn all<B: Body<Data = Bytes, Error: ToString>>(body: B) -> Vec<String> {
    let (mut body, mut said, mut cx) = (pin!(body), Vec::new(), Context::from_waker(Waker::noop()));
    for _ in 0..40 {
        let before = format!("{:?} {}", body.size_hint(), body.is_end_stream());
        let frame = match body.as_mut().poll_frame(&mut cx) {
            std::task::Poll::Ready(None) => "end".to_owned(),
            std::task::Poll::Ready(Some(Err(error))) => error.to_string(),
            std::task::Poll::Ready(Some(Ok(frame))) => format!("{frame:?}"),
            std::task::Poll::Pending => continue, // what was read ahead has had its pauses
        };
        let over = frame == "end";
        said.push(format!("{before} {frame}"));
        if over {
            break;
        }
    }
    said
}

#[tokio::test]
async fn frames_hints_trailers_errors_and_the_end_are_as_they_were() {
    let mut rng = StdRng::seed_from_u64(6);
    for round in 0..500 {
        let mut steps = Vec::new();
        let mut rest = CHAT.as_bytes();
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(rng.random_range(1..=rest.len()));
            if rng.random_ratio(1, 6) {
                steps.push(Step::Pause);
            }
            steps.push(Step::Data(Bytes::copy_from_slice(part)));
            rest = behind;
        }
        match rng.random_range(0..3) {
            0 => steps.push(Step::Fail),
            1 => {
                let trailers = [(http::header::ETAG, HeaderValue::from_static("t"))];
                steps.push(Step::Trailers(HeaderMap::from_iter(trailers)));
            }
            _ => {}
        }
        let mut body = Steps::new(steps);
        (body.tells_end, body.tells_size) = (rng.random(), rng.random());
        let limit = if rng.random_ratio(1, 4) { rng.random_range(0..60) } else { 1 << 20 };
        let got = Mutex::new(Vec::new());
        let service = service_fn(|request: Request<llmperf_http::RequestBody<Steps>>| {
            *got.lock().unwrap() = all(request.into_body());
            async { Ok::<Response<Steps>, std::io::Error>(answer("text/event-stream", Steps::of(STREAM))) }
        });
        let probe = Probe::new();
        let request = Request::post(URL).body(body.clone()).unwrap();
        drop(measure(&probe).limit(limit).layer(service).oneshot(request).await.unwrap());
        assert_eq!(*got.lock().unwrap(), all(body), "round {round}");
    }
}

async fn asked<B: Body<Error: ToString> + 'static>(limit: usize, body: B) -> String {
    let probe = Probe::new();
    let service = service_fn(|_: Request<llmperf_http::RequestBody<B>>| async {
        Ok::<Response<Steps>, std::io::Error>(answer("text/event-stream", Steps::of(STREAM)))
    });
    drop(measure(&probe).limit(limit).layer(service).oneshot(Request::post(URL).body(body).unwrap()).await.unwrap());
    attribute(&probe.span(), "gen_ai.request.model").unwrap_or_default()
}

#[tokio::test]
async fn the_model_is_read_from_what_is_at_hand_within_the_limit_and_nothing_is_waited_for() {
    let (head, tail) = CHAT.split_at(30);
    assert_eq!(asked(1 << 20, Steps::of([CHAT])).await, "gpt-4o-mini");
    assert_eq!(asked(1 << 20, Steps::of([head, tail])).await, "gpt-4o-mini");
    assert_eq!(asked(CHAT.len(), Steps::of([head, tail])).await, "gpt-4o-mini");
    assert_eq!(asked(CHAT.len() - 1, Steps::of([head, tail])).await, "");
    assert_eq!(asked(0, Steps::of([CHAT])).await, "");
    let slow = [Step::Data(head.into()), Step::Hang, Step::Data(tail.into())];
    assert_eq!(asked(1 << 20, Steps::new(slow)).await, "");
}

#[tokio::test]
async fn a_body_that_panics_does_so_where_it_is_sent_behind_what_it_gave() {
    for server in [false, true] {
        let sent = Mutex::new(None);
        let service = service_fn(|request: Request<llmperf_http::RequestBody<Steps>>| async {
            let mut body = request.into_body();
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            let panicked = AssertUnwindSafe(body.frame()).catch_unwind().await.is_err();
            *sent.lock().unwrap() = Some((first, panicked));
            Ok::<Response<Steps>, std::io::Error>(answer("text/event-stream", Steps::of(STREAM)))
        });
        let probe = Probe::new();
        let request = Request::post(URL).body(Steps::new([Step::Data("{".into()), Step::Panic])).unwrap();
        if server {
            drop(measure(&probe).server().layer(service).oneshot(request).await.unwrap());
        } else {
            drop(measure(&probe).layer(service).oneshot(request).await.unwrap());
        }
        assert_eq!(*sent.lock().unwrap(), Some(("{".into(), true)));
        assert_eq!(attribute(&probe.span(), "llmperf.outcome").as_deref(), Some("cancelled"));
    }
}

/// A body whose data lie in two pieces.
struct Pieces(Option<bytes::buf::Chain<Bytes, BytesMut>>);

impl Body for Pieces {
    type Data = bytes::buf::Chain<Bytes, BytesMut>;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> std::task::Poll<Option<std::io::Result<Frame<Self::Data>>>> {
        std::task::Poll::Ready(self.0.take().map(|data| Ok(Frame::data(data))))
    }
}

#[tokio::test]
async fn data_in_pieces_are_read_without_being_taken() {
    let (head, tail) = CHAT.as_bytes().split_at(30);
    let pieces = || Pieces(Some(Bytes::copy_from_slice(head).chain(BytesMut::from(tail))));
    assert_eq!(asked(1 << 20, pieces()).await, "gpt-4o-mini");
}

#[tokio::test]
async fn the_path_names_the_model_where_the_body_may_not_be_read() {
    let probe = Probe::new();
    let service = service_fn(|_: Request<_>| async {
        Ok::<Response<Steps>, std::io::Error>(answer("text/event-stream", Steps::of(STREAM)))
    });
    let url = "https://desk.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=1";
    let request = Request::post(url).body(Steps::of([CHAT])).unwrap();
    drop(measure(&probe).limit(0).layer(service).oneshot(request).await.unwrap());
    let span = probe.span();
    assert_eq!(span.name, "chat gpt-4o");
    assert_eq!(attribute(&span, "gen_ai.provider.name").as_deref(), Some("azure.ai.openai"));
    assert_eq!(attribute(&span, "server.port").as_deref(), Some("443"));
}

#[test]
fn a_request_that_is_no_call_costs_no_allocation() {
    let probe = Probe::new();
    let service = service_fn(|request: Request<llmperf_http::RequestBody<Steps>>| {
        std::future::ready(Ok::<_, std::io::Error>(Response::new(request.into_body())))
    });
    let mut service = measure(&probe).ignore("/v1/rerank").host("10.0.0.7", "vllm").layer(service);
    let mut cx = Context::from_waker(Waker::noop());
    let requests: Vec<_> = ["/", "/v1/rerank", "/v1/files"]
        .into_iter()
        .flat_map(|path| {
            [Request::get(path), Request::post(path)].map(|builder| builder.body(Steps::default()).unwrap())
        })
        .collect();
    let allocations = allocation_counter::measure(|| {
        for request in requests {
            let response = pin!(tower::Service::call(&mut service, request)).poll(&mut cx);
            let std::task::Poll::Ready(Ok(response)) = response else { panic!("it was ready") };
            assert!(pin!(response.into_body()).poll_frame(&mut cx).is_ready());
        }
    });
    assert_eq!(allocations.count_total, 0);
}
