//! The HTTP client of the load: a streamed chat completion from the local server or any real one.

use std::error::Error as _;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::server::{PLAN_HEADER, Plan};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Talks to one server; clones share its connections.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    completions: String,
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) model: String,
    pub(crate) prompt: String,
    /// Limit of the answer's length, if any.
    pub(crate) max_tokens: Option<u32>,
    /// The plan that the local server shall answer by.
    pub(crate) plan: Option<u64>,
}

impl Client {
    /// A client for `base_url` (`https://api.example.com/v1`) that authorises itself by `key`.
    ///
    /// Fails if the key is no header value, or if certificates are needed and the system has none.
    pub(crate) fn new(base_url: &str, key: Option<&str>) -> Result<Self, Error> {
        // The first client sets the provider; later ones find it there.
        let _already_set = rustls::crypto::ring::default_provider().install_default();
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {key}"))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        // Bytes are measured as they come, whatever another package of the build has reqwest undo.
        let builder = reqwest::Client::builder().no_gzip().no_deflate().no_brotli().no_zstd();
        let builder = builder.default_headers(headers).tcp_nodelay(true);
        // Plain HTTP works on systems that have no certificates at all.
        let builder = if base_url.starts_with("http://") { builder.tls_certs_only([]) } else { builder };
        Ok(Self { http: builder.build()?, completions: format!("{}/chat/completions", base_url.trim_end_matches('/')) })
    }

    /// The HTTP client underneath, for other clients of the same server.
    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// The request, ready to be sent: nothing leaves before `send`.
    pub(crate) fn ask(&self, question: &Question) -> reqwest::RequestBuilder {
        let request = self.http.post(&self.completions).json(&question.body());
        match question.plan {
            Some(plan) => request.header(PLAN_HEADER, plan),
            None => request,
        }
    }
}

/// What is at the bottom of a failed request: `Connection refused`, where the error itself names the URL.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    causes.last().map_or_else(|| error.to_string(), ToString::to_string)
}

impl Question {
    /// Asks the local server for plan number `index`, which is `plan`.
    pub(crate) fn planned(index: u64, plan: &Plan) -> Self {
        Self {
            model: plan.model.into(),
            prompt: "Which way to the harbour?".into(),
            max_tokens: None,
            plan: Some(index),
        }
    }

    fn body(&self) -> Value {
        let mut body = json!({
            "model": self.model,
            "messages": [{ "role": "user", "content": self.prompt }],
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        if let Some(limit) = self.max_tokens {
            body["max_tokens"] = json!(limit);
        }
        body
    }
}
