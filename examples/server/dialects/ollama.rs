//! Ollama, chat and generate: a JSON object a line, tool calls whole, the server's own timings in the last line.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::plan::{Finish, Kind};
use super::super::refusal::Refusal;
use super::super::reply::{Figures, Message, Reply};
use super::super::sheet::Sheet;
use super::{BREAKDOWN, Speech, TOOL, Voice, json_object};

/// Which of the two.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ollama {
    Chat,
    Generate,
}

#[derive(Debug)]
struct Telling {
    endpoint: Ollama,
    reply: Reply,
    lines: u32,
}

impl Speech for Ollama {
    fn path(&self, _model: &str, _streamed: bool) -> String {
        match self {
            Self::Chat => "/api/chat".into(),
            Self::Generate => "/api/generate".into(),
        }
    }

    /// Streaming is what it does unless told otherwise.
    fn question(&self, model: &str, prompt: &str, streamed: bool) -> Value {
        let mut question = match self {
            Self::Chat => json!({ "model": model, "messages": [{ "role": "user", "content": prompt }] }),
            Self::Generate => json!({ "model": model, "prompt": prompt }),
        };
        if !streamed {
            question["stream"] = json!(false);
        }
        question
    }

    fn question_key(&self) -> &'static str {
        match self {
            Self::Chat => "messages",
            Self::Generate => "prompt",
        }
    }

    fn content_type(&self) -> &'static str {
        "application/x-ndjson"
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

    fn tells_reason_before_marker(&self) -> bool {
        false
    }

    fn voice(&self, reply: Reply) -> Box<dyn Voice> {
        Box::new(Telling { endpoint: *self, reply, lines: 0 })
    }

    fn whole(&self, reply: &Reply, message: &Message, finish: Finish) -> Value {
        let mut line = self.line(reply, 0, &message.text);
        if !message.reasoning.is_empty() {
            self.set(&mut line, "thinking", json!(message.reasoning));
        }
        if let Some(arguments) = &message.arguments {
            self.set(&mut line, "tool_calls", tool_calls(reply, arguments));
        }
        done(&mut line, &reply.figures, finish);
        line
    }

    fn refusal(&self, refusal: &Refusal, _streamed: bool) -> Value {
        json!({ "error": refusal.message })
    }
}

impl Voice for Telling {
    fn role(&mut self, sheet: &mut Sheet) {
        let line = self.next("");
        write(&line, sheet);
    }

    fn output(&mut self, kind: Kind, text: &str, _tokens: u32, sheet: &mut Sheet) {
        let mut line = self.next(if kind == Kind::Text { text } else { "" });
        match kind {
            Kind::Text => {}
            Kind::Reasoning => self.endpoint.set(&mut line, "thinking", json!(text)),
            Kind::Tool => self.endpoint.set(&mut line, "tool_calls", tool_calls(&self.reply, text)),
        }
        write(&line, sheet);
    }

    /// The last line tells all there is to tell.
    fn finish(&mut self, _finish: Finish, _sheet: &mut Sheet) {}

    fn mark(&mut self, finish: Finish, sheet: &mut Sheet) {
        let mut line = self.next("");
        done(&mut line, &self.reply.figures, finish);
        if let Ollama::Generate = self.endpoint {
            line["context"] = json!([1, 2, 3]);
        }
        write(&line, sheet);
    }

    fn error(&mut self, sheet: &mut Sheet) {
        write(&json!({ "error": BREAKDOWN }), sheet);
    }
}

impl Telling {
    fn next(&mut self, text: &str) -> Value {
        self.lines += 1;
        self.endpoint.line(&self.reply, self.lines, text)
    }
}

impl Ollama {
    fn line(self, reply: &Reply, number: u32, text: &str) -> Value {
        let mut line = json!({
            "model": reply.asked.model,
            "created_at": format!("2026-12-01T00:00:00.{number:06}Z"),
            "done": false,
        });
        match self {
            Self::Chat => line["message"] = json!({ "role": "assistant", "content": text }),
            Self::Generate => line["response"] = json!(text),
        }
        line
    }

    fn set(self, line: &mut Value, name: &str, value: Value) {
        match self {
            Self::Chat => line["message"][name] = value,
            Self::Generate => line[name] = value,
        }
    }
}

fn write(line: &Value, sheet: &mut Sheet) {
    sheet.event(format!("{line}\n").as_bytes());
}

fn tool_calls(reply: &Reply, arguments: &str) -> Value {
    let function = json!({ "index": 0, "name": TOOL, "arguments": json_object(arguments) });
    json!([{ "id": format!("call_{}", reply.asked.index), "function": function }])
}

/// Makes a line the last one. Nothing in it is zero: Ollama leaves zeros out.
fn done(line: &mut Value, figures: &Figures, finish: Finish) {
    line["done"] = json!(true);
    line["done_reason"] = json!(match finish {
        Finish::Stop | Finish::ToolCalls => "stop",
        Finish::Length => "length",
    });
    line["total_duration"] = nanoseconds(figures.total);
    line["load_duration"] = nanoseconds(figures.queue);
    line["prompt_eval_count"] = json!(figures.prompt_tokens);
    line["prompt_eval_duration"] = nanoseconds(figures.prefill);
    line["eval_count"] = json!(figures.output_tokens);
    line["eval_duration"] = nanoseconds(figures.generation);
}

fn nanoseconds(time: Duration) -> Value {
    json!(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1))
}
