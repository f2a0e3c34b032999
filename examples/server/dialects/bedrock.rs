//! Bedrock Converse: binary messages of an AWS event stream; figures come last, neither model nor id in any of them.

use serde_json::{Value, json};

use super::super::plan::{Finish, Kind};
use super::super::refusal::Refusal;
use super::super::reply::{Figures, Message, Reply};
use super::super::sheet::Sheet;
use super::blocks::{Block, Blocks};
use super::{BREAKDOWN, SIGNATURE, Speech, TOOL, Voice, event_stream, json_object, padding};

#[derive(Debug)]
pub(super) struct Bedrock;

#[derive(Debug)]
struct Telling {
    reply: Reply,
    blocks: Blocks,
    messages: usize,
}

impl Speech for Bedrock {
    fn path(&self, model: &str, streamed: bool) -> String {
        format!("/model/{model}/converse{}", if streamed { "-stream" } else { "" })
    }

    fn question(&self, _model: &str, prompt: &str, _streamed: bool) -> Value {
        json!({ "messages": [{ "role": "user", "content": [{ "text": prompt }] }] })
    }

    fn content_type(&self) -> &'static str {
        "application/vnd.amazon.eventstream"
    }

    fn request_id(&self) -> Option<&'static str> {
        Some("x-amzn-requestid")
    }

    fn voice(&self, reply: Reply) -> Box<dyn Voice> {
        Box::new(Telling { reply, blocks: Blocks::default(), messages: 0 })
    }

    fn whole(&self, reply: &Reply, message: &Message, finish: Finish) -> Value {
        let mut content = Vec::new();
        if !message.reasoning.is_empty() {
            let reasoning = json!({ "text": message.reasoning, "signature": SIGNATURE });
            content.push(json!({ "reasoningContent": { "reasoningText": reasoning } }));
        }
        if !message.text.is_empty() {
            content.push(json!({ "text": message.text }));
        }
        if let Some(arguments) = &message.arguments {
            let mut tool = tool(reply);
            tool["input"] = json_object(arguments);
            content.push(json!({ "toolUse": tool }));
        }
        json!({
            "output": { "message": { "role": "assistant", "content": content } },
            "stopReason": stop_reason(finish),
            "usage": usage(&reply.figures),
            "metrics": metrics(&reply.figures),
        })
    }

    fn refusal(&self, refusal: &Refusal, _streamed: bool) -> Value {
        json!({ "message": refusal.message })
    }

    fn error_header(&self, refusal: &Refusal) -> Option<(&'static str, &'static str)> {
        let kind = match refusal.status.as_u16() {
            404 => "ResourceNotFoundException",
            429 => "ThrottlingException",
            503 => "ServiceUnavailableException",
            400..=499 => "ValidationException",
            _ => "InternalServerException",
        };
        Some(("x-amzn-errortype", kind))
    }
}

impl Voice for Telling {
    fn role(&mut self, sheet: &mut Sheet) {
        self.event("messageStart", json!({ "role": "assistant" }), sheet);
    }

    fn output(&mut self, kind: Kind, text: &str, _tokens: u32, sheet: &mut Sheet) {
        let turn = self.blocks.turn(kind);
        if let Some(ended) = turn.ended {
            self.stop(ended, sheet);
        }
        if turn.begins && kind == Kind::Tool {
            let start = json!({ "toolUse": tool(&self.reply) });
            self.event("contentBlockStart", json!({ "contentBlockIndex": turn.block.index, "start": start }), sheet);
        }
        let delta = match kind {
            Kind::Tool if text.is_empty() => return,
            Kind::Tool => json!({ "toolUse": { "input": text } }),
            Kind::Text => json!({ "text": text }),
            Kind::Reasoning => json!({ "reasoningContent": { "text": text } }),
        };
        self.delta(turn.block, &delta, sheet);
    }

    fn finish(&mut self, finish: Finish, sheet: &mut Sheet) {
        if let Some(block) = self.blocks.end() {
            self.stop(block, sheet);
        }
        self.event("messageStop", json!({ "stopReason": stop_reason(finish) }), sheet);
    }

    fn mark(&mut self, _finish: Finish, sheet: &mut Sheet) {
        let figures = &self.reply.figures;
        let metadata = json!({ "usage": usage(figures), "metrics": metrics(figures) });
        self.event("metadata", metadata, sheet);
    }

    fn error(&mut self, sheet: &mut Sheet) {
        let headers = [
            (":exception-type", "modelStreamErrorException"),
            (":content-type", "application/json"),
            (":message-type", "exception"),
        ];
        let payload = json!({ "message": BREAKDOWN, "originalStatusCode": 500 });
        sheet.event(&event_stream::message(&headers, &payload));
    }
}

impl Telling {
    fn event(&mut self, name: &str, mut payload: Value, sheet: &mut Sheet) {
        payload["p"] = json!(padding(self.messages));
        self.messages += 1;
        let headers = [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
        sheet.event(&event_stream::message(&headers, &payload));
    }

    fn delta(&mut self, block: Block, delta: &Value, sheet: &mut Sheet) {
        self.event("contentBlockDelta", json!({ "contentBlockIndex": block.index, "delta": delta }), sheet);
    }

    fn stop(&mut self, block: Block, sheet: &mut Sheet) {
        if block.kind == Kind::Reasoning {
            self.delta(block, &json!({ "reasoningContent": { "signature": SIGNATURE } }), sheet);
        }
        self.event("contentBlockStop", json!({ "contentBlockIndex": block.index }), sheet);
    }
}

fn tool(reply: &Reply) -> Value {
    json!({ "toolUseId": format!("tooluse_{}", reply.asked.index), "name": TOOL })
}

fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
    }
}

/// Input from the cache is told apart from the rest; the total holds both.
fn usage(figures: &Figures) -> Value {
    json!({
        "inputTokens": figures.fresh_tokens(),
        "cacheReadInputTokens": figures.cached_tokens,
        "cacheWriteInputTokens": 0,
        "outputTokens": figures.output_tokens,
        "totalTokens": figures.total_tokens(),
    })
}

fn metrics(figures: &Figures) -> Value {
    json!({ "latencyMs": u64::try_from(figures.total.as_millis()).unwrap_or(u64::MAX) })
}
