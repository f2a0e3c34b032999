//! One measured call: the request, its status, its streamed body, read as its consumer would.

use llmperf::{Dialect, Instrumentation, OpenWire as _, Timing};

use super::{Client, Question, read};
use crate::server::Consumer;

/// Asks `question` and reads the answer; what llmperf measured of it, if a response came at all.
pub(crate) async fn measured(
    instrumentation: &Instrumentation,
    provider: &'static str,
    client: &Client,
    question: &Question,
    consumer: Consumer,
) -> Result<Timing, reqwest::Error> {
    let request = async {
        let response = client.ask(question).send().await?;
        if let Some(call) = llmperf::current_call() {
            call.status(response.status().as_u16());
        }
        Ok::<_, reqwest::Error>(response.bytes_stream())
    };
    let call = instrumentation.chat(provider, question.model.clone());
    let mut body = call.open_wire(request, Dialect::OpenAiChat).await?;
    read(&mut body, consumer).await;
    Ok(body.into_timing())
}
