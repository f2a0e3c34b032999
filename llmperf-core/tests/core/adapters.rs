//! Design sections 3 and 9: every way to measure a stream, a request, an iterator, a callback API; what passes through.

use std::{
    cell::RefCell,
    error::Error,
    future::{Future, ready},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    rc::Rc,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures::{
    FutureExt as _, Stream, StreamExt as _,
    executor::block_on,
    stream::{self, FusedStream},
};
use llmperf_core::{
    Failure, MeasureIterator as _, MeasureStream as _, Measured, MeasuredIter, Open, Outcome, Output, Recorder, Run,
    Sees, Side, Usage, current_call, model, testing::Probe,
};
use opentelemetry::trace::{SpanKind, TraceContextExt as _};

use crate::script::{Step, attribute, drain, ms, paced, script, take};

type Held = Box<dyn Error + Send + Sync>;

fn call(probe: &Probe) -> llmperf_core::Call {
    probe.chat("openai", "gpt-4o-mini")
}

#[test]
fn items_pass_unchanged_and_in_order() {
    let probe = Probe::new();
    let words: Vec<String> = (0..100).map(|n| format!("word {n}")).collect();
    let addresses: Vec<*const u8> = words.iter().map(|word| word.as_ptr()).collect();
    let passed: Vec<String> = block_on(stream::iter(words.clone()).measure(call(&probe)).collect());
    assert_eq!(passed, words);
    let again: Vec<String> = block_on(stream::iter(words).measure(call(&probe)).collect());
    assert_eq!(again.iter().map(|word| word.as_ptr()).collect::<Vec<_>>(), addresses, "moved, not copied");
}

#[test]
fn one_poll_of_ours_is_one_poll_of_the_stream_inside() {
    let probe = Probe::new();
    let polls = Rc::new(RefCell::new(0));
    let seen = Rc::clone(&polls);
    let inner = stream::poll_fn(move |_| {
        *seen.borrow_mut() += 1;
        if *seen.borrow() % 2 == 1 { Poll::Pending } else { Poll::Ready(Some("hi")) }
    });
    let mut reply = inner.measure(call(&probe));
    let mut context = Context::from_waker(Waker::noop());
    for polled in 1..=6 {
        let ready = reply.poll_next_unpin(&mut context).is_ready();
        assert_eq!((*polls.borrow(), ready), (polled, polled % 2 == 0), "no read-ahead, nothing held back");
    }
}

#[test]
fn the_size_hint_is_the_stream_s() {
    let probe = Probe::new();
    assert_eq!(stream::iter(["a", "b"]).measure(call(&probe)).size_hint(), (2, Some(2)));
    assert_eq!(["a", "b"].into_iter().measure_iter(call(&probe)).size_hint(), (2, Some(2)));
}

#[test]
fn it_is_fused_if_the_stream_inside_is() {
    let probe = Probe::new();
    let mut reply = stream::iter(["a"]).fuse().measure(call(&probe));
    assert!(!reply.is_terminated());
    drain(&mut reply);
    assert!(reply.is_terminated());
}

#[test]
fn polled_after_its_end_it_forwards_untouched() {
    let probe = Probe::new();
    let mut round = 0;
    let inner = stream::poll_fn(move |_| {
        round += 1;
        Poll::Ready((round != 2).then_some("again"))
    });
    let mut reply = inner.measure(call(&probe));
    assert_eq!(drain(&mut reply), 1);
    let ended = reply.timing();
    probe.clock().advance(Duration::from_secs(1));
    assert_eq!(block_on(reply.next()), Some("again"));
    assert_eq!(reply.timing(), ended);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}

/// That a type is what its stream is: these compile or they do not.
#[test]
fn auto_traits_follow_the_stream_inside() {
    fn all<T: Send + Sync + Unpin>() {}
    fn send<T: Send>() {}
    type Fut = std::future::Ready<io::Result<stream::Iter<std::vec::IntoIter<String>>>>;
    type Reader = fn(&String) -> Output<'_>;
    all::<Measured<stream::Iter<std::vec::IntoIter<String>>, llmperf_core::ByItem>>();
    all::<Measured<stream::Pending<String>, llmperf_core::With<Reader>>>();
    all::<Measured<stream::Pending<io::Result<String>>, llmperf_core::TryWith<Reader, llmperf_core::ByType>>>();
    // What a marker says of errors never decides: here it is one that is not `Send`.
    all::<Measured<stream::Pending<String>, llmperf_core::TryWith<Reader, Rc<()>>>>();
    all::<Open<Fut, llmperf_core::ByItem, Rc<()>>>();
    all::<Run<Fut, Reader, Rc<()>>>();
    all::<MeasuredIter<std::vec::IntoIter<String>, Reader>>();
    all::<Recorder>();
    send::<Measured<futures::stream::BoxStream<'static, String>, llmperf_core::ByItem>>();
}

#[test]
fn a_stream_that_is_not_send_works_on_a_local_set() {
    let probe = Probe::new();
    let shared = Rc::new("hi");
    let inner = stream::iter(0..3).map(move |_| *shared);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let items = tokio::task::LocalSet::new().block_on(&runtime, async {
        let reply = inner.measure(call(&probe));
        tokio::task::spawn_local(reply.collect::<Vec<_>>()).await.unwrap()
    });
    assert_eq!(items, ["hi"; 3]);
    assert_eq!(probe.points("llmperf.client.calls")[0].attribute("llmperf.outcome"), "complete");
}

#[test]
fn a_stream_that_is_not_unpin_is_measured_where_it_is_pinned() {
    let probe = Probe::new();
    let inner = stream::unfold(0, |n| async move { (n < 3).then_some(("hi", n + 1)) });
    let mut reply = pin!(inner.measure(call(&probe)));
    block_on(async { while reply.next().await.is_some() {} });
    assert_eq!(reply.timing().outputs, 3, "timing() works through the pin");
}

#[test]
fn into_inner_ends_the_call_and_gives_the_rest() {
    let probe = Probe::new();
    let mut reply = paced(&probe, [(5, "a"), (5, "b")]).measure(call(&probe));
    take(&mut reply, 1);
    let mut rest = reply.into_inner();
    assert_eq!(attribute(&probe.span(), "llmperf.outcome").as_deref(), Some("cancelled"));
    assert_eq!(drain(&mut rest), 1);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}

#[test]
fn items_taken_from_the_stream_inside_are_not_measured() {
    let probe = Probe::new();
    let mut reply = stream::iter(["a", "b", "c"]).measure(call(&probe));
    assert_eq!(block_on(reply.get_mut().next()), Some("a"));
    assert_eq!(reply.get_ref().size_hint().0, 2);
    assert_eq!(drain(&mut reply), 2);
    assert_eq!(reply.timing().outputs, 2);
}

/// Drops what the call has told when it is dropped itself.
struct Watched(Probe, Arc<Mutex<usize>>);

impl Stream for Watched {
    type Item = &'static str;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        *self.1.lock().unwrap() = self.0.spans().len();
    }
}

