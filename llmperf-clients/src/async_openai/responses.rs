//! Responses.
//!
//! | event | means |
//! |---|---|
//! | `output_text.delta`, `audio.transcript.delta` | text |
//! | `reasoning_text.delta` | reasoning |
//! | `reasoning_summary_text.delta` | a summary of reasoning |
//! | `refusal.delta` | refusal |
//! | `output_item.added` of a call (its name), `*_arguments.delta`, `custom_tool_call_input.delta`, `code.delta`, `shell_call_command.delta` | tool call |
//! | `audio.delta`, `image_generation_call.partial_image` | media |
//! | `response.completed` | finish reason `completed`, a tool call if the caller has to answer one; usage, the marker |
//! | `response.incomplete` | finish reason `incomplete`, whose kind is that of its reason; usage, the marker |
//! | `response.failed`, `error` | the call has failed, by the code |
//! | all others | an event without output |

use async_openai::{
    error::OpenAIError,
    types::responses::{
        CreateResponse, OutputItem, OutputMessageContent, ReasoningItemContent, Response, ResponseErrorCode,
        ResponseStreamEvent as Event, ResponseUsage, ServiceTierResponses, Status, SummaryPart,
    },
};
use llmperf_core::{Call, Failure, FinishKind, Kind, Output, Read, Reader, Sees, Usage, semconv};

use super::{
    Answer, Item, Request,
    sealed::{Asks, Sealed},
    tell_error,
};
use crate::asked::{Asked, as_written};

/// Reads the events of a Responses stream. It sees the terminal event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Responses {
    /// The model has called a tool of the caller's.
    calls: bool,
}

impl Reader<Result<Event, OpenAIError>> for Responses {
    const SEES: Sees = Sees::Marker;

    fn read(&mut self, item: &Result<Event, OpenAIError>, read: &mut Read<'_>) {
        match item {
            Ok(event) => {
                tell_tier(event, read);
                if let Event::ResponseOutputItemAdded(event) = event {
                    self.calls |= is_for_the_caller(&event.item);
                }
                let output = carries(event);
                let waits = self.calls && matches!(event, Event::ResponseCompleted(_));
                read.event(if waits { output.finish_kind(FinishKind::ToolCall) } else { output });
            }
            Err(error) => tell_error(error, read),
        }
    }
}

impl Sealed for Result<Event, OpenAIError> {}
impl Item for Result<Event, OpenAIError> {
    type Reader = Responses;
}

/// The tier that served, which is known at the end only.
fn tell_tier(event: &Event, read: &mut Read<'_>) {
    let response = match event {
        Event::ResponseCompleted(event) => &event.response,
        Event::ResponseIncomplete(event) => &event.response,
        _ => return,
    };
    if let Some(tier) = response.service_tier.as_ref().and_then(tier_word) {
        read.attribute(semconv::SERVICE_TIER, tier);
    }
}

fn carries(event: &Event) -> Output<'_> {
    match event {
        Event::ResponseOutputTextDelta(event) => Output::text(&event.delta),
        Event::ResponseAudioTranscriptDelta(event) => Output::text(&event.delta),
        Event::ResponseReasoningTextDelta(event) => Output::reasoning(&event.delta),
        Event::ResponseReasoningSummaryTextDelta(event) => Output::of(Kind::ReasoningSummary, &event.delta),
        Event::ResponseRefusalDelta(event) => Output::of(Kind::Refusal, &event.delta),
        Event::ResponseOutputItemAdded(event) => named(&event.item).map_or(Output::none(), Output::tool),
        Event::ResponseFunctionCallArgumentsDelta(event) => Output::tool(&event.delta),
        Event::ResponseMCPCallArgumentsDelta(event) => Output::tool(&event.delta),
        Event::ResponseCustomToolCallInputDelta(event) => Output::tool(&event.delta),
        Event::ResponseCodeInterpreterCallCodeDelta(event) => Output::tool(&event.delta),
        Event::ResponseShellCallCommandDelta(event) => Output::tool(&event.delta),
        Event::ResponseAudioDelta(event) => Output::of(Kind::Media, &event.delta),
        Event::ResponseImageGenerationCallPartialImage(event) => Output::of(Kind::Media, &event.partial_image_b64),
        Event::ResponseCreated(event) => begun(&event.response),
        Event::ResponseQueued(event) => begun(&event.response),
        Event::ResponseInProgress(event) => begun(&event.response),
        Event::ResponseCompleted(event) => ended(&event.response),
        Event::ResponseIncomplete(event) => ended(&event.response),
        Event::ResponseFailed(event) => ended(&event.response),
        Event::ResponseError(event) => {
            let error_type = event.code.as_deref().filter(|code| Failure::is_name(code)).unwrap_or("error");
            Output::none().and_failure(Failure::new(error_type).message(&event.message))
        }
        _ => Output::none(),
    }
}

