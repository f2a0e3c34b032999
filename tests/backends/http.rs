//! JSON over plain HTTP to a server on loopback.

use std::time::Duration;

use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body};

use super::Result;

/// Enough for the traces of several thousand calls.
const BODY_LIMIT: u64 = 256 << 20;

/// A blocking HTTP client for loopback: no proxy, a limit on each request, and every status is an answer.
#[derive(Debug)]
pub(crate) struct Client(Agent);

impl Client {
    pub(crate) fn new() -> Self {
        let config = Agent::config_builder()
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(10)))
            .http_status_as_error(false)
            .build();
        Self(config.into())
    }

    /// The status and the body of a GET. Fails when nothing answers.
    pub(crate) fn get(&self, url: &str, query: &[(&str, &str)]) -> Result<(u16, String)> {
        read(self.0.get(url).query_pairs(query.iter().copied()).call()?)
    }

    /// The status and the body of a POST of JSON. Fails when nothing answers.
    pub(crate) fn post(&self, url: &str, body: &Value) -> Result<(u16, String)> {
        read(self.0.post(url).content_type("application/json").send(body.to_string())?)
    }
}

fn read(mut response: Response<Body>) -> Result<(u16, String)> {
    let body = response.body_mut().with_config().limit(BODY_LIMIT).read_to_string()?;
    Ok((response.status().as_u16(), body))
}
