//! Chat completions.
//!
//! | in the chunk | means |
//! |---|---|
//! | `delta.content`, `audio.transcript` | text |
//! | `delta.refusal` | refusal |
//! | name and arguments in `delta.tool_calls`, `delta.function_call` | tool call |
//! | `audio.data` | media |
//! | `finish_reason` | the choice is finished |
//! | `usage` | usage of the whole call; input with cached tokens, output with reasoning, which xAI reports outside: added |
//! | role, empty delta, log probabilities, obfuscation, moderation | an event without output |

use async_openai::{
    error::OpenAIError,
    types::chat::{
        ChatChoice, ChatCompletionMessageToolCalls, ChatCompletionStreamResponseDelta, CompletionUsage,
        CreateChatCompletionRequest, CreateChatCompletionResponse, CreateChatCompletionStreamResponse, FinishReason,
        ServiceTier,
    },
};
use llmperf_core::{Call, Kind, Output, Read, Reader, Sees, Usage, semconv};

use super::{
    Answer, Item, Request,
    sealed::{Asks, Sealed},
    tell_error,
};
use crate::{
    asked::{Asked, as_written},
    parts::Parts,
};

type Chunk = CreateChatCompletionStreamResponse;

/// Reads chat completion chunks. It sees finish reasons; `[DONE]` it does not see.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Chat;

impl Reader<Result<Chunk, OpenAIError>> for Chat {
    const SEES: Sees = Sees::Finish;

    fn read(&mut self, item: &Result<Chunk, OpenAIError>, read: &mut Read<'_>) {
        match item {
            Ok(chunk) => tell(chunk, read),
            Err(error) => tell_error(error, read),
        }
    }
}

impl Sealed for Result<Chunk, OpenAIError> {}
impl Item for Result<Chunk, OpenAIError> {
    type Reader = Chat;
}

fn tell(chunk: &Chunk, read: &mut Read<'_>) {
    if let Some(tier) = chunk.service_tier.as_ref().and_then(tier_word)
        && !read.has_attribute(semconv::SERVICE_TIER)
    {
        read.attribute(semconv::SERVICE_TIER, tier);
    }
    #[allow(deprecated, reason = "servers of the family send it still")]
    if let Some(fingerprint) = &chunk.system_fingerprint
        && !read.has_attribute(semconv::SYSTEM_FINGERPRINT)
    {
        read.attribute(semconv::SYSTEM_FINGERPRINT, fingerprint.clone());
    }
    let base = Output::none().model(chunk.model.as_str()).id(chunk.id.as_str());
    let mut parts = Parts::of(base.and_usage(chunk.usage.as_ref().map(usage)));
    for choice in &chunk.choices {
        for (kind, text) in pieces(&choice.delta) {
            parts.piece(read, choice.index, kind, text);
        }
    }
    parts.told(read);
    for choice in &chunk.choices {
        if let Some(reason) = choice.finish_reason {
            read.also(Output::finish(finish_word(reason)).choice(choice.index));
        }
    }
}

#[allow(deprecated, reason = "servers of the family send `function_call` still")]
fn pieces(delta: &ChatCompletionStreamResponseDelta) -> impl Iterator<Item = (Kind, &str)> {
    let tools = delta.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref());
    let functions = tools.chain(&delta.function_call);
    let named = functions.flat_map(|function| [function.name.as_deref(), function.arguments.as_deref()]);
    let audio = delta.audio.as_ref();
    let others = [
        (Kind::Text, delta.content.as_deref()),
        (Kind::Refusal, delta.refusal.as_deref()),
        (Kind::Text, audio.and_then(|audio| audio.transcript.as_deref())),
        (Kind::Media, audio.and_then(|audio| audio.data.as_deref())),
    ];
    let all = others.into_iter().chain(named.map(|text| (Kind::Tool, text)));
    all.filter_map(|(kind, text)| Some((kind, text?)))
}

impl Sealed for CreateChatCompletionResponse {}
impl Answer for CreateChatCompletionResponse {
    fn output(&self) -> Output<'_> {
        let reason = self.choices.first().and_then(|choice| choice.finish_reason);
        let base = Output::none()
            .model(self.model.as_str())
            .id(self.id.as_str())
            .and_usage(self.usage.as_ref().map(usage))
            .and_finish(reason.map(finish_word));
        self.choices.iter().fold(base, with_message)
    }
}

fn with_message<'a>(output: Output<'a>, choice: &'a ChatChoice) -> Output<'a> {
    let message = &choice.message;
    let output = output
        .and_text(message.content.as_deref().unwrap_or_default())
        .and(Kind::Refusal, message.refusal.as_deref().unwrap_or_default())
        .and(Kind::Media, message.audio.as_ref().map_or("", |audio| audio.data.as_str()));
    message.tool_calls.iter().flatten().fold(output, |output, call| match call {
        ChatCompletionMessageToolCalls::Function(call) => {
            output.and(Kind::Tool, &call.function.name).and(Kind::Tool, &call.function.arguments)
        }
        ChatCompletionMessageToolCalls::Custom(call) => {
            output.and(Kind::Tool, &call.custom_tool.name).and(Kind::Tool, &call.custom_tool.input)
        }
    })
}

impl Request for CreateChatCompletionRequest {}
impl Asks for CreateChatCompletionRequest {
    fn model_name(&self) -> String {
        self.model.clone()
    }

    #[allow(deprecated, reason = "`max_tokens` and `seed` are what most servers of the family know")]
    fn describe(&self, call: Call) -> Call {
        let asked = Asked {
            temperature: self.temperature.map(as_written),
            top_p: self.top_p.map(as_written),
            frequency_penalty: self.frequency_penalty.map(as_written),
            presence_penalty: self.presence_penalty.map(as_written),
            max_tokens: self.max_completion_tokens.or(self.max_tokens).map(i64::from),
            choices: self.n.map(i64::from),
            seed: self.seed,
        };
        asked.tell(call)
    }
}

fn usage(usage: &CompletionUsage) -> Usage {
    let (input, output) = (u64::from(usage.prompt_tokens), u64::from(usage.completion_tokens));
    let input_details = usage.prompt_tokens_details.as_ref();
    let output_details = usage.completion_tokens_details.as_ref();
    let reasoning = output_details.and_then(|details| details.reasoning_tokens).map(u64::from);
    let outside = reasoning.filter(|reasoning| u64::from(usage.total_tokens) == input + output + reasoning);
    Usage::of(input, output + outside.unwrap_or(0))
        .cache_read(input_details.and_then(|details| details.cached_tokens).map(u64::from))
        .cache_write(input_details.and_then(|details| u64::try_from(details.cache_write_tokens?).ok()))
        .reasoning(reasoning)
        .audio_input(input_details.and_then(|details| details.audio_tokens).map(u64::from))
        .audio_output(output_details.and_then(|details| details.audio_tokens).map(u64::from))
}

fn finish_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::FunctionCall => "function_call",
    }
}

/// The tier that served; `auto` is what was asked for.
fn tier_word(tier: &ServiceTier) -> Option<&'static str> {
    match tier {
        ServiceTier::Auto => None,
        ServiceTier::Default => Some("default"),
        ServiceTier::Flex => Some("flex"),
        ServiceTier::Scale => Some("scale"),
        ServiceTier::Priority => Some("priority"),
        ServiceTier::Fast => Some("fast"),
    }
}
