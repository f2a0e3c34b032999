//! An application in which `tracing` and OpenTelemetry both make spans: a runtime, a subscriber, and a probe behind both.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll},
};

use futures::Stream;
use llmperf_core::{Call, Instrumentation, testing::Probe};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{Sampler, SpanData};
use tokio::runtime::{Builder, Runtime};
use tracing::{Dispatch, Instrument as _, dispatcher, info_span};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::{Layer, Registry, layer::SubscriberExt as _};

/// The layer of `tracing-opentelemetry`, on the probe's provider.
pub(crate) type Bridge = OpenTelemetryLayer<Registry, opentelemetry_sdk::trace::SdkTracer>;

/// One application. Nothing of it is global, so tests run side by side.
#[derive(Debug)]
pub(crate) struct Application {
    pub(crate) probe: Probe,
    dispatch: Dispatch,
    runtime: Runtime,
}

impl Application {
    /// As `tracing-opentelemetry` comes: context activation on, everything sampled.
    pub(crate) fn new() -> Self {
        Self::sampled(Sampler::AlwaysOn)
    }

    pub(crate) fn sampled(sampler: Sampler) -> Self {
        Self::bridged(sampler, |bridge| bridge)
    }

    /// The layer is set up as said.
    pub(crate) fn bridged<L: Layer<Registry> + Send + Sync>(
        sampler: Sampler,
        set_up: impl FnOnce(Bridge) -> L,
    ) -> Self {
        keep_call_sites_awake();
        let probe = Probe::sampled(sampler, |builder| builder);
        let bridge = tracing_opentelemetry::layer().with_tracer(probe.tracer_provider().tracer("application"));
        let dispatch = Dispatch::new(Registry::default().with(set_up(bridge)));
        let of_workers = dispatch.clone();
        let runtime = Builder::new_multi_thread()
            .worker_threads(4)
            .on_thread_start(move || std::mem::forget(dispatcher::set_default(&of_workers)))
            .build()
            .unwrap();
        Self { probe, dispatch, runtime }
    }

    pub(crate) fn instrumentation(&self) -> Instrumentation {
        self.probe.instrumentation().clone()
    }

    /// A chat call, made where this is called.
    pub(crate) fn chat(&self) -> Call {
        chat(&self.instrumentation())
    }

    /// Runs a task on the runtime, inside a `tracing` span `request`.
    pub(crate) fn request<F>(&self, task: F) -> F::Output
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.run(async { task.instrument(info_span!("request")).await })
    }

    /// Runs a task on the runtime.
    pub(crate) fn run<F>(&self, task: F) -> F::Output
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let _subscriber = dispatcher::set_default(&self.dispatch);
        self.runtime.block_on(self.runtime.spawn(task)).unwrap()
    }

    /// What was exported, as a tree.
    pub(crate) fn tree(&self) -> String {
        self.probe.tree()
    }

    /// What was exported, a tree for each trace, sorted.
    pub(crate) fn trees(&self) -> Vec<String> {
        let mut traces: BTreeMap<_, Vec<SpanData>> = BTreeMap::new();
        for span in self.probe.spans() {
            traces.entry(span.span_context.trace_id().to_bytes()).or_default().push(span);
        }
        let mut trees: Vec<_> = traces.values().map(|spans| llmperf_core::testing::render(spans)).collect();
        trees.sort();
        trees
    }
}

pub(crate) fn chat(instrumentation: &Instrumentation) -> Call {
    instrumentation.chat("openai", "gpt-4o-mini")
}

/// A client's stream that makes a `tracing` span `decode` in each of its polls: one pending, then an item, in turn.
#[derive(Debug)]
pub(crate) struct Decoding {
    left: usize,
    waited: bool,
}

pub(crate) fn decoding(items: usize) -> Decoding {
    Decoding { left: items, waited: false }
}

impl Stream for Decoding {
    type Item = &'static str;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<&'static str>> {
        info_span!("decode").in_scope(|| {
            if self.left == 0 {
                return Poll::Ready(None);
            }
            self.waited = !self.waited;
            if self.waited {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.left -= 1;
            Poll::Ready(Some("word"))
        })
    }
}

/// Keeps one subscriber registered for as long as the tests run. With a single one at a time, `tracing` asks only the thread
/// that meets a call site first, and one that has no subscriber would switch the site off for all.
fn keep_call_sites_awake() {
    static AWAKE: OnceLock<Dispatch> = OnceLock::new();
    AWAKE.get_or_init(|| Dispatch::new(Registry::default()));
}
