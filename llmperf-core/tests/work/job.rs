//! A sort of work that a test shapes.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use llmperf_core::{
    Observer, Outcome, Work,
    opentelemetry::{Context, KeyValue, trace::SpanKind},
    part::{Beginning, Ended, Opening, Title, Verdict},
    stats::{Figure, SeriesKind},
};

/// What a test shapes of it; all else is as for work that does nothing special.
#[derive(Debug)]
pub(crate) struct Job {
    title: Title,
    spanned: bool,
    journaled: bool,
    observer: Option<Arc<dyn Observer>>,
    figures: Vec<(Figure, f64)>,
    deadline: Option<Duration>,
    dropped: Option<Verdict>,
    panics: &'static str,
    ends: Ends,
}

/// What was seen of ends, in their order.
pub(crate) type Ends = Arc<Mutex<Vec<End>>>;

/// What the end of a job saw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    pub(crate) error_type: Option<String>,
    pub(crate) duration: Duration,
    pub(crate) first_output: Option<Duration>,
    pub(crate) late: bool,
}

impl Job {
    fn new(kind: SeriesKind, name: &'static str, detail: &'static str) -> Self {
        Self {
            title: Title::new(kind, name, detail),
            spanned: true,
            journaled: false,
            observer: None,
            figures: Vec::new(),
            deadline: None,
            dropped: None,
            panics: "",
            ends: Ends::default(),
        }
    }

    /// Tells its end to these.
    pub(crate) fn told(self, ends: &Ends) -> Self {
        Self { ends: Arc::clone(ends), ..self }
    }

    pub(crate) fn figure(mut self, figure: Figure, value: f64) -> Self {
        self.figures.push((figure, value));
        self
    }

    pub(crate) fn deadline_in(self, deadline: Duration) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    pub(crate) fn ends_if_dropped(self, verdict: Verdict) -> Self {
        Self { dropped: Some(verdict), ..self }
    }

    /// Has no span of its own.
    pub(crate) fn spanless(self) -> Self {
        Self { spanned: false, ..self }
    }

    pub(crate) fn observed(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Panics in the method of this name.
    pub(crate) fn panicking_in(self, method: &'static str) -> Self {
        Self { panics: method, ..self }
    }

    fn panic_in(&self, method: &'static str) {
        assert!(self.panics != method, "on purpose, in {method}");
    }
}

pub(crate) fn stage(name: &'static str, detail: &'static str) -> Job {
    Job::new(SeriesKind::Stage, name, detail)
}

pub(crate) fn tool(name: &'static str) -> Job {
    Job::new(SeriesKind::Tool, name, "")
}

/// A request to another service.
pub(crate) fn operation(method: &'static str, of: &'static str) -> Job {
    Job::new(SeriesKind::Operation, method, of)
}

pub(crate) fn step(name: &'static str) -> Job {
    Job::new(SeriesKind::Step, "desk", name)
}

pub(crate) fn plan(agent: &'static str) -> Job {
    Job::new(SeriesKind::Plan, agent, "")
}

pub(crate) fn pipeline(name: &'static str) -> Job {
    Job { journaled: true, ..Job::new(SeriesKind::Pipeline, name, "") }
}

pub(crate) fn agent(name: &'static str) -> Job {
    Job { journaled: true, ..Job::new(SeriesKind::Agent, name, "simple") }
}

pub(crate) fn workflow(name: &'static str) -> Job {
    Job { journaled: true, ..Job::new(SeriesKind::Workflow, name, "") }
}

impl Work for Job {
    fn begin(&mut self, _: &Beginning<'_>) -> Opening {
        self.panic_in("begin");
        let opening = if self.spanned {
            let name = format!("{} {}", self.title.kind.as_str(), self.title.name);
            Opening::span(name, SpanKind::Internal, vec![KeyValue::new("job.name", self.title.name.clone())])
        } else {
            Opening::without_span()
        };
        let opening = if self.journaled { opening.journaled() } else { opening };
        match self.observer.take() {
            Some(observer) => opening.observed_by(observer),
            None => opening,
        }
    }

    fn opened(&mut self, _: &Context) -> Option<Context> {
        self.panic_in("opened");
        None
    }

    fn title(&self) -> Title {
        self.panic_in("title");
        self.title.clone()
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        self.figures.iter().for_each(|(figure, value)| ended.figure(*figure, *value));
        self.ends.lock().unwrap().push(End {
            name: self.title.name.to_string(),
            outcome: ended.outcome,
            error_type: ended.error_type.map(str::to_owned),
            duration: ended.duration,
            first_output: ended.first_output,
            late: ended.late,
        });
        self.panic_in("ended");
    }

    fn attributes(&self, _: &Ended<'_>) -> Vec<KeyValue> {
        self.panic_in("attributes");
        vec![KeyValue::new("job.done", true)]
    }

    fn remark(&self) -> Option<String> {
        self.panic_in("remark");
        Some(format!("a remark of {}", self.title.name))
    }

    fn deadline(&self) -> Option<Duration> {
        self.panic_in("deadline");
        self.deadline
    }

    fn if_dropped(&self) -> Option<Verdict> {
        self.panic_in("if_dropped");
        self.dropped.clone()
    }
}
