//! The JSON of the API: a chunk of a stream, a whole answer, usage, an error.

use serde_json::{Value, json};

use super::plan::{Ending, Finish, Kind, Piece, Plan};
use super::words::Words;

/// The same for every run, so that the bytes are a function of plan and request.
const CREATED: u64 = 1_796_083_200;

/// The request as far as it changes the answer.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Number of the plan; part of the response's id.
    pub(crate) index: u64,
    pub(crate) model: String,
    /// Whether a stream ends with a usage frame.
    pub(crate) include_usage: bool,
}

pub(super) fn chunk(asked: &Asked, delta: &Value, finish: Option<Finish>) -> Value {
    let mut chunk = json!({
        "id": format!("chatcmpl-{}", asked.index),
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

/// What one piece adds to the message.
pub(super) fn delta(asked: &Asked, words: &mut Words, piece: Piece) -> Value {
    match piece {
        Piece::Output { kind: Kind::Text, tokens } => json!({ "content": words.text(tokens) }),
        Piece::Output { kind: Kind::Reasoning, tokens } => json!({ "reasoning_content": words.text(tokens) }),
        Piece::Output { kind: Kind::Tool, tokens } => {
            let starts = !words.tool_started();
            let arguments = words.arguments(tokens);
            let call = if starts {
                tool_call(asked, &arguments)
            } else {
                json!({ "index": 0, "function": { "arguments": arguments } })
            };
            json!({ "tool_calls": [call] })
        }
        Piece::Role | Piece::Comment => json!({ "role": "assistant", "content": "" }),
    }
}

/// The frame that follows the finish reason if the client wants it.
pub(super) fn usage_chunk(asked: &Asked, plan: &Plan) -> Value {
    let mut chunk = chunk(asked, &Value::Null, None);
    chunk["choices"] = json!([]);
    chunk["usage"] = usage(plan);
    chunk
}

/// The body of an answer that is not streamed.
pub(super) fn whole(plan: &Plan, asked: &Asked) -> Value {
    let (mut reasoning, mut text, mut arguments) = (String::new(), String::new(), String::new());
    let mut words = Words::new(plan, asked.index);
    for piece in plan.pieces() {
        let Piece::Output { kind, tokens } = piece else { continue };
        match kind {
            Kind::Reasoning => reasoning.push_str(&words.text(tokens)),
            Kind::Text => text.push_str(&words.text(tokens)),
            Kind::Tool => arguments.push_str(&words.arguments(tokens)),
        }
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if words.tool_started() {
        message["content"] = Value::Null;
        message["tool_calls"] = json!([tool_call(asked, &arguments)]);
    }
    let finish = match plan.ending {
        Ending::Complete(finish) | Ending::Unmarked(finish) => Some(finish.word()),
        Ending::ErrorFrame | Ending::Cut | Ending::Silent | Ending::Refused(_) => None,
    };
    json!({
        "id": format!("chatcmpl-{}", asked.index),
        "object": "chat.completion",
        "created": CREATED,
        "model": asked.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
        "usage": usage(plan),
    })
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
        "function": { "name": "look_up", "arguments": arguments },
    })
}

fn usage(plan: &Plan) -> Value {
    let output = plan.output_tokens();
    json!({
        "prompt_tokens": plan.prompt_tokens,
        "completion_tokens": output,
        "total_tokens": plan.prompt_tokens + output,
        "prompt_tokens_details": { "cached_tokens": plan.cached_tokens },
        "completion_tokens_details": { "reasoning_tokens": plan.reasoning_tokens() },
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
