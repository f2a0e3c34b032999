//! A gateway of axum that measures both its sides: the calls that it answers and those that it makes of a server behind.
//!
//! `cargo run --example gateway`. Two layers do it, and no handler knows of them: `Measure::server` around the router,
//! `Measure` around the client. Clients who know nothing of llmperf ask in all dialects; some leave early, some answers
//! break. What passes is held against what the server wrote, and what was measured against what it did: the example fails
//! if a byte differs, a call is counted twice, or a trace is torn.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its reader")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod server;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod terminal;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::uri::{Scheme, Uri};
use axum::http::{HeaderName, Response, StatusCode, header};
use axum::serve::ListenerExt as _;
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use llmperf::http::{Measure, MeasuredBody, MeasuredClient, RequestBody};
use llmperf::opentelemetry::trace::{Span as _, SpanId, SpanKind, TraceId, Tracer, TracerProvider as _};
use llmperf::testing::Probe;
use llmperf::{Instrumentation, Outcome, Side};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower::{Layer as _, ServiceExt as _};

use load::{Calls, Comparison, Load, Pair, read};
use server::{Asked, Consumer, Dialect, Ending, PLAN_HEADER, Plan, Script, Server};
use terminal::{Table, duration, say, seconds};

type Error = Box<dyn std::error::Error + Send + Sync>;
/// A client whose calls are measured.
type Client = MeasuredClient<legacy::Client<HttpConnector, RequestBody<Body>>>;

const SEED: u64 = 23;
const LOAD: Load = Load { calls: 90, concurrency: 30 };
/// How long the gateway may take to end after the last call.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// Headers that belong to one connection.
const HOP_BY_HOP: [HeaderName; 6] =
    [header::CONNECTION, header::HOST, header::TE, header::TRAILER, header::TRANSFER_ENCODING, header::UPGRADE];

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::start(|index| plan(index).1)?;
    let (spans, calls) = (Probe::new(), Calls::default());
    let instrumentation =
        Instrumentation::builder().tracer_provider(spans.tracer_provider()).observer(Arc::new(calls.clone())).build();

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let gateway = format!("http://{}", listener.local_addr()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = axum::serve(
        // Small frames shall not wait for each other.
        listener.tap_io(|stream| _ = stream.set_nodelay(true)),
        router(server.address(), &instrumentation),
    );
    let serving = tokio::spawn(serving.with_graceful_shutdown(async { _ = stopped.await }).into_future());

    say!("{} calls, {} at a time, to {gateway}, which asks {}\n", LOAD.calls, LOAD.concurrency, server.url("/"));
    let answers = drive(&gateway, &spans).await?;
    drop(stop);
    tokio::time::timeout(STOP_LIMIT, serving).await???;

    say!("One call, as its trace\n\n{}", trace(&spans, &answers));
    say!("{}", instrumentation.snapshot());
    print_injected(&answers, &calls, &server);
    check(&answers, &calls, &spans)
}

/// What the server does with call number `index`, and the dialect that it is asked in.
fn plan(index: u64) -> (Dialect, Plan) {
    let plan = Plan::nth(SEED, index);
    let nth = usize::try_from(index).unwrap_or_default();
    let dialect = match plan.consumer {
        // These clients count events by their lines.
        Consumer::Leaves { .. } => Dialect::OpenAiChat,
        Consumer::Prompt | Consumer::Slow { .. } => Dialect::ALL[nth % Dialect::ALL.len()],
    };
    (dialect, plan)
}

// ---- the gateway ----

/// Passes everything on to the server behind, and measures what is a call.
fn router(behind: SocketAddr, instrumentation: &Instrumentation) -> Router {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = legacy::Client::builder(TokioExecutor::new()).build(connector);

    let measure = Measure::new().instrumentation(instrumentation).provider("behind").inject_trace_context(true);
    let client: Client = measure.layer(client);
    let answers: Measure = Measure::new().instrumentation(instrumentation).provider("gateway");
    Router::new().fallback(move |request| forward(client.clone(), behind, request)).layer(answers.server())
}

async fn forward(
    client: Client,
    behind: SocketAddr,
    mut request: Request,
) -> Result<Response<MeasuredBody<Incoming>>, StatusCode> {
    let mut to = std::mem::take(request.uri_mut()).into_parts();
    to.scheme = Some(Scheme::HTTP);
    to.authority = behind.to_string().parse().ok();
    *request.uri_mut() = Uri::from_parts(to).map_err(|_| StatusCode::BAD_REQUEST)?;
    HOP_BY_HOP.iter().for_each(|name| _ = request.headers_mut().remove(name));

    let mut response = client.oneshot(request).await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    HOP_BY_HOP.iter().for_each(|name| _ = response.headers_mut().remove(name));
    Ok(response)
}

// ---- its clients ----

/// What a client got, and the span that it asked in.
struct Answer {
    index: u64,
    trace: TraceId,
    span: SpanId,
    status: u16,
    body: Vec<u8>,
}

/// All calls; then something that is none.
async fn drive(gateway: &str, spans: &Probe) -> Result<Vec<Answer>, Error> {
    let http = load::Client::new(gateway, None)?.http().clone();
    let mut answers = Vec::new();
    let call = |index| ask(http.clone(), gateway.to_owned(), spans.tracer_provider().tracer("application"), index);
    LOAD.run(call, |ended| answers.push(ended)).await;
    http.get(format!("{gateway}/v1/models")).send().await?.error_for_status()?;
    answers.into_iter().map(|ended| Ok(ended??)).collect()
}

