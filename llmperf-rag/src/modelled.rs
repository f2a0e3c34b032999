//! Stages that ask a model: where provider or model are given they *are* a measured call, one span for both.

use std::{borrow::Cow, sync::Arc};

use llmperf_core::{
    Output, Recorder, Verdict,
    opentelemetry::{Context, trace::SpanKind},
    part::{Beginning, Opening, Text},
    semconv::rag as name,
};

use crate::{Stage, base::Base, stage::Frame};

/// The call that a stage is.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// While the stage goes on and its answer is not a stream.
    recorder: Option<Recorder>,
    /// The answer was asked for as a stream: objectives of streams hold for it, also where it fails before it begins.
    pub(crate) streams: bool,
}

impl Asked {
    /// The stage begins: a span of its own only if it is no call.
    pub(crate) fn begin(base: &mut Base, beginning: &Beginning<'_>) -> Opening {
        let frame = base.begin(beginning);
        if is_call(base) {
            return Opening::without_span().observed_by(frame);
        }
        let name = match base.stage {
            Stage::Embed => "embed",
            _ => "generate",
        };
        Opening::span(base.span_name(name), SpanKind::Internal, base.at_start(None)).observed_by(frame)
    }

    /// Arms the call inside the stage; gives its context.
    pub(crate) fn open(
        &mut self,
        base: &Base,
        operation: &'static str,
        prompt: &Text,
        context: &Context,
    ) -> Option<Context> {
        let frame = base.frame.as_ref()?;
        if !is_call(base) {
            frame.set_span(context);
            return None;
        }
        let from = &frame.instrumentation;
        let call = from.chat(words(&base.provider), words(&base.model)).operation(operation).parent(context.clone());
        let call = base.custom.labels().iter().flatten().fold(call, |call, (key, value)| call.label(key, words(value)));
        let call = base.custom.on_span().fold(call, |call, own| call.attribute(own.key, own.value));
        let call = if prompt.as_str().is_empty() { call } else { call.prompt(prompt.as_str()) };
        let call = match base.custom.deadline() {
            Some(limit) => call.deadline(limit),
            None => call,
        };
        let mut recorder = frame.arm(|| call.start());
        recorder.attribute(name::STAGE, base.stage.as_str());
        if !base.name.as_str().is_empty() {
            recorder.attribute(name::STAGE_NAME, base.name.clone());
        }
        let own = recorder.context();
        frame.set_span(&own);
        self.recorder = Some(recorder);
        Some(own)
    }

    /// The call, for the stream that it answers with: a recorder of nothing if the stage is none, or came from a cache.
    pub(crate) fn take(&mut self, frame: Option<&Arc<Frame>>) -> Recorder {
        if frame.is_some_and(|frame| frame.was_from_cache()) {
            return Recorder::default();
        }
        let mut recorder = self.recorder.take().unwrap_or_default();
        if let Some(frame) = frame {
            tell_caches(frame, &mut recorder);
        }
        recorder
    }

    /// The whole answer of the call; not asked for where there is no call.
    pub(crate) fn answered<'a>(&mut self, base: &Base, answer: impl FnOnce() -> Output<'a>) {
        let Some(frame) = base.frame.as_ref().filter(|frame| !frame.was_from_cache()) else { return };
        if let Some(recorder) = &mut self.recorder {
            tell_caches(frame, recorder);
            recorder.on_answer(answer());
        }
    }

    /// Ends the call as the stage ends; gives how the call ended, which is how the stage did.
    pub(crate) fn close(&mut self, base: &Base, verdict: &Verdict) -> Option<Verdict> {
        let frame = base.frame.as_ref()?;
        if let Some(mut recorder) = self.recorder.take() {
            tell_caches(frame, &mut recorder);
            if frame.was_from_cache() {
                recorder.withdraw(base.stage.as_str());
            }
            match verdict {
                Verdict::Complete => recorder.on_answer(Output::ignored()),
                Verdict::Failed(error_type) if self.streams => recorder.fail(error_type),
                Verdict::Failed(error_type) => recorder.on_answer(Output::error(error_type)),
                _ => {}
            }
        }
        frame.call_ended()
    }
}

/// Says on the call's span how caches were looked up in it.
fn tell_caches(frame: &Frame, recorder: &mut Recorder) {
    for told in frame.cache_attributes() {
        recorder.attribute(told.key, told.value);
    }
}

/// Whether the stage asks a model that is known.
pub(crate) fn is_call(base: &Base) -> bool {
    !base.provider.as_str().is_empty() || !base.model.as_str().is_empty()
}

fn words(text: &Text) -> Cow<'static, str> {
    match text {
        Text::Static(words) => (*words).into(),
        other => other.as_str().to_owned().into(),
    }
}
