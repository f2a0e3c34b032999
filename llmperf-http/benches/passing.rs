//! What the layer adds: to traffic that is none of its business, against a round trip over loopback in the same run, and to
//! each frame of a stream, against what decoding alone costs.
//!
//! `cargo bench -p llmperf-http` prints the ratios; contestants take turns in short batches.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and stops where its set-up fails")]

#[allow(dead_code, reason = "the races of other benches need more of it")]
#[path = "../../benches/overhead/ratio.rs"]
mod ratio;

use std::{
    cell::RefCell,
    convert::Infallible,
    future::{Future as _, Ready, ready},
    hint::black_box,
    net::SocketAddr,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use criterion::Criterion;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use llmperf_core::Instrumentation;
use llmperf_http::{Measure, MeasuredBody, MeasuredClient};
use llmperf_wire::{Decoder, Dialect};
use opentelemetry_sdk::{metrics::SdkMeterProvider, trace::SdkTracerProvider};
use ratio::{Bar, Contestant, Race};
use tokio::{net::TcpListener, runtime::Runtime};
use tower::{Layer as _, Service};

/// A chunk as OpenAI sends it.
const CHUNK: &[u8] = concat!(
    r#"data: {"id":"chatcmpl-B9xKq2vT0yLm4RzWcN7dUeHsPf3Ga","object":"chat.completion.chunk","created":1764547200,"#,
    r#""model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_44add5dbca","#,
    r#""choices":[{"index":0,"delta":{"content":" traveller"},"logprobs":null,"finish_reason":null}],"usage":null}"#,
    "\n\n"
)
.as_bytes();

const REQUEST: &str = r#"{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"Hello"}]}"#;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .configure_from_args();
    other_traffic(&mut criterion);
    frames(&mut criterion);
    criterion.final_summary();
}

/// Calls that go through an SDK which keeps nothing.
fn installed() -> Instrumentation {
    let tracers = SdkTracerProvider::builder().build();
    Instrumentation::builder().tracer_provider(&tracers).meter_provider(SdkMeterProvider::builder().build()).build()
}

/// Answers at once.
#[derive(Clone)]
struct AtOnce;

impl<B> Service<Request<B>> for AtOnce {
    type Response = Response<B>;
    type Error = Infallible;
    type Future = Ready<Result<Response<B>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(Response::new(request.into_body())))
    }
}

/// One request through a service that answers at once, its body read to the end.
fn through<R>(service: &mut impl Service<Request<Full<Bytes>>, Response = Response<R>, Error = Infallible>)
where
    R: Body<Data = Bytes>,
{
    let mut cx = Context::from_waker(Waker::noop());
    let request = Request::post("/v1/orders").body(Full::<Bytes>::from("{}")).unwrap();
    if let Poll::Ready(Ok(response)) = pin!(service.call(black_box(request))).poll(&mut cx) {
        let mut body = pin!(response.into_body());
        while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
            let _ = black_box(frame.is_ok());
        }
    }
}

async fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("{}"))) });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
    address
}

/// A request that is no call: the layer alone, as a share of a round trip.
fn other_traffic(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let address = runtime.block_on(serve());
    let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let uri = format!("http://{address}/v1/orders");
    let round_trip = |times| {
        runtime.block_on(async {
            for _ in 0..times {
                let request = Request::post(&uri).body(Full::from("{}")).unwrap();
                black_box(client.request(request).await.unwrap().into_body().collect().await.unwrap());
            }
        });
    };
    let mut bare = AtOnce;
    let measure: Measure = Measure::new().instrumentation(&installed());
    let mut measured: MeasuredClient<AtOnce> = measure.layer(AtOnce);
    Race::new(
        "a request that is no call",
        [
            Contestant::new("a service that answers at once", |times| (0..times).for_each(|_| through(&mut bare))),
            Contestant::new("the same within the layer", |times| (0..times).for_each(|_| through(&mut measured))),
            Contestant::new("a round trip over loopback", round_trip),
        ],
    )
    .ratio("the layer alone, in percent of a round trip", Bar::AtMost(1.0), |[bare, measured, round_trip]| {
        (measured - bare) / round_trip * 100.0
    })
    .run(criterion);
}

/// A stream without end.
struct Endless(Bytes);

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(self.0.clone()))))
    }
}

/// Answers with a stream without end.
#[derive(Clone)]
struct Streams;

impl<B> Service<Request<B>> for Streams {
    type Response = Response<Endless>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Endless>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let response = Response::builder().header("content-type", "text/event-stream");
        ready(Ok(response.body(Endless(Bytes::from_static(CHUNK))).unwrap()))
    }
}

fn stream(instrumentation: &Instrumentation) -> MeasuredBody<Endless> {
    let mut service: MeasuredClient<Streams> = Measure::new().instrumentation(instrumentation).layer(Streams);
    let request =
        Request::post("https://api.openai.com/v1/chat/completions").body(Full::<Bytes>::from(REQUEST)).unwrap();
    match pin!(service.call(request)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(response)) => response.into_body(),
        _ => unreachable!("it answers at once"),
    }
}

fn poll<B: Body + Unpin>(body: &mut B, times: u64) {
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..times {
        let _ = black_box(Pin::new(&mut *body).poll_frame(&mut cx).is_ready());
    }
}

/// A frame of a stream: what is added beside the decoding.
fn frames(criterion: &mut Criterion) {
    let body = RefCell::new(Endless(Bytes::from_static(CHUNK)));
    let with_sdk = RefCell::new(stream(&installed()));
    let without = RefCell::new(stream(&Instrumentation::builder().build()));
    let mut decoder = Decoder::new(Dialect::OpenAiChat);
    Race::new(
        "a frame of a stream",
        [
            Contestant::new("the bare body", |times| poll(&mut *body.borrow_mut(), times)),
            Contestant::new("decoding alone", |times| {
                for _ in 0..times {
                    decoder.push(black_box(CHUNK), |event| {
                        black_box(&event);
                    });
                }
            }),
            Contestant::new("measured, nothing installed", |times| poll(&mut *without.borrow_mut(), times)),
            Contestant::new("measured, SDK installed", |times| poll(&mut *with_sdk.borrow_mut(), times)),
        ],
    )
    .ratio("added beside decoding, nothing installed / decoding", Bar::None, |[bare, decoding, without, _]| {
        (without - bare - decoding) / decoding
    })
    .ratio("added beside decoding, SDK installed / decoding", Bar::None, |[bare, decoding, _, with]| {
        (with - bare - decoding) / decoding
    })
    .run(criterion);
}
