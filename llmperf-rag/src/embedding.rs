//! The embedding stage: text becomes a vector.

use std::future::Future;

use llmperf_core::{
    Classify, Output, Recorder, Verdict, Work,
    opentelemetry::{Context, KeyValue},
    part::{Beginning, Ended, Opening, Text, Title},
};

use crate::{
    Stage,
    base::{Base, setters},
    modelled::{Asked, is_call},
};

/// An embedding, as a stage. Where provider or model are given it is a measured call: one CLIENT span `embeddings
/// {model}` with tokens and cost. Else it is an INTERNAL span `embed`.
///
/// ```
/// # struct Vectors { tokens: u64 }
/// # async fn request() -> std::io::Result<Vectors> { Ok(Vectors { tokens: 7 }) }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// use llmperf_rag::{Output, embedding};
///
/// let stage = embedding().provider("openai").model("text-embedding-3-small");
/// let vectors = stage.answer_with(request(), |vectors| Output::usage(vectors.tokens, 0)).await?;
/// # let _ = vectors; Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a stage that is not armed (`start`, `in_scope`, `run`, …) records nothing"]
pub struct Embedding {
    pub(crate) base: Base,
    pub(crate) asked: Asked,
}

/// An embedding that was not begun yet.
pub fn embedding() -> Embedding {
    Embedding { base: Base::new(Stage::Embed), asked: Asked::default() }
}

impl Embedding {
    setters!(name, provider, model);

    /// Awaits the vectors as this stage; the closure says what the answer carries: usage.
    pub fn answer_with<F, T, E, By, R>(self, request: F, reads: R) -> impl Future<Output = Result<T, E>>
    where
        F: Future<Output = Result<T, E>>,
        R: FnOnce(&T) -> Output<'_>,
        E: Classify<By>,
    {
        self.run_then(request, |mut guard, result: Result<T, E>| {
            if let Ok(answer) = &result {
                guard.answered(|| reads(answer));
            }
            guard.end(Verdict::of(&result));
            result
        })
    }

    /// What the answer carried. Asked only where the stage is a measured call.
    pub fn answered<'a>(&mut self, answer: impl FnOnce() -> Output<'a>) {
        self.asked.answered(&self.base, answer);
    }

    /// The measured call, for an answer that streams. A recorder of nothing where the stage is no call.
    pub fn call(&mut self) -> Recorder {
        self.asked.take(self.base.frame.as_ref())
    }

    /// Whether provider or model are given, so that the stage is a measured call.
    #[must_use]
    pub fn is_call(&self) -> bool {
        is_call(&self.base)
    }

    /// The vector came from a cache: no model was asked. The call is withdrawn: nothing is recorded of it but its span,
    /// renamed `embed`. Say it before the answer is told.
    #[allow(clippy::wrong_self_convention, reason = "it says where the answer is from")]
    pub fn from_cache(&mut self) {
        if let Some(frame) = &self.base.frame {
            frame.mark_from_cache();
        }
    }
}

impl Work for Embedding {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        Asked::begin(&mut self.base, beginning)
    }

    fn opened(&mut self, context: &Context) -> Option<Context> {
        self.asked.open(&self.base, "embeddings", &Text::default(), context)
    }

    fn title(&self) -> Title {
        self.base.title()
    }

    fn closing(&mut self, verdict: &Verdict) -> Option<Verdict> {
        self.asked.close(&self.base, verdict)
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        self.base.ended(ended);
    }

    fn attributes(&self, _: &Ended<'_>) -> Vec<KeyValue> {
        self.base.frame.iter().flat_map(|frame| frame.cache_attributes()).collect()
    }

    fn deadline(&self) -> Option<std::time::Duration> {
        self.base.deadline()
    }

    /// Its call ended when what it answered with was dropped.
    fn if_dropped(&self) -> Option<Verdict> {
        self.base.frame.as_ref().and_then(|frame| frame.call_ended())
    }
}
