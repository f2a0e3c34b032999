//! The generation stage: the model answers.

use std::future::Future;

use futures_core::Stream;
use llmperf_core::{
    ByItem, Carries, Classify, Guard, MeasureStream as _, Measured, Output, Recorder, TryWith, Verdict, With, Work,
    WorkStream,
    opentelemetry::{Context, KeyValue},
    part::{Beginning, Ended, Opening, Text, Title},
};

use crate::{
    Stage,
    base::{Base, setters},
    modelled::{Asked, is_call},
};

/// A stream that is the answer of a [`Generation`]: its end is the end of the stage.
pub type AnswerStream<S, R> = WorkStream<Measured<S, R>, Generation, fn(&mut Guard<Generation>, &<S as Stream>::Item)>;

/// The answer of a model, as a stage. Where provider or model are given it is a measured call: one CLIENT span `chat
/// {model}` with all that llmperf measures of calls, and the stage ends as the call does. Else it is an INTERNAL span
/// `generate`, for calls that are measured inside.
///
/// ```
/// use futures::{StreamExt as _, stream};
/// use llmperf_rag::{Output, generation};
///
/// # async fn request() -> std::io::Result<stream::Iter<std::array::IntoIter<&'static str, 2>>> {
/// #     Ok(stream::iter(["Dry", " weekend"]))
/// # }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let stage = generation().provider("openai").model("gpt-4o-mini");
/// let mut answer = stage.open_with(request(), |token| Output::text(token)).await?;
/// while let Some(token) = answer.next().await {
///     print!("{token}");
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a stage that is not armed (`start`, `in_scope`, `run`, …) records nothing"]
pub struct Generation {
    pub(crate) base: Base,
    prompt: Text,
    pub(crate) asked: Asked,
}

/// A generation that was not begun yet.
pub fn generation() -> Generation {
    Generation { base: Base::new(Stage::Generate), prompt: Text::default(), asked: Asked::default() }
}

impl Generation {
    setters!(name, provider, model);

    /// The prompt. It leaves the process only where content capture is on, and only of a measured call.
    pub fn prompt(mut self, prompt: impl Into<Text>) -> Self {
        self.prompt = prompt.into();
        self
    }

    /// Whether the answer is asked for as a stream: if that fails before it begins, the objectives of streams are missed.
    /// What awaits a stream says so itself.
    pub fn streams(mut self, streams: bool) -> Self {
        self.asked.streams = streams;
        self
    }

    /// Awaits a whole answer as this stage; the closure says what it carries: text, usage, finish reason.
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

    /// Awaits a request that gives a stream whose items know what they carry; the stage ends with the stream.
    pub fn open<F, S, E, By>(self, request: F) -> impl Future<Output = Result<AnswerStream<S, ByItem>, E>>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream<Item: Carries>,
        E: Classify<By>,
    {
        self.opened_by(request, |stream: S, call| stream.measure(call))
    }

    /// As [`open`](Self::open); the closure says what an item carries.
    pub fn open_with<F, S, E, By, R>(
        self,
        request: F,
        reads: R,
    ) -> impl Future<Output = Result<AnswerStream<S, With<R>>, E>>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream,
        R: FnMut(&S::Item) -> Output<'_>,
        E: Classify<By>,
    {
        self.opened_by(request, |stream: S, call| stream.measure_with(call, reads))
    }

    /// As [`open_with`](Self::open_with), for streams of `Result`s.
    pub fn try_open_with<F, S, E, By, T, I, ByItems, R>(
        self,
        request: F,
        reads: R,
    ) -> impl Future<Output = Result<AnswerStream<S, TryWith<R, ByItems>>, E>>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream<Item = Result<T, I>>,
        R: FnMut(&T) -> Output<'_>,
        I: Classify<ByItems>,
        E: Classify<By>,
    {
        self.opened_by(request, |stream: S, call| stream.try_measure_with(call, reads))
    }

    fn opened_by<F, S, E, By, R>(
        self,
        request: F,
        measure: impl FnOnce(S, Recorder) -> Measured<S, R>,
    ) -> impl Future<Output = Result<AnswerStream<S, R>, E>>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream,
        E: Classify<By>,
        Measured<S, R>: Stream<Item = S::Item>,
    {
        self.streams(true).run_then(request, |mut guard, result: Result<S, E>| match result {
            Ok(stream) => {
                let call = guard.call();
                let nothing: fn(&mut Guard<Self>, &S::Item) = |_, _| {};
                Ok(guard.stream(measure(stream, call), nothing))
            }
            Err(error) => {
                guard.failure(error.failure());
                Err(error)
            }
        })
    }

    /// What the whole answer carried. Asked only where the stage is a measured call; a stage that was told nothing is a call
    /// without tokens.
    pub fn answered<'a>(&mut self, answer: impl FnOnce() -> Output<'a>) {
        self.asked.answered(&self.base, answer);
    }

    /// The measured call, to be handed to the stream that it answers with
    /// ([`measure_with`](llmperf_core::MeasureStream::measure_with)); then [`Guard::stream`] ends the stage with that
    /// stream. A recorder of nothing where the stage is no call, or its answer came from a cache.
    pub fn call(&mut self) -> Recorder {
        self.asked.take(self.base.frame.as_ref())
    }

    /// Whether provider or model are given, so that the stage is a measured call.
    #[must_use]
    pub fn is_call(&self) -> bool {
        is_call(&self.base)
    }

    /// The answer came from a cache: no model was asked. The call is withdrawn: nothing is recorded of it but its span,
    /// renamed `generate`, and stage and pipeline are marked. Say it before the answer is told or handed out.
    #[allow(clippy::wrong_self_convention, reason = "it says where the answer is from")]
    pub fn from_cache(&mut self) {
        if let Some(frame) = &self.base.frame {
            frame.mark_from_cache();
        }
    }
}

impl Work for Generation {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        let opening = Asked::begin(&mut self.base, beginning);
        if let Some(pipeline) = self.base.frame.as_ref().and_then(|frame| frame.pipeline.as_ref()) {
            pipeline.generation_began(beginning.began);
        }
        opening
    }

    fn opened(&mut self, context: &Context) -> Option<Context> {
        self.asked.open(&self.base, "chat", &self.prompt, context)
    }

    fn title(&self) -> Title {
        self.base.title()
    }

    fn closing(&mut self, verdict: &Verdict) -> Option<Verdict> {
        self.asked.close(&self.base, verdict)
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        let Some((_, frame)) = self.base.ended(ended) else { return };
        if let Some(pipeline) = frame.pipeline.as_ref().filter(|_| frame.was_from_cache()) {
            pipeline.answered_from_cache();
            pipeline.generated_nothing(ended.began);
        }
    }

    fn attributes(&self, _: &Ended<'_>) -> Vec<KeyValue> {
        self.base.frame.iter().flat_map(|frame| frame.cache_attributes()).collect()
    }

    fn deadline(&self) -> Option<std::time::Duration> {
        self.base.deadline()
    }

    /// Its call ended when the stream inside was dropped.
    fn if_dropped(&self) -> Option<Verdict> {
        self.base.frame.as_ref().and_then(|frame| frame.call_ended())
    }
}