#[test]
fn the_call_ends_before_what_it_measured_is_dropped() {
    let probe = Probe::new();
    let call = call(&probe);
    let ended = Arc::new(Mutex::new(0));
    drop(Watched(probe, Arc::clone(&ended)).measure(call));
    assert_eq!(*ended.lock().unwrap(), 1);
}

#[test]
fn open_takes_a_request_whose_items_know_what_they_carry() {
    let probe = Probe::new();
    let request = ready(Ok::<_, io::Error>(stream::iter([Ok::<_, io::Error>("a"), Ok("b")])));
    let mut reply = block_on(call(&probe).open(request)).unwrap();
    assert_eq!(drain(&mut reply), 2);
    assert_eq!(reply.timing().outputs, 2);
    assert_eq!(reply.timing().time_to_head, ms(0));
}

#[test]
fn open_with_takes_a_closure_and_errors_of_any_sort() {
    let probe = Probe::new();
    let request = ready(Ok::<_, Held>(stream::iter([1, 2, 3])));
    let open = call(&probe).sees(Sees::Finish).open_with(request, |n| match n {
        3 => Output::finish("stop"),
        _ => Output::text("word"),
    });
    let mut reply = block_on(open).unwrap();
    drain(&mut reply);
    assert_eq!((reply.timing().outputs, reply.timing().outcome), (2, Some(Outcome::Complete)));
}

