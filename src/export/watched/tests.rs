//! A failing export is said once, its recovery once, and a closed gate ends it.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tracing::Level;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::{Gate, Watched};

/// Answers as it was told to, in order.
#[derive(Debug)]
struct Scripted(Mutex<VecDeque<bool>>);

impl SpanExporter for Scripted {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        match self.0.lock().unwrap().pop_front().unwrap() {
            true => Ok(()),
            false => Err(OTelSdkError::InternalFailure("refused".to_owned())),
        }
    }
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Level>>>);

impl<S: tracing::Subscriber> Layer<S> for Heard {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "llmperf" {
            self.0.lock().unwrap().push(*event.metadata().level());
        }
    }
}

fn watched(script: &[bool], gate: &Gate) -> Watched<Scripted> {
    Watched::new(Scripted(Mutex::new(script.iter().copied().collect())), "spans", gate)
}

fn export(watched: &Watched<Scripted>) -> OTelSdkResult {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(watched.export(Vec::new()))
}

#[test]
fn failure_and_recovery_are_each_said_once() {
    let script = [true, false, false, true, true, false];
    let watched = watched(&script, &Gate::default());
    let heard = Heard::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(heard.clone()), || {
        for succeeds in script {
            assert_eq!(export(&watched).is_ok(), succeeds);
        }
    });
    assert_eq!(*heard.0.lock().unwrap(), [Level::WARN, Level::INFO, Level::WARN]);
}

#[test]
fn a_closed_gate_lets_nothing_through() {
    let gate = Gate::default();
    let watched = watched(&[true], &gate);
    gate.close();
    assert!(matches!(export(&watched), Err(OTelSdkError::AlreadyShutdown)));
    assert_eq!(watched.exporter.0.lock().unwrap().len(), 1, "the exporter was not asked");
}
