//! Prompt and answer leave the process where capture is on, and nowhere else.

use llmperf_core::{Capture, testing::Probe};

use crate::{
    bodies::Steps,
    wire::{CHAT, STREAM, Server, answer, attribute, measure, reqwest},
};

#[tokio::test]
async fn prompt_and_answer_are_on_the_span_only_where_capture_is_on() {
    let server = Server::start(|_| answer("text/event-stream", Steps::of(STREAM))).await;
    for on in [false, true] {
        let capture = if on { Capture::on_spans() } else { Capture::off() };
        let probe = Probe::with(|builder| builder.capture(capture));
        let url = server.url("/v1/chat/completions");
        reqwest(measure(&probe)).post(&url).body(CHAT).send().await.unwrap().bytes().await.unwrap();
        let span = probe.span();
        let said = |key, word| attribute(&span, key).is_some_and(|text| text.contains(word));
        assert_eq!(said("gen_ai.input.messages", "my secret"), on);
        assert_eq!(said("gen_ai.output.messages", "Hello"), on);
        assert_eq!(format!("{span:?}").contains("secret"), on);
    }
}
