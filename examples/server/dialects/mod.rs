//! The dialects that the server speaks: what they have in common, and a file for each provider.

mod anthropic;
mod bedrock;
mod blocks;
mod cohere;
mod event_stream;
mod gemini;
mod ollama;
mod openai_chat;
mod responses;

use std::fmt;

use llmperf_core::Outcome;
use serde_json::{Value, json};

use super::plan::{Consumer, Ending, Finish, Kind, Plan};
use super::refusal::Refusal;
use super::reply::{Message, Reply};
use super::script::{Asked, Script};
use super::sheet::Sheet;

/// The name of the only tool that the models call.
const TOOL: &str = "look_up";
/// What the server says of an error inside a stream.
const BREAKDOWN: &str = "The engine ran out of memory.";
/// Seconds since 1970; the same for every run, so that the bytes are a function of plan and request.
const CREATED: u64 = 1_796_083_200;
/// What providers sign reasoning with, so that it can be sent back.
const SIGNATURE: &str = "c2lnbmVk";

/// A provider's way to be asked and to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Dialect {
    /// OpenAI chat completions, which Mistral and many others speak too.
    OpenAiChat,
    Responses,
    Anthropic,
    /// Gemini with `alt=sse`.
    GeminiSse,
    GeminiArray,
    OllamaChat,
    OllamaGenerate,
    /// Cohere's chat of version 2.
    Cohere,
    /// Bedrock's Converse.
    Bedrock,
}

impl Dialect {
    pub(crate) const ALL: [Self; 9] = [
        Self::OpenAiChat,
        Self::Responses,
        Self::Anthropic,
        Self::GeminiSse,
        Self::GeminiArray,
        Self::OllamaChat,
        Self::OllamaGenerate,
        Self::Cohere,
        Self::Bedrock,
    ];

    /// The path to ask a model at, with its query.
    pub(crate) fn path(self, model: &str, streamed: bool) -> String {
        self.speech().path(model, streamed)
    }

    /// The least request body that the path takes. Bodies that say nothing of streaming leave it to the path.
    pub(crate) fn question(self, model: &str, prompt: &str, streamed: bool) -> Value {
        self.speech().question(model, prompt, streamed)
    }

    /// How a call of this plan ends for a client that streams.
    ///
    /// Without its marker an answer is whole only if the reason of its end was told before.
    pub(crate) fn outcome(self, plan: &Plan) -> Outcome {
        match (plan.ending, plan.outcome()) {
            (Ending::Unmarked(_), Outcome::Complete) if !self.speech().tells_reason_before_marker() => {
                Outcome::Interrupted
            }
            (_, outcome) => outcome,
        }
    }

    /// The plan with a client that leaves no later than at the last event that comes in this dialect: those that give
    /// tool calls whole have fewer events than pieces.
    pub(crate) fn fit(self, mut plan: Plan) -> Plan {
        if let Consumer::Leaves { events } = plan.consumer {
            let asked = Asked { dialect: self, index: 0, model: plan.model.into(), include_usage: true };
            let written: u32 = Script::new(plan.clone(), asked).map(|step| step.content.events).sum();
            let last = usize::try_from(written).unwrap_or(usize::MAX);
            plan.consumer = Consumer::Leaves { events: events.min(last) };
        }
        plan
    }

    pub(super) fn speech(self) -> &'static dyn Speech {
        match self {
            Self::OpenAiChat => &openai_chat::OpenAiChat,
            Self::Responses => &responses::Responses,
            Self::Anthropic => &anthropic::Anthropic,
            Self::GeminiSse => &gemini::Gemini::Sse,
            Self::GeminiArray => &gemini::Gemini::Array,
            Self::OllamaChat => &ollama::Ollama::Chat,
            Self::OllamaGenerate => &ollama::Ollama::Generate,
            Self::Cohere => &cohere::Cohere,
            Self::Bedrock => &bedrock::Bedrock,
        }
    }
}

/// What a dialect is made of.
pub(super) trait Speech: fmt::Debug + Sync {
    fn path(&self, model: &str, streamed: bool) -> String;

    fn question(&self, model: &str, prompt: &str, streamed: bool) -> Value;

    /// The field of the request body that holds the question.
    fn question_key(&self) -> &'static str {
        "messages"
    }

    /// The content type of a stream.
    fn content_type(&self) -> &'static str;

    /// The response header that carries the request's id, if there is one.
    fn request_id(&self) -> Option<&'static str> {
        Some("x-request-id")
    }

    /// The frame that begins a stream always comes, planned or not.
    fn begins_always(&self) -> bool {
        true
    }

    /// Tool calls come whole, when their last token has been generated.
    fn gives_calls_whole(&self) -> bool {
        false
    }

    /// A stream that lacks only its marker has told why it ended.
    fn tells_reason_before_marker(&self) -> bool {
        true
    }

    /// Begins a streamed answer.
    fn voice(&self, reply: Reply) -> Box<dyn Voice>;

    /// The body of an answer that is not streamed.
    fn whole(&self, reply: &Reply, message: &Message, finish: Finish) -> Value;

    /// The body of an error status.
    fn refusal(&self, refusal: &Refusal, streamed: bool) -> Value;

    /// A header that says which error it is.
    fn error_header(&self, _refusal: &Refusal) -> Option<(&'static str, &'static str)> {
        None
    }
}

/// One streamed answer, told piece by piece.
pub(super) trait Voice: fmt::Debug + Send {
    /// A sign of life between events, where the framing has one.
    fn comment(&mut self, _sheet: &mut Sheet) {}

    /// What comes before any output and carries none.
    fn role(&mut self, sheet: &mut Sheet);

    /// Output of so many tokens; `text` is empty where only a tool's name is told.
    fn output(&mut self, kind: Kind, text: &str, tokens: u32, sheet: &mut Sheet);

    /// Everything at the end but the marker.
    fn finish(&mut self, finish: Finish, sheet: &mut Sheet);

    /// The last event of a stream that is whole.
    fn mark(&mut self, finish: Finish, sheet: &mut Sheet);

    /// An error inside the stream.
    fn error(&mut self, sheet: &mut Sheet);
}

/// Letters that make an event longer, so that its length does not tell what is in it.
fn padding(event: usize) -> &'static str {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    &LETTERS[..4 + event * 7 % 40]
}

/// The arguments of a tool call, where they are told as an object. A tool without any takes an empty one.
fn json_object(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!({}))
}
