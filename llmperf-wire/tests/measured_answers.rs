//! Answers that show what they are, through `measure_wire` and pushed: outcome, figures and what could not be read.
#![cfg(feature = "measure")]
#![allow(clippy::unwrap_used, reason = "tests")]

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{Outcome, Timing, testing::Probe};
use llmperf_wire::{Decoder, Dialect, Endpoint, MeasureWire as _, Wire};

mod messages;

fn measured(probe: &Probe, decoder: Decoder, bytes: &[u8]) -> Timing {
    let reads = bytes.chunks(7).map(Ok::<_, std::io::Error>);
    let mut body = stream::iter(reads).measure_wire(probe.chat("openai", "m"), decoder);
    block_on(async { while body.next().await.is_some() {} });
    body.into_timing()
}

#[test]
fn a_whole_answer_is_complete_with_its_figures() {
    let json = br#"{"id":"c","model":"m-1","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":9,"completion_tokens":2},"service_tier":"default"}"#;
    for hint in [None, Some(Dialect::OpenAiChat), Some(Dialect::Gemini)] {
        let probe = Probe::new();
        let timing = measured(&probe, Decoder::sniffing(hint, Some("application/json")), json);
        assert_eq!(timing.outcome, Some(Outcome::Complete), "{hint:?}");
        assert_eq!((timing.usage.input_tokens(), timing.usage.output_tokens()), (Some(9), Some(2)));
        assert_eq!(timing.finish_reasons.len(), 1);
        let span = probe.span();
        let tier = span.attributes.iter().find(|found| found.key.as_str() == "openai.response.service_tier");
        assert_eq!(tier.unwrap().value.to_string(), "default");
    }
}

#[test]
fn vectors_are_complete_without_output_or_finish_reason() {
    let probe = Probe::new();
    let endpoint = Endpoint::detect("POST", None, "/v1/embeddings").unwrap();
    let json = br#"{"object":"list","data":[{"embedding":[0.1,0.2]}],"model":"e-1","usage":{"prompt_tokens":5,"total_tokens":5}}"#;
    let timing = measured(&probe, Decoder::answer_of(&endpoint, Some("application/json")), json);
    assert_eq!((timing.outcome, timing.usage.input_tokens()), (Some(Outcome::Complete), Some(5)));
    assert_eq!(timing.time_to_first_token, None);
}

#[test]
fn a_whole_answer_that_was_cut_is_interrupted() {
    let probe = Probe::new();
    let decoder = Decoder::sniffing(Some(Dialect::OpenAiChat), Some("application/json"));
    let timing = measured(&probe, decoder, br#"{"choices":[{"index":0,"message":{"content":"H"#);
    assert_eq!(timing.outcome, Some(Outcome::Interrupted));
}

#[test]
fn an_error_in_place_of_a_stream_is_one() {
    let probe = Probe::new();
    let decoder = Decoder::sniffing(Some(Dialect::Anthropic), Some("application/json")).status(529);
    let json = br#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    let timing = measured(&probe, decoder, json);
    assert_eq!((timing.outcome, timing.error_type.as_deref()), (Some(Outcome::Error), Some("overloaded_error")));
}

#[test]
fn a_page_for_people_is_said_to_be_unreadable() {
    let probe = Probe::new();
    let page = b"<html>502 Bad Gateway</html>";
    let timing = measured(&probe, Decoder::sniffing(Some(Dialect::OpenAiChat), Some("text/html")), page);
    assert_eq!(timing.outcome, Some(Outcome::Complete), "no end could be seen");
    let oddities = probe.points("llmperf.internal.events");
    assert_eq!(oddities[0].attribute("llmperf.internal.kind"), "decoder_blind");
}

#[test]
fn an_answer_of_which_no_event_is_known_ends_with_its_bytes() {
    let foreign = "data:{\"token\":{\"text\":\"a\"}}\n\ndata:{\"generated_text\":\"a\"}\n\n";
    let known = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n";
    for (bytes, outcome) in [
        (foreign.to_owned(), Outcome::Complete),
        (foreign.to_owned() + known, Outcome::Interrupted),
        (": ping\n\n".to_owned(), Outcome::Interrupted),
    ] {
        let probe = Probe::new();
        let timing = measured(&probe, Decoder::sniffing(None, Some("text/event-stream")), bytes.as_bytes());
        assert_eq!(timing.outcome, Some(outcome), "{bytes}");
    }
    let error = foreign.to_owned() + "data:{\"error\":\"no room\",\"error_type\":\"overloaded\"}\n\n";
    let timing = measured(&Probe::new(), Decoder::sniffing(None, None), error.as_bytes());
    assert_eq!((timing.outcome, timing.error_type.as_deref()), (Some(Outcome::Error), Some("overloaded")));
}

#[test]
fn the_events_in_which_bedrock_wraps_a_models_own_are_known_to_nobody() {
    let endpoint = Endpoint::detect("POST", None, "/model/m/invoke-with-response-stream").unwrap();
    let decoder = || Decoder::answer_of(&endpoint, Some("application/vnd.amazon.eventstream"));
    let chunks = messages::event("chunk", r#"{"bytes":"e30="}"#).repeat(2);
    assert_eq!(measured(&Probe::new(), decoder(), &chunks).outcome, Some(Outcome::Complete));
    let exception = messages::exception("throttlingException", "{}");
    let timing = measured(&Probe::new(), decoder(), &[chunks, exception].concat());
    assert_eq!(timing.error_type.as_deref(), Some("throttlingException"));
}

#[test]
fn an_end_that_is_too_large_to_be_read_is_no_interruption() {
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    let large = format!("data: {{\"choices\":[],\"x\":\"{}\"}}\n\n", "x".repeat(300));
    for (bytes, outcome) in
        [(format!("{text}{large}"), Outcome::Complete), (format!("{large}{text}"), Outcome::Interrupted)]
    {
        let timing = measured(&Probe::new(), Decoder::new(Dialect::OpenAiChat).limit(256), bytes.as_bytes());
        assert_eq!((timing.outcome, timing.outputs), (Some(outcome), 1));
    }
    let whole = format!(r#"{{"choices":[],"logprobs":{{"content":[{}{{}}]}}}}"#, "{},".repeat(200));
    let timing = measured(&Probe::new(), Decoder::whole(None).limit(256), whole.as_bytes());
    assert_eq!(timing.outcome, Some(Outcome::Complete));
}

#[test]
fn a_reader_says_what_its_decoder_found_out() {
    let wire: Wire = Wire::new(Decoder::sniffing(Some(Dialect::Cohere), None));
    assert_eq!((wire.decoder().form(), wire.sees()), (None, llmperf_core::Sees::Marker));
    let known: Wire = Wire::new(Dialect::Gemini);
    assert_eq!((known.decoder().dialect(), known.sees()), (Some(Dialect::Gemini), llmperf_core::Sees::Finish));
}
