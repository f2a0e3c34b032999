//! The assemble stage: the prompt is built.

use llmperf_core::{
    Work,
    opentelemetry::{Context, KeyValue, trace::SpanKind},
    part::{Beginning, Ended, Opening, Title},
};

use crate::{
    Stage,
    base::{Base, setters},
};

/// Building the prompt, as a stage: an INTERNAL span `assemble` (the conventions have none). Its end is the end of the
/// retrieval path of a pipeline that generates nothing.
///
/// ```
/// use llmperf_rag::{Work as _, assemble};
///
/// let prompt = assemble().time(|| format!("{} {}", "passages", "question"));
/// # assert_eq!(prompt, "passages question");
/// ```
#[derive(Debug)]
#[must_use = "a stage that is not armed (`start`, `in_scope`, `run`, …) records nothing"]
pub struct Assemble {
    base: Base,
}

/// An assembly that was not begun yet.
pub fn assemble() -> Assemble {
    Assemble { base: Base::new(Stage::Assemble) }
}

impl Assemble {
    setters!(name);
}

impl Work for Assemble {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        let frame = self.base.begin(beginning);
        Opening::span(self.base.span_name("assemble"), SpanKind::Internal, self.base.at_start(None)).observed_by(frame)
    }

    fn opened(&mut self, context: &Context) -> Option<Context> {
        if let Some(frame) = &self.base.frame {
            frame.set_span(context);
        }
        None
    }

    fn title(&self) -> Title {
        self.base.title()
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        let Some((_, frame)) = self.base.ended(ended) else { return };
        if let Some(pipeline) = &frame.pipeline {
            pipeline.assembled(ended.began + ended.duration);
        }
    }

    fn attributes(&self, _: &Ended<'_>) -> Vec<KeyValue> {
        self.base.frame.iter().flat_map(|frame| frame.cache_attributes()).collect()
    }

    fn deadline(&self) -> Option<std::time::Duration> {
        self.base.deadline()
    }
}
