//! The load: planned calls to the local server, each inside a span of the application, with spans of its own inside.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use llmperf::{Dialect, Instrumentation, OpenWire as _, Outcome, Price, Prices, Timing};
use tokio::runtime;
use tracing::instrument::WithSubscriber as _;
use tracing::{Instrument as _, info_span};

use crate::load::{Client, Load, Question, read};
use crate::server::{self, Plan, Server};

pub(crate) const PROVIDER: &str = "local";
pub(crate) const HOST: &str = "127.0.0.1";
/// USD per million tokens of input and output, of the one model that has a price.
pub(crate) const PRICE: (f64, f64) = (0.15, 0.60);

/// A call as it was planned and as it was measured.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) index: u64,
    pub(crate) plan: Plan,
    pub(crate) port: u16,
    pub(crate) timing: Timing,
}

/// The price table of the load.
pub(crate) fn prices() -> Prices {
    Prices::new().model(PROVIDER, server::SWIFT, Price::new(PRICE.0, PRICE.1))
}

/// Runs the plans of `seed` on a server of its own, and gives the calls in the order of their plans.
///
/// Spans of the application go to the subscriber that is current here.
pub(crate) fn drive(seed: u64, load: Load, instrumentation: &Instrumentation) -> Vec<Called> {
    let server = Server::start(move |index| Plan::nth(seed, index)).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    let port = server.address().port();
    let mut calls = Vec::new();
    let call = |index| {
        let plan = Plan::nth(seed, index);
        let ask = ask(instrumentation.clone(), client.clone(), port, index, plan);
        // The layer writes an unsigned number as text.
        ask.instrument(info_span!("ask", plan = index.cast_signed())).with_current_subscriber()
    };
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(load.run(call, |called| calls.push(called.unwrap())));
    drop(client);
    assert!(server.stop(Duration::from_secs(20)), "some response never ended");
    calls.sort_by_key(|called| called.index);
    calls
}

/// One call, as an application makes it; its HTTP client has a span for the request and one for the first read.
async fn ask(instrumentation: Instrumentation, client: Client, port: u16, index: u64, plan: Plan) -> Called {
    let question = Question::planned(index, &plan);
    let request = async {
        let response = client.ask(&question).send().instrument(info_span!("POST")).await?;
        if let Some(call) = llmperf::current_call() {
            call.status(response.status().as_u16());
        }
        let reads = response
            .bytes_stream()
            .enumerate()
            .map(|(read, bytes)| if read == 0 { info_span!("first read").in_scope(|| bytes) } else { bytes });
        Ok::<_, reqwest::Error>(reads)
    };
    let call = instrumentation.chat(PROVIDER, plan.model).server(HOST, port).attribute("app.tier", "gold");
    let mut body = call.open_wire(request, Dialect::OpenAiChat).await.expect("a response");
    read(&mut body, plan.consumer).await;
    Called { index, plan, port, timing: body.into_timing() }
}

impl Called {
    /// The outcome that the plan leads to.
    pub(crate) fn planned_outcome(&self) -> Outcome {
        match self.plan.outcome() {
            server::Outcome::Complete => Outcome::Complete,
            server::Outcome::Error => Outcome::Error,
            server::Outcome::Interrupted => Outcome::Interrupted,
            server::Outcome::Cancelled => Outcome::Cancelled,
        }
    }
}

/// How many calls ended how, by what they returned.
pub(crate) fn outcomes(calls: &[Called]) -> BTreeMap<Outcome, usize> {
    let mut counts = BTreeMap::new();
    for called in calls {
        *counts.entry(called.timing.outcome.expect("an end")).or_default() += 1;
    }
    counts
}
