//! What attributes write: each level of judging, for types of which more or less is known.

#![allow(clippy::needless_borrow, reason = "as the attributes write it, whatever the type")]

use std::{error::Error, fmt, io};

use llmperf_core::{Guard, Verdict, testing::Probe};
use llmperf_rag::{
    __private::{Judged, JudgedError, JudgedItem, count, judging::*, value},
    Document, Generation, Pipeline, Rerank, Retrieval, Work as _, embedding, generation, pipeline, rerank, retrieval,
};
use opentelemetry::Value;

use crate::bench::point;

/// An error that borrows: it is not `'static`.
#[derive(Debug)]
struct Parse<'a>(&'a str);

impl fmt::Display for Parse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Parse<'_> {}

#[derive(Debug)]
struct Wrapped(io::Error);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrapped")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Neither `Debug` nor `Send`, and nothing is known of it.
struct Opaque(#[allow(dead_code, reason = "it only keeps the type from being `Send`")] *const u8);

fn opaque() -> Opaque {
    Opaque(std::ptr::null())
}

fn reset() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

const PAIRS: [(&str, f32); 2] = [("d1", 0.5), ("d2", 0.25)];

/// What a judged value makes of a retrieval: verdict, documents told, whether they have scores.
macro_rules! judge {
    ($value:expr) => {{
        let probe = Probe::new();
        let verdict = probe.instrumentation().sync_scope(|| {
            let mut guard = retrieval().start();
            let value = $value;
            let verdict = (&&&&&Judged(&value)).judge_retrieval(&mut guard);
            guard.end(verdict.clone());
            verdict
        });
        let told = probe.points("llmperf.rag.documents").first().map(|point| point.sum as u64);
        let scored = probe.span().attributes.iter().any(|own| own.key.as_str() == "llmperf.rag.score.top");
        (verdict, told, scored)
    }};
}

#[test]
fn documents_are_told_with_scores_where_they_have_some_else_by_their_number_else_not() {
    let complete = Verdict::Complete;
    assert_eq!(judge!(PAIRS), (complete.clone(), Some(2), true));
    assert_eq!(judge!(PAIRS.to_vec()), (complete.clone(), Some(2), true));
    assert_eq!(judge!(&PAIRS[..1]), (complete.clone(), Some(1), true));
    assert_eq!(judge!(vec!["d1", "d2", "d3"]), (complete.clone(), Some(3), false));
    assert_eq!(judge!(vec![opaque()]), (complete.clone(), Some(1), false));
    assert_eq!(judge!("a text"), (complete.clone(), None, false));
    assert_eq!(judge!(opaque()), (complete.clone(), None, false));
    assert_eq!(judge!(()), (complete, None, false));
}

#[test]
fn results_and_options_tell_what_is_in_them() {
    let complete = Verdict::Complete;
    assert_eq!(judge!(Ok::<_, io::Error>(PAIRS)), (complete.clone(), Some(2), true));
    assert_eq!(judge!(Ok::<_, Parse<'_>>(PAIRS)), (complete.clone(), Some(2), true));
    assert_eq!(judge!(Ok::<_, Opaque>(PAIRS)), (complete.clone(), Some(2), true));
    assert_eq!(judge!(Ok::<_, io::Error>(vec![opaque()])), (complete.clone(), Some(1), false));
    assert_eq!(judge!(Ok::<_, Parse<'_>>(vec![opaque()])), (complete.clone(), Some(1), false));
    assert_eq!(judge!(Ok::<_, Opaque>(vec![opaque()])), (complete.clone(), Some(1), false));
    assert_eq!(judge!(Ok::<_, io::Error>(opaque())), (complete.clone(), None, false));
    assert_eq!(judge!(Ok::<_, Parse<'_>>(opaque())), (complete.clone(), None, false));
    assert_eq!(judge!(Ok::<_, Opaque>(opaque())), (complete.clone(), None, false));
    assert_eq!(judge!(Some(PAIRS)), (complete.clone(), Some(2), true));
    assert_eq!(judge!(Some(vec![opaque()])), (complete.clone(), Some(1), false));
    assert_eq!(judge!(None::<[(&str, f32); 1]>), (complete.clone(), None, false));
    assert_eq!(judge!(Some(opaque())), (complete, None, false));
}

#[test]
fn errors_are_named_by_kind_source_content_or_type_else_other() {
    let name = |(verdict, told, _): (Verdict, Option<u64>, bool)| match verdict {
        Verdict::Failed(name) => {
            assert_eq!(told, None);
            name.into_owned()
        }
        other => panic!("{other:?}"),
    };
    let text = String::from("borrowed");
    assert_eq!(name(judge!(Err::<[(&str, f32); 1], _>(reset()))), "connection_reset");
    assert_eq!(name(judge!(Err::<Vec<Opaque>, _>(reset()))), "connection_reset");
    assert_eq!(name(judge!(Err::<Opaque, _>(reset()))), "connection_reset");
    assert_eq!(name(judge!(Err::<Opaque, _>(Wrapped(reset())))), "connection_reset");
    assert_eq!(name(judge!(Err::<Vec<Opaque>, _>(Wrapped(io::Error::other("x"))))), "rag::judging::Wrapped");
    assert_eq!(name(judge!(Err::<[(&str, f32); 1], _>(Parse(&text)))), "rag::judging::Parse");
    assert_eq!(name(judge!(Err::<Vec<Opaque>, _>(Parse(&text)))), "rag::judging::Parse");
    assert_eq!(name(judge!(Err::<(), _>(Parse(&text)))), "rag::judging::Parse");
    let boxed = || -> Box<dyn Error + Send + Sync> { Box::new(reset()) };
    assert_eq!(name(judge!(Err::<Opaque, _>(boxed()))), "connection_reset");
    let shared = || -> std::sync::Arc<dyn Error + Send + Sync> { std::sync::Arc::new(reset()) };
    assert_eq!(name(judge!(Err::<Opaque, _>(shared()))), "connection_reset", "it holds an error, and is one");
    assert_eq!(name(judge!(Err::<[(&str, f32); 1], _>(shared()))), "connection_reset");
    let local: Box<dyn Error> = Box::new(reset());
    assert_eq!(name(judge!(Err::<[(&str, f32); 1], _>(local))), "connection_reset");
    assert_eq!(name(judge!(Err::<[(&str, f32); 1], _>("no error type"))), "_OTHER");
    assert_eq!(name(judge!(Err::<Vec<Opaque>, _>(opaque()))), "_OTHER");
    assert_eq!(name(judge!(Err::<(), _>(opaque()))), "_OTHER");
}

/// Compiles for types of which nothing at all is known.
fn of_any<T, E>(result: &Result<T, E>, value: &T, guard: &mut Guard<Retrieval>) -> [Verdict; 3] {
    let judged = (&&&&&Judged(result)).judge_retrieval(guard);
    let plain = (&&&&&Judged(value)).judge_retrieval(guard);
    (&&&&&JudgedItem(value)).judge_retrieval(guard);
    let error =
        result.as_ref().err().map_or(Verdict::Complete, |error| (&&&&&JudgedError(error)).judge_retrieval(guard));
    [judged, plain, error]
}

#[test]
fn types_of_which_nothing_is_known_are_judged_too() {
    let mut guard = retrieval().start();
    let verdicts = of_any(&Err::<(), _>(reset()), &(), &mut guard);
    assert_eq!(verdicts, [Verdict::failed("_OTHER"), Verdict::Complete, Verdict::failed("_OTHER")]);
    guard.complete();
}

#[test]
fn an_error_in_the_place_of_a_stream_is_named_alike() {
    let mut guard = pipeline("a").start();
    assert_eq!((&&&&&JudgedError(&reset())).judge_pipeline(&mut guard), Verdict::failed("connection_reset"));
    let text = String::new();
    let named = (&&&&&JudgedError(&Parse(&text))).judge_pipeline(&mut guard);
    assert_eq!(named, Verdict::failed("rag::judging::Parse"));
    assert_eq!((&&&&&JudgedError(&opaque())).judge_pipeline(&mut guard), Verdict::failed("_OTHER"));
    guard.complete();
}

struct Passage;

impl Document for Passage {
    fn score(&self) -> Option<f64> {
        Some(0.5)
    }
}

#[test]
fn items_are_documents_and_output_and_an_error_among_them_fails_the_stage() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = retrieval().start();
        (&&&&&JudgedItem(&Passage)).judge_retrieval(&mut guard);
        (&&&&&JudgedItem(&Ok::<_, io::Error>(Passage))).judge_retrieval(&mut guard);
        (&&&&&JudgedItem(&Ok::<_, Wrapped>(Passage))).judge_retrieval(&mut guard);
        (&&&&&JudgedItem(&Ok::<_, Opaque>(Passage))).judge_retrieval(&mut guard);
        (&&&&&JudgedItem(&Ok::<_, io::Error>(opaque()))).judge_retrieval(&mut guard);
        (&&&&&JudgedItem(&Ok::<_, Wrapped>(opaque()))).judge_retrieval(&mut guard);
        (&&&&&JudgedItem(&Ok::<_, Opaque>(opaque()))).judge_retrieval(&mut guard);
        (&&&&&JudgedItem(&"text")).judge_retrieval(&mut guard);
        (&&&&&JudgedItem(&Err::<Passage, _>(Wrapped(reset())))).judge_retrieval(&mut guard);
        (&&&&&JudgedItem(&Err::<Passage, _>("later"))).judge_retrieval(&mut guard);
        guard.complete();
    });
    assert_eq!(point(&probe, "llmperf.rag.documents").sum, 8.0);
    assert_eq!(crate::bench::attribute(&probe.span(), "error.type"), "connection_reset");
}

#[test]
fn a_failed_item_is_no_output() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = pipeline("a").start();
        (&&&&&JudgedItem(&Err::<(), _>(reset()))).judge_pipeline(&mut guard);
        guard.complete();
    });
    assert!(probe.points("llmperf.rag.time_to_first_output").is_empty());
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = pipeline("a").start();
        (&&&&&JudgedItem(&Ok::<_, io::Error>(()))).judge_pipeline(&mut guard);
        guard.complete();
    });
    assert_eq!(point(&probe, "llmperf.rag.time_to_first_output").count, 1);
}

