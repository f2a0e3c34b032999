//! OpenAI Responses: named, numbered server-sent events; what was streamed is told again when an item is done, and
//! figures come with the terminal event, which alone says how the answer ended.

use serde_json::{Value, json};

use super::super::plan::{Finish, Kind};
use super::super::refusal::Refusal;
use super::super::reply::{Figures, Message, Reply};
use super::super::sheet::Sheet;
use super::blocks::{Block, Blocks};
use super::{BREAKDOWN, CREATED, Speech, TOOL, Voice, openai_chat, padding};

#[derive(Debug)]
pub(super) struct Responses;

#[derive(Debug)]
struct Telling {
    reply: Reply,
    /// Number of the next event.
    sequence: usize,
    blocks: Blocks,
    /// What the open item holds so far.
    text: String,
    /// The items that are done.
    output: Vec<Value>,
}

impl Speech for Responses {
    fn path(&self, _model: &str, _streamed: bool) -> String {
        "/v1/responses".into()
    }

    fn question(&self, model: &str, prompt: &str, streamed: bool) -> Value {
        json!({ "model": model, "input": prompt, "stream": streamed })
    }

    fn question_key(&self) -> &'static str {
        "input"
    }

    fn content_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn tells_reason_before_marker(&self) -> bool {
        false
    }

    fn voice(&self, reply: Reply) -> Box<dyn Voice> {
        Box::new(Telling { reply, sequence: 0, blocks: Blocks::default(), text: String::new(), output: Vec::new() })
    }

    fn whole(&self, reply: &Reply, message: &Message, finish: Finish) -> Value {
        let mut output = Vec::new();
        let mut add = |kind, text: &str| {
            let block = Block { index: output.len(), kind };
            output.push(item(reply, block, Some(text), status(finish)));
        };
        if !message.reasoning.is_empty() {
            add(Kind::Reasoning, &message.reasoning);
        }
        if !message.text.is_empty() {
            add(Kind::Text, &message.text);
        }
        if let Some(arguments) = &message.arguments {
            add(Kind::Tool, arguments);
        }
        ended(reply, &output, finish)
    }

    fn refusal(&self, refusal: &Refusal, _streamed: bool) -> Value {
        openai_chat::error(&refusal.message, refusal.kind, refusal.code)
    }
}

impl Voice for Telling {
    fn comment(&mut self, sheet: &mut Sheet) {
        sheet.comment();
    }

    fn role(&mut self, sheet: &mut Sheet) {
        let response = response(&self.reply, "in_progress", &[]);
        self.event("response.created", json!({ "response": response }), sheet);
        self.event("response.in_progress", json!({ "response": response }), sheet);
    }

    fn output(&mut self, kind: Kind, text: &str, _tokens: u32, sheet: &mut Sheet) {
        let turn = self.blocks.turn(kind);
        if let Some(ended) = turn.ended {
            self.done(ended, "completed", sheet);
        }
        if turn.begins {
            self.added(turn.block, sheet);
        }
        if text.is_empty() {
            return; // A tool's name, which the new item has told.
        }
        self.text.push_str(text);
        let mut delta = self.place(turn.block);
        delta["delta"] = json!(text);
        delta["obfuscation"] = json!(padding(self.sequence));
        if kind == Kind::Text {
            delta["logprobs"] = json!([]);
        }
        self.event(&format!("response.{}.delta", part_name(kind)), delta, sheet);
    }

    fn finish(&mut self, finish: Finish, sheet: &mut Sheet) {
        if let Some(block) = self.blocks.end() {
            self.done(block, status(finish), sheet);
        }
    }

    fn mark(&mut self, finish: Finish, sheet: &mut Sheet) {
        let response = ended(&self.reply, &self.output, finish);
        self.event(&format!("response.{}", status(finish)), json!({ "response": response }), sheet);
    }

    fn error(&mut self, sheet: &mut Sheet) {
        let error = json!({ "code": "server_error", "message": BREAKDOWN, "param": null });
        self.event("error", error, sheet);
        let mut response = response(&self.reply, "failed", &self.output);
        response["error"] = json!({ "code": "server_error", "message": BREAKDOWN });
        self.event("response.failed", json!({ "response": response }), sheet);
    }
}