/// The name of a call of the model's; its arguments come as deltas.
fn named(item: &OutputItem) -> Option<&str> {
    match item {
        OutputItem::FunctionCall(call) => Some(&call.name),
        OutputItem::CustomToolCall(call) => Some(&call.name),
        OutputItem::McpCall(call) => Some(&call.name),
        _ => None,
    }
}

fn begun(response: &Response) -> Output<'_> {
    Output::none().model(response.model.as_str()).id(response.id.as_str())
}

/// A response that has ended, well or not; one that runs elsewhere (`background`) has not.
fn ended(response: &Response) -> Output<'_> {
    let carried = begun(response).and_usage(response.usage.as_ref().map(usage));
    match response.status {
        Status::Completed => carried.and_finish("completed").and_done(),
        Status::Incomplete => {
            let ended = carried.and_finish("incomplete").and_done();
            match response.incomplete_details.as_ref().map(|details| FinishKind::of(&details.reason)) {
                Some(FinishKind::Other) | None => ended,
                Some(kind) => ended.finish_kind(kind),
            }
        }
        Status::Failed => carried.and_failure(failure(response)),
        Status::Cancelled => carried.and_failure(Failure::new("cancelled")),
        Status::InProgress | Status::Queued => carried,
    }
}

fn failure(response: &Response) -> Failure<'_> {
    match &response.error {
        Some(error) => Failure::new(code_word(&error.code)).message(&error.message),
        None => Failure::new("failed"),
    }
}

impl Sealed for Response {}
impl Answer for Response {
    fn output(&self) -> Output<'_> {
        let output = self.output.iter().fold(ended(self), with_item);
        let waits = self.status == Status::Completed && self.output.iter().any(is_for_the_caller);
        if waits { output.finish_kind(FinishKind::ToolCall) } else { output }
    }
}

/// Whether an item waits for the caller's answer; the provider's own tools answer by themselves.
fn is_for_the_caller(item: &OutputItem) -> bool {
    matches!(
        item,
        OutputItem::FunctionCall(_)
            | OutputItem::CustomToolCall(_)
            | OutputItem::ComputerCall(_)
            | OutputItem::LocalShellCall(_)
            | OutputItem::ApplyPatchCall(_)
            | OutputItem::McpApprovalRequest(_)
    )
}

fn with_item<'a>(output: Output<'a>, item: &'a OutputItem) -> Output<'a> {
    match item {
        OutputItem::Message(message) => message.content.iter().fold(output, |output, content| match content {
            OutputMessageContent::OutputText(content) => output.and_text(&content.text),
            OutputMessageContent::Refusal(content) => output.and(Kind::Refusal, &content.refusal),
        }),
        OutputItem::Reasoning(item) => {
            let output = item.content.iter().flatten().fold(output, |output, content| match content {
                ReasoningItemContent::ReasoningText(content) => output.and_reasoning(&content.text),
            });
            item.summary.iter().fold(output, |output, part| match part {
                SummaryPart::SummaryText(part) => output.and(Kind::ReasoningSummary, &part.text),
            })
        }
        OutputItem::FunctionCall(call) => output.and(Kind::Tool, &call.name).and(Kind::Tool, &call.arguments),
        OutputItem::CustomToolCall(call) => output.and(Kind::Tool, &call.name).and(Kind::Tool, &call.input),
        OutputItem::McpCall(call) => output.and(Kind::Tool, &call.name).and(Kind::Tool, &call.arguments),
        OutputItem::CodeInterpreterCall(call) => output.and(Kind::Tool, call.code.as_deref().unwrap_or_default()),
        OutputItem::ImageGenerationCall(call) => output.and(Kind::Media, call.result.as_deref().unwrap_or_default()),
        _ => output,
    }
}