#[test]
fn every_stage_judges() {
    let (mut rerank, mut embedding): (Guard<Rerank>, _) = (rerank().start(), embedding().start());
    let (mut generation, mut pipeline): (Guard<Generation>, Guard<Pipeline>) =
        (generation().start(), pipeline("a").start());
    let failed = Err::<[(&str, f32); 1], _>(reset());
    let verdicts = [
        (&&&&&Judged(&failed)).judge_rerank(&mut rerank),
        (&&&&&Judged(&failed)).judge_embedding(&mut embedding),
        (&&&&&Judged(&failed)).judge_generation(&mut generation),
        (&&&&&Judged(&failed)).judge_pipeline(&mut pipeline),
    ];
    assert!(verdicts.iter().all(|verdict| *verdict == Verdict::failed("connection_reset")));
    rerank.complete();
    embedding.complete();
    generation.complete();
    pipeline.complete();
}

#[test]
fn arguments_are_numbers_and_values_of_any_usual_type() {
    let k = 8_usize;
    assert_eq!(
        [count(&k), count(&&k), count(&Some(k)), count(&None::<u8>), count(&-1)],
        [Some(8), Some(8), Some(8), None, None]
    );
    assert_eq!(value(&true), Value::Bool(true));
    assert_eq!(value(&u64::MAX), Value::I64(i64::MAX));
    assert_eq!(value(&1.5_f32), Value::F64(1.5));
    assert_eq!(value(&"a"), Value::String("a".into()));
    assert_eq!(value(&&String::from("a")), Value::String("a".into()));
}
