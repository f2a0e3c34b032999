//! The event of finished work, as a log subscriber sees it.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use llmperf_core::{Work as _, testing::Probe};
use tracing::{
    Dispatch, Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer, Registry,
    filter::LevelFilter,
    layer::{Context, SubscriberExt as _},
};

use crate::job::{Job, stage, tool};

/// Level and fields.
type Line = (Level, BTreeMap<String, String>);

#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<Line>>>);

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "llmperf" {
            let mut fields = Fields::default();
            event.record(&mut fields);
            self.0.lock().unwrap().push((*event.metadata().level(), fields.0));
        }
    }
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

/// What one job says that takes a quarter of a second, and how it ends.
fn said(probe: &Probe, level: LevelFilter, job: Job, end: fn(llmperf_core::Guard<Job>)) -> Vec<Line> {
    // With a single subscriber at a time, `tracing` would switch a call site off for all that one thread does not hear.
    static AWAKE: OnceLock<Dispatch> = OnceLock::new();
    AWAKE.get_or_init(|| Dispatch::new(Registry::default()));
    let lines = Lines::default();
    tracing::subscriber::with_default(Registry::default().with(lines.clone().with_filter(level)), || {
        probe.instrumentation().sync_scope(|| {
            let mut guard = job.start();
            probe.clock().advance(Duration::from_millis(250));
            guard.output();
            end(guard);
        });
    });

    lines.0.lock().unwrap().clone()
}

#[test]
fn finished_work_is_one_event_with_its_title_and_the_ids_of_its_span() {
    let probe = Probe::new();
    let said = said(&probe, LevelFilter::DEBUG, stage("retrieve", "qdrant"), llmperf_core::Guard::complete);
    let [(level, fields)] = <[_; 1]>::try_from(said).unwrap();
    let span = probe.span();
    let expected = [
        ("detail", "qdrant".to_owned()),
        ("duration_s", "0.25".to_owned()),
        ("first_output_s", "0.25".to_owned()),
        ("kind", "stage".to_owned()),
        ("message", "work finished".to_owned()),
        ("name", "retrieve".to_owned()),
        ("outcome", "complete".to_owned()),
        ("remark", "a remark of retrieve".to_owned()),
        ("span_id", span.span_context.span_id().to_string()),
        ("trace_id", span.span_context.trace_id().to_string()),
    ];
    assert_eq!(level, Level::DEBUG);
    assert_eq!(fields, expected.map(|(key, value)| (key.to_owned(), value)).into());
}

#[test]
fn an_error_is_a_warning_and_what_was_let_go_is_not() {
    let levels = |end: fn(llmperf_core::Guard<Job>)| {
        let said = said(&Probe::new(), LevelFilter::DEBUG, tool("weather"), end);
        (said[0].0, said[0].1.get("error.type").cloned(), said.len())
    };
    assert_eq!(levels(|guard| guard.fail("quota")), (Level::WARN, Some("quota".to_owned()), 1));
    assert_eq!(levels(drop), (Level::DEBUG, None, 1));
}

#[test]
fn nobody_is_told_what_nobody_listens_to() {
    let remarks =
        |level| said(&Probe::new(), level, tool("weather").panicking_in("remark"), llmperf_core::Guard::complete);
    assert_eq!(remarks(LevelFilter::INFO), [], "the remark was not asked for: it would have panicked");
    let probe = Probe::new();
    let said = said(&probe, LevelFilter::DEBUG, tool("weather").panicking_in("remark"), llmperf_core::Guard::complete);
    let kinds: Vec<_> = said.iter().filter_map(|(_, fields)| fields.get("kind").cloned()).collect();
    assert_eq!(kinds, ["caught_panic"], "it panics, which is said");
}