#[test]
fn try_open_with_records_the_errors_of_items() {
    let probe = Probe::new();
    let items = [Ok("a"), Err(Held::from(io::Error::from(io::ErrorKind::ConnectionReset)))];
    let request = ready(Ok::<_, io::Error>(stream::iter(items)));
    let mut reply = block_on(call(&probe).try_open_with(request, |text| Output::text(text))).unwrap();
    drain(&mut reply);
    assert_eq!(reply.timing().outcome, Some(Outcome::Interrupted));
}

#[test]
fn open_fn_builds_the_request_inside_the_call() {
    let probe = Probe::new();
    let mut inside = None;
    let build = || {
        inside = Some(opentelemetry::Context::current().span().span_context().span_id());
        ready(Ok::<_, io::Error>(stream::iter(["a"])))
    };
    let mut reply = block_on(call(&probe).open_fn(build)).unwrap();
    drain(&mut reply);
    assert_eq!(inside, Some(probe.span().span_context.span_id()));
}

#[test]
fn an_error_of_a_request_passes_through() {
    let probe = Probe::new();
    let refused = ready(Err::<stream::Empty<&str>, _>(Held::from("no such model")));
    let error = block_on(call(&probe).open(refused)).unwrap_err();
    assert_eq!(error.to_string(), "no such model");
    assert_eq!(attribute(&probe.span(), "error.type").as_deref(), Some("_OTHER"), "a message is no type");
}

#[test]
fn a_call_that_does_not_stream_has_neither_chunks_nor_a_head() {
    let probe = Probe::new();
    let request = async {
        probe.clock().advance(Duration::from_millis(300));
        Ok::<_, io::Error>("the answer".to_owned())
    };
    assert_eq!(block_on(call(&probe).run(request)).unwrap(), "the answer");
    let span = probe.span();
    assert_eq!(attribute(&span, "llmperf.outcome").as_deref(), Some("complete"));
    for absent in ["llmperf.time_to_head", "gen_ai.request.stream", "gen_ai.response.time_to_first_chunk"] {
        assert_eq!(attribute(&span, absent), None, "{absent}");
    }
    for absent in ["time_to_head", "time_to_first_token", "consumer_wait", "longest_gap"] {
        assert_eq!(probe.count(&format!("llmperf.client.{absent}")), 0.0, "{absent}");
    }
    assert_eq!(probe.count("gen_ai.client.inference.time_to_first_chunk"), 0.0);
    assert_eq!(probe.points("llmperf.client.duration")[0].sum, 0.3);
    assert_eq!(probe.points("llmperf.client.calls")[0].attribute("gen_ai.request.stream"), "false");
}

#[test]
fn run_with_takes_usage_model_and_finish_reason_from_the_answer() {
    let probe = Probe::new();
    let request = ready(Ok::<_, io::Error>("answer"));
    let run = call(&probe)
        .run_with(request, |text| Output::text(text).and_usage(Usage::of(12, 5)).and_finish("length").model("m-1"));
    block_on(run).unwrap();
    let span = probe.span();
    assert_eq!(attribute(&span, "gen_ai.usage.output_tokens").as_deref(), Some("5"));
    assert_eq!(attribute(&span, "gen_ai.response.model").as_deref(), Some("m-1"));
    assert_eq!(attribute(&span, "gen_ai.response.finish_reasons").as_deref(), Some(r#"["length"]"#));
    assert_eq!(attribute(&span, "gen_ai.request.stream"), None);
}

#[test]
fn run_ends_as_its_future_does() {
    let outcome = |run: &dyn Fn(&Probe)| {
        let probe = Probe::new();
        run(&probe);
        let span = probe.span();
        (attribute(&span, "llmperf.outcome").unwrap(), attribute(&span, "error.type"))
    };
    let failed = outcome(&|probe| {
        let _ = block_on(call(probe).run(ready(Err::<(), _>(std::fmt::Error))));
    });
    assert_eq!(failed, ("error".into(), Some("core::fmt::Error".into())));
    let dropped = outcome(&|probe| {
        assert!(call(probe).run(std::future::pending::<io::Result<()>>()).now_or_never().is_none());
    });
    assert_eq!(dropped, ("cancelled".into(), None));
    let told = outcome(&|probe| {
        block_on(call(probe).run_with(ready(Ok::<_, io::Error>(())), |()| Output::error("content_filter"))).unwrap();
    });
    assert_eq!(told, ("error".into(), Some("content_filter".into())));
}

#[test]
fn a_reader_of_a_whole_answer_that_panics_is_an_error() {
    let probe = Probe::new();
    let run = call(&probe).run_with(ready(Ok::<_, io::Error>(())), |()| -> Output<'_> { panic!("reader") });
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(run))).is_err());
    assert_eq!(attribute(&probe.span(), "error.type").as_deref(), Some("panic"));
}

