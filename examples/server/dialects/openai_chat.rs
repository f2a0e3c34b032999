//! OpenAI chat completions: server-sent events without names, usage if asked for, `[DONE]`.

use serde_json::{Value, json};

use super::super::plan::{Finish, Kind};
use super::super::refusal::Refusal;
use super::super::reply::{Figures, Message, Reply};
use super::super::script::Asked;
use super::super::sheet::Sheet;
use super::{BREAKDOWN, CREATED, Speech, TOOL, Voice};

#[derive(Debug)]
pub(super) struct OpenAiChat;

#[derive(Debug)]
struct Telling {
    reply: Reply,
    calling: bool,
}

impl Speech for OpenAiChat {
    fn path(&self, _model: &str, _streamed: bool) -> String {
        "/v1/chat/completions".into()
    }

    fn question(&self, model: &str, prompt: &str, streamed: bool) -> Value {
        let mut question =
            json!({ "model": model, "messages": [{ "role": "user", "content": prompt }], "stream": streamed });
        if streamed {
            question["stream_options"] = json!({ "include_usage": true });
        }
        question
    }

    fn content_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    fn begins_always(&self) -> bool {
        false
    }

    fn voice(&self, reply: Reply) -> Box<dyn Voice> {
        Box::new(Telling { reply, calling: false })
    }

    fn whole(&self, reply: &Reply, message: &Message, finish: Finish) -> Value {
        let asked = &reply.asked;
        let mut told = json!({ "role": "assistant", "content": message.text });
        if !message.reasoning.is_empty() {
            told["reasoning_content"] = json!(message.reasoning);
        }
        if let Some(arguments) = &message.arguments {
            told["content"] = Value::Null;
            told["tool_calls"] = json!([tool_call(asked, arguments)]);
        }
        json!({
            "id": id(asked),
            "object": "chat.completion",
            "created": CREATED,
            "model": asked.model,
            "choices": [{ "index": 0, "message": told, "finish_reason": finish.word() }],
            "usage": usage(&reply.figures),
        })
    }

    fn refusal(&self, refusal: &Refusal, _streamed: bool) -> Value {
        error(&refusal.message, refusal.kind, refusal.code)
    }
}

impl Voice for Telling {
    fn comment(&mut self, sheet: &mut Sheet) {
        sheet.comment();
    }

    fn role(&mut self, sheet: &mut Sheet) {
        sheet.data(&self.chunk(&json!({ "role": "assistant", "content": "" }), None));
    }

    fn output(&mut self, kind: Kind, text: &str, _tokens: u32, sheet: &mut Sheet) {
        let delta = match kind {
            Kind::Text => json!({ "content": text }),
            Kind::Reasoning => json!({ "reasoning_content": text }),
            Kind::Tool if self.calling => {
                json!({ "tool_calls": [{ "index": 0, "function": { "arguments": text } }] })
            }
            Kind::Tool => {
                self.calling = true;
                json!({ "tool_calls": [tool_call(&self.reply.asked, text)] })
            }
        };
        sheet.data(&self.chunk(&delta, None));
    }

    fn finish(&mut self, finish: Finish, sheet: &mut Sheet) {
        sheet.data(&self.chunk(&json!({}), Some(finish)));
        if self.reply.asked.include_usage {
            let mut chunk = self.chunk(&Value::Null, None);
            chunk["choices"] = json!([]);
            chunk["usage"] = usage(&self.reply.figures);
            sheet.data(&chunk);
        }
    }

    fn mark(&mut self, _finish: Finish, sheet: &mut Sheet) {
        sheet.data(&"[DONE]");
    }

    fn error(&mut self, sheet: &mut Sheet) {
        sheet.data(&error(BREAKDOWN, "server_error", "engine_overloaded"));
    }
}

impl Telling {
    fn chunk(&self, delta: &Value, finish: Option<Finish>) -> Value {
        let asked = &self.reply.asked;
        let mut chunk = json!({
            "id": id(asked),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": asked.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish.map(Finish::word) }],
        });
        if asked.include_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

fn id(asked: &Asked) -> String {
    format!("chatcmpl-{}", asked.index)
}

/// An error in the shape that clients of the API parse.
pub(super) fn error(message: &str, kind: &str, code: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

fn tool_call(asked: &Asked, arguments: &str) -> Value {
    json!({
        "index": 0,
        "id": format!("call_{}", asked.index),
        "type": "function",
        "function": { "name": TOOL, "arguments": arguments },
    })
}

fn usage(figures: &Figures) -> Value {
    json!({
        "prompt_tokens": figures.prompt_tokens,
        "completion_tokens": figures.output_tokens,
        "total_tokens": figures.total_tokens(),
        "prompt_tokens_details": { "cached_tokens": figures.cached_tokens },
        "completion_tokens_details": { "reasoning_tokens": figures.reasoning_tokens },
    })
}

impl Finish {
    /// The API's word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
        }
    }
}
