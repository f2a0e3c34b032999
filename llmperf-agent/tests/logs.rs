//! What a log subscriber sees of runs and tools. Alone in its process: a callsite that a thread without a subscriber sees
//! first is off for all.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use llmperf_agent::{Work as _, run, tool};
use llmperf_core::{chat, testing::Probe};
use std::{
    io,
    ops::Deref,
    sync::{Arc, Mutex},
};

use tracing_subscriber::fmt::MakeWriter;

/// The lines that some code logged.
#[derive(Debug)]
struct Log(String);

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    fn at(level: tracing::Level, code: impl FnOnce()) -> Self {
        let written = Written::default();
        let subscriber =
            tracing_subscriber::fmt().with_max_level(level).with_ansi(false).with_writer(written.clone()).finish();
        tracing::subscriber::with_default(subscriber, code);
        let bytes = written.0.lock().unwrap().clone();
        Self(String::from_utf8(bytes).unwrap())
    }
}

impl Deref for Log {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[test]
fn a_loop_is_told_once_per_run_without_its_arguments() {
    let probe = Probe::new();
    let log = Log::at(tracing::Level::WARN, || {
        probe.instrumentation().sync_scope(|| {
            for _ in 0..2 {
                let mut guard = run("desk").start();
                guard.in_scope(|| {
                    (0..5).for_each(|_| tool("weather").arguments("Lisbon").start().complete());
                    (0..5).for_each(|_| tool("news").arguments("Lisbon").start().complete());
                });
                guard.complete();
            }
        });
    });
    let warnings: Vec<_> = log.lines().filter(|line| line.contains("again and again")).collect();
    assert_eq!(warnings.len(), 2, "one line per run: {log}");
    assert!(warnings[0].contains("agent=\"desk\" tool=\"weather\" times=3"), "{}", warnings[0]);
    assert!(warnings[0].contains("trace_id=") && warnings[0].contains("span_id="), "{}", warnings[0]);
    assert!(!log.contains("Lisbon"), "{log}");
}

#[test]
fn the_log_line_of_a_run_says_what_it_used_up() {
    let probe = Probe::new();
    let log = Log::at(tracing::Level::DEBUG, || {
        probe.instrumentation().sync_scope(|| {
            let mut guard = run("desk").start();
            guard.in_scope(|| {
                drop(chat("openai", "gpt-4o-mini").start().finish());
                (0..3).for_each(|_| tool("weather").arguments("Lisbon").start().complete());
            });
            guard.complete();
        });
    });
    let line = log.lines().find(|line| line.contains("kind=\"agent\"")).unwrap_or_else(|| panic!("{log}"));
    let remark = "success; steps: 1, inference calls: 1, tool calls: 3; weather called 3 times with the same arguments";
    assert!(line.contains(remark), "{line}");
}