#[test]
fn a_whole_answer_is_counted_by_the_caller_s_tokenizer_and_its_zero_is_not_believed() {
    let probe = Probe::new();
    let count = |text: &str| text.split(' ').count() as u64;
    let request = ready(Ok::<_, io::Error>("one two three"));
    let run = call(&probe).tokenizer(count).run_with(request, |text| Output::text(text).and_usage(Usage::of(7, 0)));
    block_on(run).unwrap();
    assert_eq!(attribute(&probe.span(), "gen_ai.usage.output_tokens").as_deref(), Some("3"));
    assert_eq!(attribute(&probe.span(), "llmperf.token.source").as_deref(), Some("tokenizer"));
}

#[test]
fn try_measure_takes_errors_that_hold_one() {
    let probe = Probe::new();
    let items = [Ok("a"), Err(Held::from(io::Error::from(io::ErrorKind::BrokenPipe)))];
    let mut reply = stream::iter(items).try_measure(call(&probe));
    assert_eq!(drain(&mut reply), 2);
    assert_eq!(reply.timing().outcome, Some(Outcome::Interrupted));
    let mut other = stream::iter([Err::<&str, _>(Held::from("boom"))]).try_measure(call(&probe));
    drain(&mut other);
    assert_eq!(other.timing().error_type.as_deref(), Some("_OTHER"));
}

#[test]
fn try_measure_with_gives_the_closure_what_is_ok() {
    let probe = Probe::new();
    let items = [Ok(1), Ok(2), Err(std::fmt::Error)];
    let mut seen = Vec::new();
    let mut reply = stream::iter(items).try_measure_with(call(&probe), |n: &i32| {
        seen.push(*n);
        Output::text("word")
    });
    drain(&mut reply);
    assert_eq!(reply.timing().error_type.as_deref(), Some("core::fmt::Error"));
    drop(reply);
    assert_eq!(seen, [1, 2]);
}

#[test]
fn an_error_that_comes_first_is_a_failure_before_the_head() {
    let probe = Probe::new();
    let refused = [Err::<&str, _>(io::Error::from(io::ErrorKind::ConnectionRefused))];
    let mut lazy = stream::iter(refused).measure(call(&probe));
    drain(&mut lazy);
    let timing = lazy.timing();
    assert_eq!((timing.outcome, timing.error_type.as_deref()), (Some(Outcome::Error), Some("connection_refused")));
    assert_eq!((timing.chunks, timing.time_to_first_chunk), (0, None), "a connection that breaks is no event");
}

#[test]
fn after_the_head_the_same_error_interrupts() {
    let probe = Probe::new();
    let reset = || Err::<&str, _>(io::Error::from(io::ErrorKind::ConnectionReset));
    let request = ready(Ok::<_, io::Error>(stream::iter([reset()])));
    let mut reply = block_on(call(&probe).open(request)).unwrap();
    drain(&mut reply);
    assert_eq!(reply.timing().outcome, Some(Outcome::Interrupted));
}

#[test]
fn iterators_are_measured_too() {
    let probe = Probe::new();
    let clock = probe.clock().clone();
    let tokens = (0..3).map(move |_| {
        clock.advance(Duration::from_millis(20));
        "word"
    });
    let mut tokens = tokens.measure_iter(call(&probe));
    assert_eq!(tokens.by_ref().count(), 3);
    let timing = tokens.timing();
    assert_eq!((timing.time_to_first_token, timing.longest_gap), (ms(20), ms(20)));
    assert_eq!((timing.outcome, timing.consumer_wait), (Some(Outcome::Complete), Duration::ZERO));
}

