//! Gemini: responses with the figures so far, as server-sent events without names or as one JSON array. Reasoning counts
//! outside the answer's tokens, tool calls come whole.

use serde_json::{Value, json};

use super::super::plan::{Finish, Kind};
use super::super::refusal::Refusal;
use super::super::reply::{Figures, Message, Reply};
use super::super::sheet::Sheet;
use super::{BREAKDOWN, SIGNATURE, Speech, TOOL, Voice, json_object};

/// How a stream is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gemini {
    Sse,
    Array,
}

#[derive(Debug)]
struct Telling {
    framing: Gemini,
    reply: Reply,
    /// Tokens of the answer and of reasoning so far.
    answer: u32,
    reasoning: u32,
    /// The array has been opened.
    open: bool,
}

impl Speech for Gemini {
    fn path(&self, model: &str, streamed: bool) -> String {
        let operation = match (streamed, self) {
            (false, _) => "generateContent",
            (true, Self::Sse) => "streamGenerateContent?alt=sse",
            (true, Self::Array) => "streamGenerateContent",
        };
        format!("/v1beta/models/{model}:{operation}")
    }

    fn question(&self, _model: &str, prompt: &str, _streamed: bool) -> Value {
        json!({ "contents": [{ "role": "user", "parts": [{ "text": prompt }] }] })
    }

    fn question_key(&self) -> &'static str {
        "contents"
    }

    fn content_type(&self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            Self::Array => "application/json; charset=UTF-8",
        }
    }

    fn request_id(&self) -> Option<&'static str> {
        None
    }

    fn begins_always(&self) -> bool {
        false
    }

    fn gives_calls_whole(&self) -> bool {
        true
    }

    fn voice(&self, reply: Reply) -> Box<dyn Voice> {
        Box::new(Telling { framing: *self, reply, answer: 0, reasoning: 0, open: false })
    }

    fn whole(&self, reply: &Reply, message: &Message, finish: Finish) -> Value {
        let mut parts = Vec::new();
        if !message.reasoning.is_empty() {
            parts.push(part(Kind::Reasoning, &message.reasoning));
        }
        if !message.text.is_empty() {
            parts.push(part(Kind::Text, &message.text));
        }
        if let Some(arguments) = &message.arguments {
            parts.push(part(Kind::Tool, arguments));
        }
        let figures = &reply.figures;
        let usage = usage(figures, figures.answer_tokens(), figures.reasoning_tokens);
        response(reply, &json!(parts), Some(finish), &usage)
    }

    /// Where a client expects an array, it gets one.
    fn refusal(&self, refusal: &Refusal, streamed: bool) -> Value {
        let status = match refusal.status.as_u16() {
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            400..=499 => "INVALID_ARGUMENT",
            _ => "INTERNAL",
        };
        let error = error(refusal.status.as_u16(), status, &refusal.message);
        if streamed && *self == Self::Array { json!([error]) } else { error }
    }
}

impl Voice for Telling {
    fn comment(&mut self, sheet: &mut Sheet) {
        if self.framing == Gemini::Sse {
            sheet.frame(b": keep-alive\r\n\r\n");
        }
    }

    fn role(&mut self, sheet: &mut Sheet) {
        self.respond(&json!([{ "text": "" }]), None, sheet);
    }

    fn output(&mut self, kind: Kind, text: &str, tokens: u32, sheet: &mut Sheet) {
        match kind {
            Kind::Reasoning => self.reasoning += tokens,
            Kind::Text | Kind::Tool => self.answer += tokens,
        }
        self.respond(&json!([part(kind, text)]), None, sheet);
    }

    fn finish(&mut self, finish: Finish, sheet: &mut Sheet) {
        let mut part = json!({ "text": "" });
        if self.reasoning > 0 {
            part["thoughtSignature"] = json!(SIGNATURE);
        }
        self.respond(&json!([part]), Some(finish), sheet);
    }

    /// The reason of the end is the last that server-sent events tell; an array has its bracket.
    fn mark(&mut self, _finish: Finish, sheet: &mut Sheet) {
        self.close(sheet);
    }

    fn error(&mut self, sheet: &mut Sheet) {
        let error = error(503, "UNAVAILABLE", BREAKDOWN);
        match self.framing {
            // In the middle of a stream the server forgets how it is framed.
            Gemini::Sse => sheet.event(format!("{error:#}\n").as_bytes()),
            Gemini::Array => {
                self.element(&error, sheet);
                self.close(sheet);
            }
        }
    }
}

impl Telling {
    fn respond(&mut self, parts: &Value, finish: Option<Finish>, sheet: &mut Sheet) {
        let usage = usage(&self.reply.figures, self.answer, self.reasoning);
        let response = response(&self.reply, parts, finish, &usage);
        match self.framing {
            Gemini::Sse => sheet.event(format!("data: {response}\r\n\r\n").as_bytes()),
            Gemini::Array => self.element(&response, sheet),
        }
    }

    fn element(&mut self, element: &Value, sheet: &mut Sheet) {
        let before = if self.open { ",\r\n" } else { "[" };
        self.open = true;
        sheet.event(format!("{before}{element:#}\n").as_bytes());
    }

    fn close(&mut self, sheet: &mut Sheet) {
        if self.framing == Gemini::Array {
            sheet.event(b"]\n");
        }
    }
}

fn part(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Text => json!({ "text": text }),
        Kind::Reasoning => json!({ "text": text, "thought": true }),
        Kind::Tool => json!({ "functionCall": { "name": TOOL, "args": json_object(text) } }),
    }
}

fn response(reply: &Reply, parts: &Value, finish: Option<Finish>, usage: &Value) -> Value {
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(match finish {
            Finish::Stop | Finish::ToolCalls => "STOP",
            Finish::Length => "MAX_TOKENS",
        });
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": reply.asked.model,
        "responseId": format!("gen_{}", reply.asked.index),
    })
}

/// A figure that is zero is left out.
fn usage(figures: &Figures, answer: u32, reasoning: u32) -> Value {
    let prompt = figures.prompt_tokens;
    let mut usage = json!({
        "promptTokenCount": prompt,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": prompt }],
        "totalTokenCount": prompt + answer + reasoning,
    });
    let others = [
        ("candidatesTokenCount", answer),
        ("thoughtsTokenCount", reasoning),
        ("cachedContentTokenCount", figures.cached_tokens),
    ];
    for (name, tokens) in others.into_iter().filter(|(_, tokens)| *tokens > 0) {
        usage[name] = json!(tokens);
    }
    usage
}

fn error(code: u16, status: &str, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message, "status": status } })
}
