//! Cohere v2: named server-sent events; the last but `[DONE]` alone tells reason and figures, and what is billed is less
//! than what was used.

use serde_json::{Value, json};

use super::super::plan::{Finish, Kind};
use super::super::refusal::Refusal;
use super::super::reply::{Figures, Message, Reply};
use super::super::sheet::Sheet;
use super::blocks::{Block, Blocks};
use super::{BREAKDOWN, Speech, TOOL, Voice};

/// What a model that calls a tool says before, if nothing else was planned. It counts with the tool's name.
const TOOL_PLAN: &str = "I will look it up.";

#[derive(Debug)]
pub(super) struct Cohere;

#[derive(Debug)]
struct Telling {
    reply: Reply,
    blocks: Blocks,
    planned: bool,
}

impl Speech for Cohere {
    fn path(&self, _model: &str, _streamed: bool) -> String {
        "/v2/chat".into()
    }

    fn question(&self, model: &str, prompt: &str, streamed: bool) -> Value {
        json!({ "model": model, "messages": [{ "role": "user", "content": prompt }], "stream": streamed })
    }

    fn content_type(&self) -> &'static str {
        "text/event-stream"
    }

    fn request_id(&self) -> Option<&'static str> {
        Some("x-debug-trace-id")
    }

    fn tells_reason_before_marker(&self) -> bool {
        false
    }

    fn voice(&self, reply: Reply) -> Box<dyn Voice> {
        Box::new(Telling { reply, blocks: Blocks::default(), planned: false })
    }

    fn whole(&self, reply: &Reply, message: &Message, finish: Finish) -> Value {
        let mut told = json!({ "role": "assistant" });
        let mut content = Vec::new();
        if !message.reasoning.is_empty() {
            content.push(json!({ "type": "thinking", "thinking": message.reasoning }));
        }
        match &message.arguments {
            Some(arguments) => {
                let planned = !message.text.is_empty();
                told["tool_plan"] = json!(if planned { message.text.as_str() } else { TOOL_PLAN });
                told["tool_calls"] = json!([tool_call(reply, arguments)]);
            }
            None => content.push(json!({ "type": "text", "text": message.text })),
        }
        if !content.is_empty() {
            told["content"] = json!(content);
        }
        json!({
            "id": id(reply),
            "finish_reason": finish_reason(finish),
            "message": told,
            "usage": usage(&reply.figures),
        })
    }

    fn refusal(&self, refusal: &Refusal, _streamed: bool) -> Value {
        json!({ "message": refusal.message })
    }
}

impl Voice for Telling {
    fn comment(&mut self, sheet: &mut Sheet) {
        sheet.comment();
    }

    fn role(&mut self, sheet: &mut Sheet) {
        let message = json!({ "role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": [] });
        let start = json!({ "type": "message-start", "id": id(&self.reply), "delta": { "message": message } });
        event(&start, sheet);
    }

    fn output(&mut self, kind: Kind, text: &str, _tokens: u32, sheet: &mut Sheet) {
        if kind == Kind::Text && self.reply.figures.calls_tool {
            return self.plan(text, sheet);
        }
        let turn = self.blocks.turn(kind);
        if let Some(ended) = turn.ended {
            end(ended, sheet);
        }
        if turn.begins {
            self.start(turn.block, sheet);
        }
        if text.is_empty() {
            return; // A tool's name, which its start has told.
        }
        let message = match kind {
            Kind::Text => json!({ "content": { "text": text } }),
            Kind::Reasoning => json!({ "content": { "thinking": text } }),
            Kind::Tool => json!({ "tool_calls": { "function": { "arguments": text } } }),
        };
        numbered(if kind == Kind::Tool { "tool-call-delta" } else { "content-delta" }, turn.block, &message, sheet);
    }

    /// The reason comes with the marker.
    fn finish(&mut self, _finish: Finish, sheet: &mut Sheet) {
        if let Some(block) = self.blocks.end() {
            end(block, sheet);
        }
    }

    fn mark(&mut self, finish: Finish, sheet: &mut Sheet) {
        let delta = json!({ "finish_reason": finish_reason(finish), "usage": usage(&self.reply.figures) });
        event(&json!({ "type": "message-end", "delta": delta }), sheet);
        sheet.data(&"[DONE]");
    }

    fn error(&mut self, sheet: &mut Sheet) {
        let delta = json!({ "finish_reason": "ERROR", "error": BREAKDOWN });
        event(&json!({ "type": "message-end", "delta": delta }), sheet);
    }
}

impl Telling {
    fn plan(&mut self, text: &str, sheet: &mut Sheet) {
        self.planned = true;
        event(&json!({ "type": "tool-plan-delta", "delta": { "message": { "tool_plan": text } } }), sheet);
    }

    fn start(&mut self, block: Block, sheet: &mut Sheet) {
        match block.kind {
            Kind::Text => {
                numbered("content-start", block, &json!({ "content": { "type": "text", "text": "" } }), sheet);
            }
            Kind::Reasoning => {
                let content = json!({ "type": "thinking", "thinking": "" });
                numbered("content-start", block, &json!({ "content": content }), sheet);
            }
            Kind::Tool => {
                if !self.planned {
                    self.plan(TOOL_PLAN, sheet);
                }
                let message = json!({ "tool_calls": tool_call(&self.reply, "") });
                numbered("tool-call-start", block, &message, sheet);
            }
        }
    }
}

/// The index of a tool call counts tool calls, of which there is one.
fn index(block: Block) -> usize {
    if block.kind == Kind::Tool { 0 } else { block.index }
}

fn numbered(kind: &str, block: Block, message: &Value, sheet: &mut Sheet) {
    event(&json!({ "type": kind, "index": index(block), "delta": { "message": message } }), sheet);
}

fn end(block: Block, sheet: &mut Sheet) {
    let kind = if block.kind == Kind::Tool { "tool-call-end" } else { "content-end" };
    event(&json!({ "type": kind, "index": index(block) }), sheet);
}

fn event(payload: &Value, sheet: &mut Sheet) {
    sheet.named(payload["type"].as_str().unwrap_or_default(), payload);
}

fn id(reply: &Reply) -> String {
    format!("chat_{}", reply.asked.index)
}

fn tool_call(reply: &Reply, arguments: &str) -> Value {
    json!({
        "id": format!("call_{}", reply.asked.index),
        "type": "function",
        "function": { "name": TOOL, "arguments": arguments },
    })
}

fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "COMPLETE",
        Finish::Length => "MAX_TOKENS",
        Finish::ToolCalls => "TOOL_CALL",
    }
}

/// Half of what is used is billed.
fn usage(figures: &Figures) -> Value {
    let [input, output] = [figures.prompt_tokens, figures.output_tokens];
    json!({
        "billed_units": { "input_tokens": input.div_ceil(2), "output_tokens": output.div_ceil(2) },
        "tokens": { "input_tokens": input, "output_tokens": output },
        "cached_tokens": figures.cached_tokens,
    })
}