#[test]
fn an_iterator_s_closure_can_see_an_end_and_its_drop_cancels() {
    let probe = Probe::new();
    fn carries<'a>(item: &'a Option<&'static str>) -> Output<'a> {
        item.map_or(Output::finish("stop"), Output::text)
    }
    let mut whole = [Some("a"), None].into_iter().measure_iter_with(call(&probe), carries).sees(Sees::Finish);
    assert_eq!(whole.by_ref().count(), 2);
    assert_eq!(whole.timing().outcome, Some(Outcome::Complete));
    let mut cut = [Some("a")].into_iter().measure_iter_with(call(&probe), carries).sees(Sees::Finish);
    assert_eq!(cut.by_ref().count(), 1);
    assert_eq!(cut.timing().outcome, Some(Outcome::Interrupted));
    let mut left = [Some("a"), None].into_iter().measure_iter_with(call(&probe), carries);
    left.next();
    drop(left);
    assert_eq!(attribute(&probe.spans()[2], "llmperf.outcome").as_deref(), Some("cancelled"));
}

#[test]
fn an_iterator_that_panics_is_an_error_and_propagates() {
    let probe = Probe::new();
    let tokens = std::iter::from_fn(|| -> Option<&str> { panic!("decoder") });
    let mut tokens = tokens.measure_iter(call(&probe));
    assert!(catch_unwind(AssertUnwindSafe(|| tokens.next())).is_err());
    assert_eq!(tokens.timing().error_type.as_deref(), Some("panic"));
}

#[test]
fn a_recorder_takes_what_a_callback_api_gives() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    probe.clock().advance(Duration::from_millis(10));
    recorder.on_status(200);
    probe.clock().advance(Duration::from_millis(30));
    recorder.on_chunk(Output::text("a"));
    probe.clock().advance(Duration::from_millis(20));
    recorder.on_chunk(Output::text("b"));
    recorder.on_usage(Usage::of(9, 2));
    let timing = recorder.finish();
    assert_eq!((timing.time_to_head, timing.time_to_first_token), (ms(10), ms(40)));
    assert_eq!((timing.time_per_output_token, timing.consumer_wait), (ms(20), Duration::ZERO));
    assert_eq!(timing.outcome, Some(Outcome::Complete));
    assert_eq!(probe.points("llmperf.client.calls")[0].attribute("gen_ai.request.stream"), "true");
}

#[test]
fn a_recorder_ends_as_it_is_told_or_dropped() {
    let end = |end: &dyn Fn(Recorder)| {
        let probe = Probe::new();
        end(call(&probe).sees(Sees::Finish).start());
        let span = probe.span();
        (attribute(&span, "llmperf.outcome").unwrap(), attribute(&span, "error.type"))
    };
    let is = |outcome: &str, error: Option<&str>| (outcome.to_owned(), error.map(str::to_owned));
    assert_eq!(end(&|call| _ = call.finish()), is("complete", None));
    assert_eq!(end(&|call| _ = call.end()), is("interrupted", Some("stream_interrupted")));
    assert_eq!(end(&|mut call| call.fail("quota")), is("error", Some("quota")));
    assert_eq!(end(&|mut call| call.on_status(503)), is("error", Some("503")));
    assert_eq!(end(&drop), is("cancelled", None));
    assert_eq!(end(&|mut call| call.failure(Failure::transport("reset"))), is("error", Some("reset")));
    let after_head = end(&|mut call| {
        call.on_head();
        call.failure(Failure::transport("reset"));
    });
    assert_eq!(after_head, is("interrupted", Some("stream_interrupted")));
    let panicked = end(&|call| {
        let panicked = catch_unwind(AssertUnwindSafe(move || {
            let _call = call;
            panic!("callback");
        }));
        assert!(panicked.is_err());
    });
    assert_eq!(panicked, is("error", Some("panic")));
}

