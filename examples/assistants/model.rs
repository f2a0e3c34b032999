//! The model: a client of the local server, or of any that speaks the chat completions of OpenAI.

use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, CreateChatCompletionRequestArgs,
};
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use llmperf::Output;
use llmperf::clients::async_openai as measured;
use serde::Deserialize;

use crate::load;
use crate::server::{Plan, SWIFT, Server};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The provider's name in telemetry.
pub(crate) const PROVIDER: &str = "local";
/// The model that is asked.
pub(crate) const MODEL: &str = SWIFT;

/// A client; clones share its connections.
#[derive(Clone, Debug)]
pub(crate) struct Model(Client<OpenAIConfig>);

/// What the application needs of a chunk.
#[derive(Debug, Deserialize)]
pub(crate) struct Chunk {
    choices: Vec<Choice>,
    usage: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Delta {
    content: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Tokens {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl Model {
    pub(crate) fn new(server: &Server) -> Result<Self, Error> {
        let http = load::Client::new(&server.base_url(), None)?.http().clone();
        let config = OpenAIConfig::new().with_api_base(server.base_url()).with_api_key("none");
        Ok(Self(Client::build(http, config)))
    }

    /// Asks, and gives the answer as it comes. Nothing is measured here: who asks knows what it is asked for.
    pub(crate) async fn stream(
        &self,
        prompt: &str,
    ) -> Result<BoxStream<'static, Result<Chunk, OpenAIError>>, OpenAIError> {
        let request = CreateChatCompletionRequestArgs::default()
            .model(MODEL)
            .messages([ChatCompletionRequestUserMessage::from(prompt).into()])
            .stream(true)
            // Without it there are no token counts, and so no TPOT.
            .stream_options(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None })
            .build()?;
        self.0.chat().create_stream_byot(request).await
    }

    /// Asks, and waits for all of the answer: a measured call of its own.
    pub(crate) async fn say(&self, prompt: &str) -> Result<String, OpenAIError> {
        let call = llmperf::chat(PROVIDER, MODEL);
        let answer = call.open_by(self.stream(prompt), measured::own(carries)).await?;
        answer.map_ok(Chunk::into_text).try_collect().await
    }
}

impl Chunk {
    /// The text in it; empty in those that carry something else.
    pub(crate) fn into_text(self) -> String {
        self.choices.into_iter().filter_map(|choice| choice.delta.content).collect()
    }
}

/// What llmperf is told of a chunk.
pub(crate) fn carries(chunk: &Chunk) -> Output<'_> {
    let carried = match &chunk.usage {
        Some(usage) => Output::usage(usage.prompt_tokens, usage.completion_tokens),
        None => Output::none(),
    };
    let Some(choice) = chunk.choices.first() else { return carried };
    carried.and_text(choice.delta.content.as_deref().unwrap_or_default()).and_finish(choice.finish_reason.as_deref())
}

/// What the local server does: short answers that all end well, a little slower or faster by their number.
pub(crate) fn plans() -> impl Fn(u64) -> Plan + Send + Sync + 'static {
    |index| {
        let steady = Plan::steady(Duration::from_millis(3 + index % 3), 16 + (index * 7 % 13) as usize);
        Plan { prompt_tokens: 120, queue: Duration::from_millis(20 + index * 11 % 30), ..steady }
    }
}
