//! What a piece of work ends before it ends itself: a call that it is.

use llmperf_core::{
    Instrumentation, Recorder, Verdict, Work,
    opentelemetry::Context,
    part::{Beginning, Ended, Opening, Title},
    stats::SeriesKind,
    testing::Probe,
};

/// Work that is a call.
#[derive(Debug, Default)]
struct Asks {
    from: Option<Instrumentation>,
    call: Option<Recorder>,
    panics: bool,
}

impl Work for Asks {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        self.from = Some(beginning.instrumentation.clone());
        Opening::without_span().journaled()
    }

    fn opened(&mut self, context: &Context) -> Option<Context> {
        let from = self.from.as_ref()?;
        self.call = Some(from.chat("openai", "gpt-4o-mini").parent(context.clone()).start());
        self.call.as_ref().map(Recorder::context)
    }

    fn closing(&mut self, verdict: &Verdict) -> Option<Verdict> {
        assert!(!self.panics, "closing broke");
        let mut call = self.call.take()?;
        if *verdict == Verdict::Complete {
            call.fail("content_filter");
        }
        call.timing().error_type.map(|error_type| Verdict::failed(&error_type))
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Stage, "asks", "")
    }

    fn ended(&mut self, _: &mut Ended<'_>) {}
}

fn ended(probe: &Probe) -> (u64, u64) {
    let window = llmperf_core::stats::Window::SinceStart;
    let snapshot = probe.instrumentation().snapshot();
    let outcomes = snapshot.get(SeriesKind::Stage, "asks", "").unwrap().window(window).unwrap().outcomes;
    let outcomes = serde_json::to_value(outcomes).unwrap();
    (outcomes["complete"].as_u64().unwrap(), outcomes["error"].as_u64().unwrap())
}

#[test]
fn work_ends_as_the_call_that_it_is_and_that_call_is_not_late() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| Asks::default().start().complete());
    assert_eq!(ended(&probe), (0, 1));
    assert!(probe.points("llmperf.internal.events").is_empty());
}

#[test]
fn a_closing_that_panics_is_counted_and_the_verdict_stands() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| Asks { panics: true, ..Asks::default() }.start().complete());
    assert_eq!(ended(&probe), (1, 0));
    let events = probe.points("llmperf.internal.events");
    assert!(events.iter().any(|point| point.attribute("llmperf.internal.kind") == "caught_panic"), "{events:?}");
}