impl Request for CreateResponse {}
impl Asks for CreateResponse {
    /// Empty where a stored prompt decides.
    fn model_name(&self) -> String {
        self.model.clone().unwrap_or_default()
    }

    fn describe(&self, call: Call) -> Call {
        let asked = Asked {
            temperature: self.temperature.map(as_written),
            top_p: self.top_p.map(as_written),
            max_tokens: self.max_output_tokens.map(i64::from),
            ..Asked::default()
        };
        asked.tell(call)
    }
}

fn usage(usage: &ResponseUsage) -> Usage {
    let written = usage.input_tokens_details.cache_write_tokens;
    Usage::of(usage.input_tokens.into(), usage.output_tokens.into())
        .cache_read(u64::from(usage.input_tokens_details.cached_tokens))
        .cache_write(written.and_then(|tokens| u64::try_from(tokens).ok()))
        .reasoning(u64::from(usage.output_tokens_details.reasoning_tokens))
}

/// The tier that served; `auto` is what was asked for.
fn tier_word(tier: &ServiceTierResponses) -> Option<&'static str> {
    match tier {
        ServiceTierResponses::Auto => None,
        ServiceTierResponses::Default => Some("default"),
        ServiceTierResponses::Flex => Some("flex"),
        ServiceTierResponses::Scale => Some("scale"),
        ServiceTierResponses::Priority => Some("priority"),
        ServiceTierResponses::Fast => Some("fast"),
        ServiceTierResponses::Ultrafast => Some("ultrafast"),
    }
}

fn code_word(code: &ResponseErrorCode) -> &str {
    match code {
        ResponseErrorCode::ServerError => "server_error",
        ResponseErrorCode::RateLimitExceeded => "rate_limit_exceeded",
        ResponseErrorCode::InvalidPrompt => "invalid_prompt",
        ResponseErrorCode::DataResidencyMismatch => "data_residency_mismatch",
        ResponseErrorCode::BioPolicy => "bio_policy",
        ResponseErrorCode::MisalignmentPolicyViolation => "misalignment_policy_violation",
        ResponseErrorCode::VectorStoreTimeout => "vector_store_timeout",
        ResponseErrorCode::InvalidImage => "invalid_image",
        ResponseErrorCode::InvalidImageFormat => "invalid_image_format",
        ResponseErrorCode::InvalidBase64Image => "invalid_base64_image",
        ResponseErrorCode::InvalidImageUrl => "invalid_image_url",
        ResponseErrorCode::ImageTooLarge => "image_too_large",
        ResponseErrorCode::ImageTooSmall => "image_too_small",
        ResponseErrorCode::ImageParseError => "image_parse_error",
        ResponseErrorCode::ImageContentPolicyViolation => "image_content_policy_violation",
        ResponseErrorCode::InvalidImageMode => "invalid_image_mode",
        ResponseErrorCode::ImageFileTooLarge => "image_file_too_large",
        ResponseErrorCode::UnsupportedImageMediaType => "unsupported_image_media_type",
        ResponseErrorCode::EmptyImageFile => "empty_image_file",
        ResponseErrorCode::FailedToDownloadImage => "failed_to_download_image",
        ResponseErrorCode::ImageFileNotFound => "image_file_not_found",
        ResponseErrorCode::Other(code) => code,
    }
}
