//! Ollama: a stream as its server sends it, and typed structs for it.

use std::hint::black_box;

use memchr::memchr;
use serde::Deserialize;

use crate::{FRAMES, Sum, WORDS};

pub(crate) fn lines() -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = (0..FRAMES)
        .map(|n| {
            format!(
                "{{\"model\":\"gemma3:1b\",\"created_at\":\"2025-08-20T13:48:24.{:06}Z\",\"message\":{{\"role\":\"assistant\",\"content\":\"{}\"}},\"done\":false}}\n",
                n * 401 % 1_000_000,
                WORDS[n % WORDS.len()],
            )
            .into_bytes()
        })
        .collect();
    lines.push(
        b"{\"model\":\"gemma3:1b\",\"created_at\":\"2025-08-20T13:48:34.421331Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done_reason\":\"stop\",\"done\":true,\"total_duration\":171946792,\"load_duration\":38473250,\"prompt_eval_count\":16,\"prompt_eval_duration\":27608250,\"eval_count\":2000,\"eval_duration\":105611917}\n"
            .to_vec(),
    );
    lines
}

/// The same payloads as server-sent events.
pub(crate) fn events() -> Vec<Vec<u8>> {
    lines().iter().map(|line| [b"data: ", line.as_slice(), b"\n"].concat()).collect()
}

#[derive(Deserialize)]
struct Line {
    model: String,
    created_at: String,
    message: Option<Message>,
    done: bool,
    done_reason: Option<String>,
    total_duration: Option<u64>,
    load_duration: Option<u64>,
    prompt_eval_count: Option<u64>,
    prompt_eval_duration: Option<u64>,
    eval_count: Option<u64>,
    eval_duration: Option<u64>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: String,
    thinking: Option<String>,
    tool_calls: Option<Vec<serde_json::Value>>,
}

/// Lines as client crates find them: what has come is kept until a line is whole.
pub(crate) fn typed(reads: &[Vec<u8>]) -> Sum {
    let mut sum = (0, 0);
    let mut held: Vec<u8> = Vec::new();
    for read in reads {
        held.extend_from_slice(read);
        let mut from = 0;
        while let Some(end) = memchr(b'\n', &held[from..]) {
            take(&serde_json::from_slice(&held[from..from + end]).unwrap(), &mut sum);
            from += end + 1;
        }
        held.drain(..from);
    }
    sum
}

/// The same payloads where they come as server-sent events.
pub(crate) fn typed_event(_: &str, data: &str, sum: &mut Sum) {
    take(&serde_json::from_str(data).unwrap(), sum);
}

fn take(line: &Line, sum: &mut Sum) {
    black_box((&line.model, &line.created_at, line.done, &line.done_reason));
    black_box([line.total_duration, line.load_duration, line.prompt_eval_duration, line.eval_duration]);
    if let Some(message) = &line.message {
        black_box((&message.role, &message.tool_calls));
        sum.0 += message.content.len() + message.thinking.as_deref().map_or(0, str::len);
    }
    sum.1 += line.prompt_eval_count.unwrap_or(0) + line.eval_count.unwrap_or(0);
}
