//! Recorded streams through layer and middleware over loopback, plain and in each coding: the figures of their index.

use std::io::Write;

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt as _;
use llmperf_core::testing::Probe;
use llmperf_wire::Dialect;
use opentelemetry_sdk::trace::SpanData;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::Value;
use tower::{Service as _, ServiceExt as _};

use crate::{
    bodies::Steps,
    recordings::{Recording, recordings},
    wire::{Server, answer, attribute, measure, post, reqwest, tower},
};

/// Where each dialect is spoken, and as what.
fn endpoint(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::OpenAiChat => ("/v1/chat/completions", "text/event-stream"),
        Dialect::OpenAiResponses => ("/v1/responses", "text/event-stream; charset=utf-8"),
        Dialect::Anthropic => ("/v1/messages", "text/event-stream"),
        Dialect::Gemini => ("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "text/event-stream"),
        Dialect::Ollama => ("/api/chat", "application/x-ndjson"),
        Dialect::Cohere => ("/v2/chat", "text/event-stream"),
        Dialect::BedrockConverse => ("/model/amazon.nova/converse-stream", "application/vnd.amazon.eventstream"),
        other => panic!("no recording is of {other:?}"),
    }
}

const CODINGS: [&str; 5] = ["identity", "gzip", "deflate", "br", "zstd"];

/// Codes bytes as servers do that flush now and then.
fn coded(coding: &str, bytes: &[u8], rng: &mut StdRng) -> Vec<u8> {
    fn write(mut to: impl Write, bytes: &[u8], rng: &mut StdRng) {
        for part in bytes.chunks(rng.random_range(40..900)) {
            to.write_all(part).unwrap();
            to.flush().unwrap();
        }
    }
    let mut coded = Vec::new();
    match coding {
        "identity" => coded.extend_from_slice(bytes),
        "gzip" => write(flate2::write::GzEncoder::new(&mut coded, flate2::Compression::default()), bytes, rng),
        "deflate" => write(flate2::write::ZlibEncoder::new(&mut coded, flate2::Compression::default()), bytes, rng),
        "br" => write(brotli::CompressorWriter::new(&mut coded, 4096, 5, 22), bytes, rng),
        "zstd" => write(zstd::Encoder::new(&mut coded, 3).unwrap().auto_finish(), bytes, rng),
        other => panic!("{other}"),
    }
    coded
}

/// The index says outcome and reason in words: `error (tool_use_failed)`, `stop (choice 0), stop (choice 1)`.
fn check(span: &SpanData, expected: &Value, coding: &str) {
    let text = |key: &str| expected[key].as_str().unwrap();
    let number = |key: &str| expected[key].as_u64();
    let said = |key: &str| attribute(span, key).map(|value| value.parse::<u64>().unwrap());
    let file = format!("{} as {coding}", text("file"));
    // Marks freeze at the marker: a `[DONE]` behind it is no chunk of the call any more.
    let behind_the_marker = u64::from(text("marker").ends_with("then `[DONE]`"));
    assert_eq!(said("llmperf.chunks").map(|chunks| chunks + behind_the_marker), number("events"), "{file}");
    assert_eq!(said("llmperf.output_chunks"), number("output"), "{file}");
    // The index has what the stream says: no input at all is unknown, no output beside some that was seen is a mistake.
    let mistaken = number("output_tokens") == Some(0) && number("output") > Some(0);
    for (key, name) in [
        ("input_tokens", "gen_ai.usage.input_tokens"),
        ("output_tokens", "gen_ai.usage.output_tokens"),
        ("reasoning_tokens", "gen_ai.usage.reasoning.output_tokens"),
    ] {
        let unknown = mistaken || (key == "input_tokens" && number(key) == Some(0));
        assert_eq!(said(name), number(key).filter(|_| !unknown), "{key} of {file}");
    }
    let outcome = attribute(span, "llmperf.outcome").unwrap();
    // A prompt that is blocked has its answer.
    assert!(text("outcome").replace("blocked", "complete").starts_with(&outcome), "{file}: {outcome}");
    let reasons: Vec<&str> = text("finish_reason").split(", ").filter_map(|reason| reason.split(' ').next()).collect();
    let reasons = reasons.join(r#"",""#).replace('-', "error");
    assert_eq!(attribute(span, "gen_ai.response.finish_reasons"), Some(format!(r#"["{reasons}"]"#)), "{file}");
    if let Some(model) = expected["model"].as_str().filter(|model| !matches!(*model, "-" | "(not in the stream)")) {
        assert_eq!(attribute(span, "gen_ai.response.model").as_deref(), Some(model), "{file}");
    }
}

#[tokio::test]
async fn every_recording_gives_the_figures_of_its_index_in_each_coding_through_layer_and_middleware() {
    let mut rng = StdRng::seed_from_u64(3);
    let mut replies = Vec::new();
    let mut cases = Vec::new();
    for Recording { entry, dialect, bytes } in recordings().into_iter().flatten() {
        for coding in CODINGS {
            let coded = coded(coding, &bytes, &mut rng);
            let parts: Vec<Bytes> = coded.chunks(rng.random_range(1..2_000)).map(Bytes::copy_from_slice).collect();
            replies.push((dialect, coding, parts));
            cases.push((entry.clone(), dialect, coding, coded));
        }
    }
    let server = Server::start(move |asked| {
        let index: usize = asked.headers["x-case"].to_str().unwrap().parse().unwrap();
        let (dialect, coding, parts) = &replies[index];
        let mut response = answer(endpoint(*dialect).1, Steps::of(parts.clone()));
        response.headers_mut().insert(CONTENT_ENCODING, coding.parse().unwrap());
        response
    })
    .await;
    let request = r#"{"model":"asked","stream":true,"messages":[{"role":"user","content":"Hi"}]}"#;
    for (index, (entry, dialect, coding, coded)) in cases.iter().enumerate() {
        let url = server.url(endpoint(*dialect).0);

        let probe = Probe::new();
        let mut client = tower(measure(&probe));
        let mut asked = post(&url, request);
        asked.headers_mut().insert("x-case", index.into());
        let body = client.ready().await.unwrap().call(asked).await.unwrap().into_body();
        assert_eq!(body.collect().await.unwrap().to_bytes(), *coded);
        check(&probe.span(), entry, coding);

        let probe = Probe::new();
        let asked = reqwest(measure(&probe)).post(&url).header("x-case", index).body(request);
        let response = asked.send().await.unwrap();
        assert_eq!(response.bytes().await.unwrap(), *coded);
        check(&probe.span(), entry, coding);
    }
}
