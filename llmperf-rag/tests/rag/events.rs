//! What an application that has a log and nothing else sees: stages, pipelines, evaluations.

use std::{
    io,
    sync::{Arc, Mutex},
};

use llmperf_core::testing::Probe;
use llmperf_rag::{Work as _, pipeline, retrieval};
use tracing_subscriber::{filter::LevelFilter, fmt::MakeWriter};

use crate::bench::{span, under};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// What is logged meanwhile.
fn logged(code: impl FnOnce()) -> String {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .with_ansi(false)
        .without_time()
        .with_writer(lines.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, code);
    String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn stages_and_pipelines_end_with_an_event_that_carries_the_ids_of_their_span() {
    let probe = Probe::new();
    let log = logged(|| {
        under(&probe, || {
            pipeline("support").run(retrieval().store("qdrant").search(async { io::Result::Ok([("d1", 1.0)]) }))
        })
        .unwrap();
        under(&probe, || retrieval().run(async { Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe)) }))
            .unwrap_err();
    });
    let line = |words: &str| log.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {log}"));
    let ids = span(&probe, "retrieval qdrant").span_context;
    let stage = line("name=\"retrieve\" detail=\"qdrant\"");
    assert!(stage.contains("DEBUG") && stage.contains("1 documents"), "{stage}");
    assert!(
        stage.contains(&format!("trace_id={}", ids.trace_id()))
            && stage.contains(&format!("span_id={}", ids.span_id()))
    );
    assert!(line("kind=\"pipeline\" name=\"support\"").contains("outcome=\"complete\""));
    assert!(line("broken_pipe").contains("WARN"));
}

#[test]
fn an_evaluation_is_an_event_of_the_convention_linked_to_the_span_whenever_it_is_told() {
    let probe = Probe::new();
    let log = logged(|| {
        probe.instrumentation().sync_scope(|| {
            let mut stage = retrieval().store("qdrant").k(2_u64).start();
            stage.documents(&[("d7", 0.9), ("d1", 0.5)]);
            let query = stage.query_handle().unwrap();
            stage.complete();
            query.evaluate(&["d1"]);
            query.score("faithfulness", 0.8);
        });
        under(&probe, || retrieval().relevant(&["d1"]).search(async { io::Result::Ok([("d1", 1.0)]) })).unwrap();
    });
    let ids = span(&probe, "retrieval qdrant").span_context;
    let of_query: Vec<_> = log
        .lines()
        .filter(|line| line.contains("gen_ai.evaluation.name=") && line.contains(&format!("span_id={}", ids.span_id())))
        .collect();
    assert_eq!(of_query.len(), 5, "{log}");
    for (name, value) in
        [("recall@2", "1.0"), ("precision@2", "0.5"), ("reciprocal_rank@2", "0.5"), ("faithfulness", "0.8")]
    {
        let found = of_query.iter().find(|line| line.contains(&format!("gen_ai.evaluation.name=\"{name}\"")));
        let found = found.unwrap_or_else(|| panic!("{name}: {log}"));
        assert!(found.contains(&format!("gen_ai.evaluation.score.value={value}")), "{found}");
        assert!(found.contains(&format!("trace_id={}", ids.trace_id())));
    }
    assert!(log.contains("gen_ai.evaluation.name=\"recall\""), "what is known at once is told too: {log}");
}

#[test]
fn the_evaluated_span_is_current_while_the_event_is_told() {
    use opentelemetry::{Context, trace::TraceContextExt as _};
    use tracing_subscriber::{Layer, layer::SubscriberExt as _, registry::LookupSpan};

    #[derive(Clone, Default)]
    struct Current(Arc<Mutex<Vec<opentelemetry::trace::SpanId>>>);
    impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Current {
        fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            if event.metadata().name() == "gen_ai.evaluation.result" {
                let current = Context::current().span().span_context().span_id();
                self.0.lock().unwrap().push(current);
            }
        }
    }

    let (probe, current) = (Probe::new(), Current::default());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(current.clone()), || {
        let query = probe.instrumentation().sync_scope(|| {
            let mut stage = retrieval().store("qdrant").start();
            stage.documents(&[("d1", 0.5)]);
            let query = stage.query_handle().unwrap();
            stage.complete();
            query
        });
        query.score("faithfulness", 0.8);
    });
    assert_eq!(*current.0.lock().unwrap(), [probe.span().span_context.span_id()]);
}
