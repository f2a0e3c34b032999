//! Anthropic Messages: named server-sent events around numbered blocks; the figures of the first event are provisional,
//! those of the last but one are the answer's.

use serde_json::{Value, json};

use super::super::plan::{Finish, Kind};
use super::super::refusal::Refusal;
use super::super::reply::{Figures, Message, Reply};
use super::super::sheet::Sheet;
use super::blocks::{Block, Blocks};
use super::{BREAKDOWN, SIGNATURE, Speech, TOOL, Voice, json_object};

#[derive(Debug)]
pub(super) struct Anthropic;

#[derive(Debug)]
struct Telling {
    reply: Reply,
    blocks: Blocks,
    events: usize,
}

impl Speech for Anthropic {
    fn path(&self, _model: &str, _streamed: bool) -> String {
        "/v1/messages".into()
    }

    fn question(&self, model: &str, prompt: &str, streamed: bool) -> Value {
        let messages = json!([{ "role": "user", "content": prompt }]);
        json!({ "model": model, "max_tokens": 1024, "messages": messages, "stream": streamed })
    }

    fn content_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn request_id(&self) -> Option<&'static str> {
        Some("request-id")
    }

    fn voice(&self, reply: Reply) -> Box<dyn Voice> {
        Box::new(Telling { reply, blocks: Blocks::default(), events: 0 })
    }

    fn whole(&self, reply: &Reply, message: &Message, finish: Finish) -> Value {
        let mut content = Vec::new();
        if !message.reasoning.is_empty() {
            content.push(json!({ "type": "thinking", "thinking": message.reasoning, "signature": SIGNATURE }));
        }
        if !message.text.is_empty() {
            content.push(json!({ "type": "text", "text": message.text }));
        }
        if let Some(arguments) = &message.arguments {
            let mut block = tool_use(reply);
            block["input"] = json_object(arguments);
            content.push(block);
        }
        let mut told = self::message(reply, reply.figures.output_tokens);
        told["content"] = json!(content);
        told["stop_reason"] = json!(stop_reason(finish));
        told
    }

    fn refusal(&self, refusal: &Refusal, _streamed: bool) -> Value {
        let kind = match refusal.status.as_u16() {
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..=499 => "invalid_request_error",
            _ => "api_error",
        };
        error(kind, &refusal.message)
    }
}

impl Voice for Telling {
    fn comment(&mut self, sheet: &mut Sheet) {
        sheet.comment();
    }

    fn role(&mut self, sheet: &mut Sheet) {
        let provisional = 1 + u32::from(self.reply.asked.index % 2 == 1);
        let start = json!({ "type": "message_start", "message": message(&self.reply, provisional) });
        self.event(&start, sheet);
    }

    fn output(&mut self, kind: Kind, text: &str, _tokens: u32, sheet: &mut Sheet) {
        let turn = self.blocks.turn(kind);
        if let Some(ended) = turn.ended {
            self.stop(ended, sheet);
        }
        if turn.begins {
            self.start(turn.block, sheet);
        }
        if text.is_empty() {
            return; // A tool's name, which the start of its block has told.
        }
        let delta = match kind {
            Kind::Text => json!({ "type": "text_delta", "text": text }),
            Kind::Reasoning => json!({ "type": "thinking_delta", "thinking": text }),
            Kind::Tool => json!({ "type": "input_json_delta", "partial_json": text }),
        };
        self.delta(turn.block, &delta, sheet);
    }

    fn finish(&mut self, finish: Finish, sheet: &mut Sheet) {
        if let Some(block) = self.blocks.end() {
            self.stop(block, sheet);
        }
        let delta = json!({ "stop_reason": stop_reason(finish), "stop_sequence": null });
        let usage = usage(&self.reply.figures, self.reply.figures.output_tokens);
        self.event(&json!({ "type": "message_delta", "delta": delta, "usage": usage }), sheet);
    }

    fn mark(&mut self, _finish: Finish, sheet: &mut Sheet) {
        self.event(&json!({ "type": "message_stop" }), sheet);
    }

    fn error(&mut self, sheet: &mut Sheet) {
        self.event(&error("overloaded_error", BREAKDOWN), sheet);
    }
}

impl Telling {
    /// Blanks behind the payload make its length tell nothing.
    fn event(&mut self, payload: &Value, sheet: &mut Sheet) {
        let name = payload["type"].as_str().unwrap_or_default();
        let blanks = self.events * 5 % 16;
        self.events += 1;
        sheet.named(name, &format_args!("{payload}{:blanks$}", ""));
    }

    fn start(&mut self, block: Block, sheet: &mut Sheet) {
        let content = match block.kind {
            Kind::Text => json!({ "type": "text", "text": "" }),
            Kind::Reasoning => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            Kind::Tool => tool_use(&self.reply),
        };
        let start = json!({ "type": "content_block_start", "index": block.index, "content_block": content });
        self.event(&start, sheet);
        if block.index == 0 {
            self.event(&json!({ "type": "ping" }), sheet);
        }
        if block.kind == Kind::Tool {
            self.delta(block, &json!({ "type": "input_json_delta", "partial_json": "" }), sheet);
        }
    }

    fn delta(&mut self, block: Block, delta: &Value, sheet: &mut Sheet) {
        self.event(&json!({ "type": "content_block_delta", "index": block.index, "delta": delta }), sheet);
    }

    fn stop(&mut self, block: Block, sheet: &mut Sheet) {
        if block.kind == Kind::Reasoning {
            self.delta(block, &json!({ "type": "signature_delta", "signature": SIGNATURE }), sheet);
        }
        self.event(&json!({ "type": "content_block_stop", "index": block.index }), sheet);
    }
}

/// A message without content and end.
fn message(reply: &Reply, output_tokens: u32) -> Value {
    json!({
        "id": format!("msg_{}", reply.asked.index),
        "type": "message",
        "role": "assistant",
        "model": reply.asked.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(&reply.figures, output_tokens),
    })
}

fn tool_use(reply: &Reply) -> Value {
    json!({ "type": "tool_use", "id": format!("toolu_{}", reply.asked.index), "name": TOOL, "input": {} })
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
    }
}

/// Input from the cache is told apart from the rest.
fn usage(figures: &Figures, output_tokens: u32) -> Value {
    json!({
        "input_tokens": figures.fresh_tokens(),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": figures.cached_tokens,
        "output_tokens": output_tokens,
    })
}