impl Telling {
    fn event(&mut self, name: &str, mut payload: Value, sheet: &mut Sheet) {
        payload["type"] = json!(name);
        payload["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        sheet.named(name, &payload);
    }

    fn added(&mut self, block: Block, sheet: &mut Sheet) {
        let item = item(&self.reply, block, None, "in_progress");
        self.event("response.output_item.added", json!({ "output_index": block.index, "item": item }), sheet);
        if let Some(part) = part(block.kind, "") {
            let mut added = self.place(block);
            added["part"] = part;
            self.event("response.content_part.added", added, sheet);
        }
    }

    fn done(&mut self, block: Block, status: &str, sheet: &mut Sheet) {
        let text = std::mem::take(&mut self.text);
        let mut done = self.place(block);
        match block.kind {
            Kind::Tool => {
                done["name"] = json!(TOOL);
                done["arguments"] = json!(text);
            }
            Kind::Text => {
                done["text"] = json!(text);
                done["logprobs"] = json!([]);
            }
            Kind::Reasoning => done["text"] = json!(text),
        }
        self.event(&format!("response.{}.done", part_name(block.kind)), done, sheet);
        if let Some(part) = part(block.kind, &text) {
            let mut done = self.place(block);
            done["part"] = part;
            self.event("response.content_part.done", done, sheet);
        }
        let item = item(&self.reply, block, Some(&text), status);
        self.event("response.output_item.done", json!({ "output_index": block.index, "item": item }), sheet);
        self.output.push(item);
    }

    /// The fields that say which part of which item an event is about.
    fn place(&self, block: Block) -> Value {
        let mut place = json!({ "item_id": item_id(&self.reply, block), "output_index": block.index });
        if block.kind != Kind::Tool {
            place["content_index"] = json!(0);
        }
        place
    }
}

/// What the events of a part are named after.
fn part_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Reasoning => "reasoning_text",
        Kind::Text => "output_text",
        Kind::Tool => "function_call_arguments",
    }
}

fn item_id(reply: &Reply, block: Block) -> String {
    let prefix = match block.kind {
        Kind::Reasoning => "rs",
        Kind::Text => "msg",
        Kind::Tool => "fc",
    };
    format!("{prefix}_{}_{}", reply.asked.index, block.index)
}

fn part(kind: Kind, text: &str) -> Option<Value> {
    match kind {
        Kind::Reasoning => Some(json!({ "type": "reasoning_text", "text": text })),
        Kind::Text => Some(json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text })),
        Kind::Tool => None,
    }
}

/// An item; one that has only been begun holds no text yet.
fn item(reply: &Reply, block: Block, text: Option<&str>, status: &str) -> Value {
    let id = item_id(reply, block);
    let content: Vec<Value> = text.and_then(|text| part(block.kind, text)).into_iter().collect();
    match block.kind {
        Kind::Reasoning => {
            json!({ "id": id, "type": "reasoning", "status": status, "summary": [], "content": content })
        }
        Kind::Text => {
            json!({ "id": id, "type": "message", "status": status, "role": "assistant", "content": content })
        }
        Kind::Tool => json!({
            "id": id,
            "type": "function_call",
            "status": status,
            "call_id": format!("call_{}", reply.asked.index),
            "name": TOOL,
            "arguments": text.unwrap_or_default(),
        }),
    }
}

fn status(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::ToolCalls => "completed",
        Finish::Length => "incomplete",
    }
}

fn ended(reply: &Reply, output: &[Value], finish: Finish) -> Value {
    let mut response = response(reply, status(finish), output);
    if finish == Finish::Length {
        response["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    }
    response["usage"] = usage(&reply.figures);
    response
}

fn response(reply: &Reply, status: &str, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_{}", reply.asked.index),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "model": reply.asked.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": { "effort": null, "summary": null },
        "store": false,
        "temperature": 1.0,
        "text": { "format": { "type": "text" } },
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": null,
        "user": null,
        "metadata": {},
    })
}

fn usage(figures: &Figures) -> Value {
    json!({
        "input_tokens": figures.prompt_tokens,
        "input_tokens_details": { "cached_tokens": figures.cached_tokens },
        "output_tokens": figures.output_tokens,
        "output_tokens_details": { "reasoning_tokens": figures.reasoning_tokens },
        "total_tokens": figures.total_tokens(),
    })
}