#[test]
fn a_scope_of_a_recorder_is_inside_the_call() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    let inside = recorder.in_scope(|| {
        assert!(current_call().is_some());
        opentelemetry::Context::current().span().span_context().clone()
    });
    assert_eq!(&inside, recorder.context().span().span_context());
    assert!(current_call().is_none(), "and not behind it");
    assert!(catch_unwind(AssertUnwindSafe(|| recorder.in_scope(|| panic!("callback")))).is_err());
    assert_eq!(recorder.timing().error_type.as_deref(), Some("panic"));
    recorder.on_chunk(Output::text("late"));
    assert_eq!(recorder.finish().outputs, 0, "nothing is measured behind the latch");
}

#[test]
fn the_side_that_serves_has_metrics_of_its_own_and_an_internal_span() {
    let probe = Probe::new();
    let items = [(100, Output::text("a")), (20, Output::text("b")), (0, Output::usage(5, 2).and_done())];
    drain(&mut paced(&probe, items).measure_with(call(&probe).side(Side::Server), |output| *output));
    assert_eq!(probe.span().span_kind, SpanKind::Internal);
    let names = probe.metric_names();
    assert!(names.iter().all(|name| !name.contains(".client.")), "{names:?}");
    assert_eq!(probe.points("llmperf.server.time_to_first_token")[0].sum, 0.1);
    let kind = call(&probe).side(Side::Server).span_kind(SpanKind::Server);
    drop(kind.start());
    assert_eq!(probe.spans()[1].span_kind, SpanKind::Server, "the HTTP layer says so");
}

#[test]
fn a_model_handle_gives_calls_that_have_its_names() {
    let probe = Probe::new();
    let handle = model("vllm", "llama-3").server("10.0.0.7", 8000).scenario("batch");
    let handle = handle.instrumentation(probe.instrumentation());
    for _ in 0..2 {
        drain(&mut stream::iter(["a"]).measure(handle.chat()));
    }
    let point = &probe.points("llmperf.client.duration")[0];
    assert_eq!(point.count, 2);
    assert_eq!((point.attribute("server.address"), point.attribute("server.port")), ("10.0.0.7", "8000"));
    assert_eq!(point.attribute("llmperf.scenario"), "batch");
}

#[test]
fn a_call_outlives_the_thread_s_locals() {
    thread_local! {
        static KEPT: RefCell<Option<Box<dyn Stream<Item = &'static str>>>> = const { RefCell::new(None) };
    }
    let probe = Probe::new();
    let reply = script(&probe, [Step::Item("a"), Step::Hang]).measure(call(&probe));
    std::thread::spawn(move || {
        let mut reply = reply;
        take(&mut reply, 1);
        KEPT.with(|kept| *kept.borrow_mut() = Some(Box::new(reply)));
    })
    .join()
    .unwrap();
    assert_eq!(attribute(&probe.span(), "llmperf.outcome").as_deref(), Some("cancelled"));
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}

#[test]
fn sizes_past_all_counting_harm_nobody() {
    let probe = Probe::new();
    let huge = Output::sized(llmperf_core::Kind::Media, usize::MAX).and_sized(llmperf_core::Kind::Media, usize::MAX);
    let mut reply =
        paced(&probe, [(1, huge), (1, huge)]).measure_with(call(&probe).tokenizer(|_| u64::MAX), |output| *output);
    assert_eq!(drain(&mut reply), 2);
    assert_eq!(reply.timing().outcome, Some(Outcome::Complete));
}

#[test]
fn a_request_that_is_polled_in_pieces_is_one_call() {
    let probe = Probe::new();
    let mut polls = 0;
    let request = std::future::poll_fn(|cx| {
        polls += 1;
        probe.clock().advance(Duration::from_millis(10));
        cx.waker().wake_by_ref();
        if polls < 3 { Poll::Pending } else { Poll::Ready(Ok::<_, io::Error>(stream::iter(["a"]))) }
    });
    let mut open = pin!(call(&probe).open(request));
    let mut context = Context::from_waker(Waker::noop());
    assert!(open.as_mut().poll(&mut context).is_pending());
    assert_eq!(probe.instrumentation().live_calls(), 1);
    let mut reply = block_on(open).unwrap();
    drain(&mut reply);
    assert_eq!(reply.timing().time_to_head, ms(30));
    assert_eq!((probe.spans().len(), probe.instrumentation().live_calls()), (1, 0));
}