/// A client of the gateway: it sends the context of its trace along, and measures nothing.
async fn ask(
    http: reqwest::Client,
    gateway: String,
    tracer: impl Tracer<Span: Send>,
    index: u64,
) -> Result<Answer, reqwest::Error> {
    let (dialect, plan) = plan(index);
    let span = tracer.start("answer a question");
    let context = span.span_context().clone();
    let request = http
        .post(format!("{gateway}{}", dialect.path(plan.model, true)))
        .header("traceparent", format!("00-{}-{}-01", context.trace_id(), context.span_id()))
        .header(PLAN_HEADER, index)
        .json(&dialect.question(plan.model, "Which way to the harbour?", true));
    let response = request.send().await?;
    let status = response.status().as_u16();
    let received = read(response.bytes_stream(), plan.consumer).await;
    let body = received.reads.into_iter().flat_map(|(_, bytes)| bytes).collect();
    Ok(Answer { index, trace: context.trace_id(), span: context.span_id(), status, body })
}

// ---- what was found ----

/// The spans of the first call that ended well, each inside the one before it.
fn trace(spans: &Probe, answers: &[Answer]) -> String {
    let well = |answer: &&Answer| plan(answer.index).1.outcome() == Outcome::Complete;
    let Some(answer) = answers.iter().find(well) else { return String::new() };
    let mut spans = spans.spans();
    spans.retain(|span| span.span_context.trace_id() == answer.trace);
    spans.sort_by_key(|span| span.start_time);
    let mut table = Table::new(["span", "kind", "took"]);
    for (depth, span) in spans.iter().enumerate() {
        let took = span.end_time.duration_since(span.start_time).unwrap_or_default();
        let name = format!("{:depth$}{}", "", span.name, depth = 2 * depth);
        table = table.row([name, format!("{:?}", span.span_kind), duration(took)]);
    }
    table.to_string()
}

/// What the server did beside what each side of the gateway measured.
fn print_injected(answers: &[Answer], calls: &Calls, server: &Server) {
    let pair = |answer: &Answer, side| {
        let timing = calls.of(answer.trace, side).pop()?;
        Pair::of(plan(answer.index).1, answer.index, server.ledger(), timing)
    };
    let marks_of = |side| Comparison::of(&answers.iter().filter_map(|answer| pair(answer, side)).collect::<Vec<_>>());
    let mut marks = Table::new(["medians", "calls", "injected", "asking", "answering", "difference"]);
    let cell = |time: Option<f64>| time.map_or("-".into(), seconds);
    for (asking, answering) in marks_of(Side::Client).iter().zip(&marks_of(Side::Server)) {
        let times = [asking.injected(), asking.measured(), answering.measured(), answering.difference()].map(cell);
        marks = marks.row([asking.mark.to_owned(), asking.calls().to_string()].into_iter().chain(times));
    }
    say!("{marks}");
    say!("Asking is the gateway's client, answering its server; the difference is from injected to answering.\n");
}

/// What must hold of every call.
fn check(answers: &[Answer], calls: &Calls, spans: &Probe) -> Result<(), Error> {
    let spans = spans.spans();
    let is_one_trace = |answer: &Answer| {
        let in_trace = spans.iter().filter(|span| span.span_context.trace_id() == answer.trace);
        let of = |kind| in_trace.clone().find(|span| span.span_kind == kind);
        in_trace.clone().count() == 3
            && of(SpanKind::Server).zip(of(SpanKind::Client)).is_some_and(|(answering, asking)| {
                let parents = [answering.parent_span_id, asking.parent_span_id];
                parents == [answer.span, answering.span_context.span_id()]
            })
    };
    let ended_as_planned = |answer: &Answer, side| {
        let (dialect, plan) = plan(answer.index);
        let timings = calls.of(answer.trace, side);
        matches!(timings.as_slice(), [timing] if timing.outcome == Some(dialect.outcome(&plan)))
    };
    let count = |holds: &dyn Fn(&Answer) -> bool| answers.iter().filter(|answer| holds(answer)).count();
    let all = usize::try_from(LOAD.calls)?;
    let checks = [
        ("bodies are what the server wrote, byte for byte", count(&is_as_written), all),
        ("application, gateway and what it asks are one trace", count(&is_one_trace), all),
        ("one call was answered, and ended as planned", count(&|answer| ended_as_planned(answer, Side::Server)), all),
        ("one call was made, and ended as planned", count(&|answer| ended_as_planned(answer, Side::Client)), all),
        ("calls counted in all", calls.all().len(), 2 * all),
    ];
    let mut table = Table::new(["what must hold", "calls", "of"]);
    for (what, held, of) in checks {
        table = table.row([what.to_owned(), held.to_string(), of.to_string()]);
    }
    say!("{table}");
    let failed = checks.into_iter().find(|(_, held, of)| held != of);
    failed.map_or(Ok(()), |(what, held, of)| Err(format!("{what}: {held} of {of}").into()))
}

/// Whether the client got what the server wrote: all of it, or the beginning if somebody left.
fn is_as_written(answer: &Answer) -> bool {
    let (dialect, plan) = plan(answer.index);
    let (ending, asked) =
        (plan.ending, Asked { dialect, index: answer.index, model: plan.model.into(), include_usage: true });
    let written: Vec<u8> = Script::new(plan, asked).flat_map(|step| step.bytes).collect();
    match ending {
        Ending::Refused(status) => answer.status == status,
        Ending::Cut | Ending::Silent => !answer.body.is_empty() && written.starts_with(&answer.body),
        Ending::Complete(_) | Ending::Unmarked(_) | Ending::ErrorFrame => answer.body == written,
    }
}
