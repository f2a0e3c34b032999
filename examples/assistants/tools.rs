//! The tools of the travel desk: one is slow, one fails now and then, one tells its failure as a value, one is an agent.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use llmperf::Work as _;
use llmperf::agent::{ToolFailure, ToolOutcome, mcp};
use tokio::time::sleep;

use super::model::Model;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long the weather service thinks.
const SLOW: Duration = Duration::from_millis(60);
/// The place of which nobody knows any prices.
pub(crate) const NOWHERE: &str = "nowhere";
/// The place that is always sold out.
pub(crate) const FULL: &str = "fullham";

/// The tools; clones share the model that one of them asks.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    model: Model,
}

/// What a booking came to. That nothing was free is no error of the tool's: it did what it should, and says so as a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Booking {
    Booked { number: u32 },
    SoldOut,
}

impl ToolOutcome for Booking {
    fn tool_failure(&self) -> Option<ToolFailure> {
        matches!(self, Self::SoldOut).then(|| ToolFailure::code("sold_out"))
    }
}

impl Tools {
    pub(crate) fn new(model: Model) -> Self {
        Self { model }
    }

    /// Slow, and that is all. What it is called with is hashed, so that a loop shows; nothing of it is recorded.
    #[llmperf::tool(kind = "function", arguments = place)]
    pub(crate) async fn weather(&self, place: &str) -> Result<String, Error> {
        sleep(SLOW).await;
        Ok(format!("dry in {place}"))
    }

    /// The first attempt times out, and every attempt for a place that is nowhere does. The error is the standard library's:
    /// that it tells of a timeout is found by itself.
    #[llmperf::tool(kind = "datastore", arguments = place)]
    pub(crate) async fn prices(&self, place: &str, attempt: u32) -> Result<u32, Error> {
        sleep(Duration::from_millis(5)).await;
        if place == NOWHERE || attempt == 1 {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        Ok(90 + place.len() as u32)
    }

    /// Books by a server of the Model Context Protocol: the request is told on the tool's span, the trace goes along.
    #[llmperf::tool(kind = "extension", arguments = (place, nights))]
    pub(crate) async fn book(&self, place: &str, nights: u32) -> Result<Booking, Error> {
        let request = async {
            let mut meta = HashMap::new();
            mcp::inject(|key, value| _ = meta.insert(key.to_owned(), value));
            Ok::<_, Error>(booking_server(place, nights, &meta).await)
        };
        let call = mcp::call_tool("book").transport("pipe").protocol_version("2025-06-18");
        let answer = call.run_judged(request, |answer| answer.is_error).await?;
        Ok(answer.number.map_or(Booking::SoldOut, |number| Booking::Booked { number }))
    }

    /// Another agent, asked as a tool: it has its own span and its own totals.
    #[llmperf::tool(kind = "function")]
    pub(crate) async fn second_opinion(&self, plan: String) -> Result<String, Error> {
        self.criticise(&plan).await
    }

    /// An answer in a few words is no opinion: the check decides how the run came out.
    #[llmperf::agent(name = "critic", task = "simple", goal = |opinion| opinion.split(' ').count() > 5)]
    async fn criticise(&self, plan: &str) -> Result<String, Error> {
        Ok(self.model.say(&format!("What speaks against this? {plan}")).await?)
    }
}

/// What an MCP server answers to `tools/call`.
struct Answer {
    is_error: bool,
    number: Option<u32>,
}

/// Stands for the server. A real one is behind a client (rmcp, say), and makes its spans children of what `_meta` holds.
async fn booking_server(place: &str, nights: u32, _meta: &HashMap<String, String>) -> Answer {
    sleep(Duration::from_millis(8)).await;
    let is_error = place == FULL;
    Answer { is_error, number: (!is_error).then_some(1_000 + nights) }
}

/// Attempts something until it succeeds, so often at most; attempts count from 1.
pub(crate) async fn retried<T, E, F>(times: u32, attempt: impl Fn(u32) -> F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut result = attempt(1).await;
    for number in 2..=times {
        if result.is_ok() {
            break;
        }
        result = attempt(number).await;
    }
    result
}
