//! Asking the local server in any dialect, with plans that take no time.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;

use crate::load::Client;
use crate::server::{
    Burst, Consumer, Dialect, Ending, Finish, Kind, PLAN_HEADER, Piece, Plan, Record, Server, THINKER, TOOLSMITH,
};

/// What a client got.
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) request_id: Option<String>,
    pub(crate) error_type: Option<String>,
    pub(crate) body: Vec<u8>,
    /// The connection broke inside the body.
    pub(crate) broken: bool,
    pub(crate) record: Record,
}

impl Told {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A plan of the given model and end. Its prompt has 40 tokens, 10 of them from a cache.
///
/// `swift-1` says four tokens in three pieces, `thinker-1` thinks two more before, `toolsmith-1` calls a tool with five
/// tokens in three pieces.
pub(crate) fn plan(model: &'static str, ending: Ending) -> Plan {
    let piece = |kind, tokens| Piece::Output { kind, tokens };
    let answer = [1, 1, 2].map(|tokens| piece(Kind::Text, tokens)).to_vec();
    let pieces = match model {
        THINKER => [vec![piece(Kind::Reasoning, 2)], answer].concat(),
        TOOLSMITH => [1, 1, 3].map(|tokens| piece(Kind::Tool, tokens)).to_vec(),
        _ => answer,
    };
    let pieces = [vec![Piece::Comment, Piece::Role], pieces].concat();
    let bursts = pieces.into_iter().map(|piece| Burst { after: Duration::ZERO, pieces: vec![piece] }).collect();
    Plan {
        model,
        prompt_tokens: 40,
        cached_tokens: 10,
        queue: Duration::from_millis(2),
        bursts,
        tail: Duration::from_millis(1),
        ending,
        consumer: Consumer::Prompt,
    }
}

/// A plan that ends as its model does.
pub(crate) fn complete(model: &'static str) -> Plan {
    plan(model, Ending::Complete(finish(model)))
}

pub(crate) fn finish(model: &str) -> Finish {
    if model == TOOLSMITH { Finish::ToolCalls } else { Finish::Stop }
}

pub(crate) async fn streamed(dialect: Dialect, plan: Plan) -> Told {
    ask(dialect, plan, true).await
}

pub(crate) async fn whole(dialect: Dialect, plan: Plan) -> Told {
    ask(dialect, plan, false).await
}

async fn ask(dialect: Dialect, plan: Plan, streamed: bool) -> Told {
    let model = plan.model;
    let server = Server::start(move |_| plan.clone()).unwrap();
    let response = request(&server, dialect, model, streamed).send().await.unwrap();
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (content_type, error_type) = (header("content-type").unwrap(), header("x-amzn-errortype"));
    let request_id =
        ["x-request-id", "request-id", "x-amzn-requestid", "x-debug-trace-id"].into_iter().find_map(header);
    let status = response.status().as_u16();
    let (mut body, mut broken) = (Vec::new(), false);
    let mut reads = response.bytes_stream();
    while let Some(read) = reads.next().await {
        match read {
            Ok(bytes) => body.extend_from_slice(&bytes),
            Err(_) => broken = true,
        }
    }
    // A write is noted when it has left, which may be after its client has read it.
    let ledger = server.ledger().clone();
    assert!(server.stop(Duration::from_secs(10)), "the response never ended");
    let record = ledger.of(7).unwrap();
    Told { status, content_type, request_id, error_type, body, broken, record }
}

/// A request for plan number 7.
pub(crate) fn request(server: &Server, dialect: Dialect, model: &str, streamed: bool) -> reqwest::RequestBuilder {
    let url = server.url(&dialect.path(model, streamed));
    http().post(url).header(PLAN_HEADER, 7).json(&dialect.question(model, "Which way?", streamed))
}

/// A plain HTTP client.
pub(crate) fn http() -> reqwest::Client {
    // Sets the TLS provider that any reqwest client needs.
    Client::new("http://127.0.0.1", None).unwrap();
    // What is sent is what is read, whatever another package of the build has reqwest undo.
    let builder = reqwest::Client::builder().no_gzip().no_deflate().no_brotli().no_zstd();
    builder.tls_certs_only([]).build().unwrap()
}
