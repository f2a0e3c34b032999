//! Design section 4: spans of `tracing` and ours nest in both directions, wherever a call is made, polled or spawned.
#![allow(clippy::unwrap_used, reason = "tests")]

mod interplay;

use std::io;

use futures::{StreamExt as _, stream};
use interplay::{Application, chat, decoding};
use llmperf_core::{Call, InCurrentScope as _, Instrumentation, MeasureStream as _, Output, Scope, testing::Point};
use opentelemetry::{
    Context,
    trace::{
        SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState, Tracer as _, TracerProvider as _,
    },
};
use opentelemetry_sdk::trace::Sampler;
use tokio::{sync::mpsc, task::JoinSet};
use tracing::{Instrument as _, info_span};
use tracing_subscriber::{Layer as _, filter::filter_fn};

/// The call that most tests make, and its tree: two pending polls, two items, the end.
async fn stream_two(call: Call) {
    let mut reply = decoding(2).measure(call);
    while reply.next().await.is_some() {}
}

const STREAMED: &str = "\
request
  chat gpt-4o-mini
    decode
    decode
    decode
    decode
    decode
";

fn streamed(application: &Application) {
    let instrumentation = application.instrumentation();
    application.request(async move { stream_two(chat(&instrumentation)).await });
}

#[test]
fn spans_made_while_a_stream_is_polled_are_children_of_the_call() {
    let application = Application::new();
    streamed(&application);
    assert_eq!(application.tree(), STREAMED);
}

/// The control: the same call, the same assertion, and it does not hold.
#[test]
fn without_context_activation_the_same_call_does_not_nest() {
    let application = Application::bridged(Sampler::AlwaysOn, |bridge| bridge.with_context_activation(false));
    streamed(&application);
    assert_ne!(application.tree(), STREAMED);
    // What one sees: ours is a root of its own, and what is made inside it is a child of the request.
    assert_eq!(
        application.trees(),
        ["chat gpt-4o-mini\n", "request\n  decode\n  decode\n  decode\n  decode\n  decode\n"]
    );
}

#[test]
fn a_context_attached_by_hand_is_a_parent_like_any_other() {
    let application = Application::new();
    let tracer = application.probe.tracer_provider().tracer("application");
    let parent = Context::current_with_span(tracer.start("by hand"));
    let call = application.chat().parent(parent.clone());
    application.run(stream_two(call));
    drop(parent);
    assert_eq!(application.tree(), STREAMED.replace("request", "by hand"));
}

async fn connect() -> io::Result<stream::Iter<std::array::IntoIter<&'static str, 1>>> {
    async { tokio::task::yield_now().await }.instrument(info_span!("connect")).await;
    Ok(stream::iter(["word"]))
}

#[test]
fn spans_made_while_a_request_is_awaited_are_children_of_the_call() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let mut reply = chat(&instrumentation).open(connect()).await.unwrap();
        while reply.next().await.is_some() {}
    });
    assert_eq!(application.tree(), "request\n  chat gpt-4o-mini\n    connect\n");
}

#[test]
fn a_request_built_by_open_fn_is_built_inside_the_call() {
    let build = || {
        info_span!("build").in_scope(|| ());
        connect()
    };
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move { drop(chat(&instrumentation).open_fn(build).await) });
    assert_eq!(application.tree(), "request\n  chat gpt-4o-mini\n    build\n    connect\n");

    // The argument of `open` is built by the caller, outside the call.
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move { drop(chat(&instrumentation).open(build()).await) });
    assert_eq!(application.tree(), "request\n  chat gpt-4o-mini\n    connect\n  build\n");
}

#[test]
fn spans_made_while_an_answer_is_awaited_are_children_of_the_call() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let answer = async {
            drop(connect().await?);
            io::Result::Ok(String::new())
        };
        chat(&instrumentation).run(answer).await.unwrap();
    });
    assert_eq!(application.tree(), "request\n  chat gpt-4o-mini\n    connect\n");
}

#[test]
fn spans_made_in_the_scope_of_a_recorder_are_children_of_the_call() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let mut call = chat(&instrumentation).start();
        call.in_scope(|| info_span!("inside").in_scope(call_back));
        info_span!("outside").in_scope(|| ());
        call.finish();
    });
    assert_eq!(application.tree(), "request\n  chat gpt-4o-mini\n    inside\n      call back\n  outside\n");
}

fn call_back() {
    info_span!("call back").in_scope(|| ());
}

#[test]
fn a_call_in_a_spawned_task_takes_its_scope_along_when_it_is_told_to() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let task = async move { stream_two(chat(&instrumentation)).await };
        tokio::spawn(task.in_current_scope()).await.unwrap();
    });
    assert_eq!(application.tree(), STREAMED);
}

/// What one sees after a bare spawn: a tree of the call's own, whole in itself.
#[test]
fn a_call_in_a_task_that_was_merely_spawned_is_a_root() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application
        .request(async move { tokio::spawn(async move { stream_two(chat(&instrumentation)).await }).await.unwrap() });
    let own_tree = STREAMED.replace("request\n", "").replace("\n  ", "\n").trim_start().to_owned();
    assert_eq!(application.trees(), [own_tree, "request\n".to_owned()]);
}

/// The bridge's own way into a spawned task works for calls made there.
#[test]
fn a_call_in_a_task_instrumented_by_tracing_is_a_child_of_that_span() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let task = async move { stream_two(chat(&instrumentation)).await };
        tokio::spawn(task.in_current_span()).await.unwrap();
    });
    assert_eq!(application.tree(), STREAMED);
}

#[test]
fn a_task_spawned_inside_a_call_is_its_child_when_it_takes_the_scope_along() {
    async fn spawned() {
        info_span!("spawned").in_scope(|| ());
    }
    let inside = async |instrumentation: Instrumentation| {
        let answer = async {
            tokio::spawn(spawned().in_current_scope()).await.unwrap();
            io::Result::Ok(())
        };
        chat(&instrumentation).run(answer).await.unwrap();
    };
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move { inside(instrumentation).await });
    assert_eq!(application.tree(), "request\n  chat gpt-4o-mini\n    spawned\n");

    // `in_current_span` knows `tracing` spans only: the nearest is the request, not our call.
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let answer = async {
            tokio::spawn(spawned().in_current_span()).await.unwrap();
            io::Result::Ok(())
        };
        chat(&instrumentation).run(answer).await.unwrap();
    });
    assert_eq!(application.tree(), "request\n  chat gpt-4o-mini\n  spawned\n");
}

#[test]
fn calls_of_a_join_set_are_siblings() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let mut calls = JoinSet::new();
        for _ in 0..8 {
            let instrumentation = instrumentation.clone();
            calls.spawn(async move { stream_two(chat(&instrumentation)).await }.in_current_scope());
        }
        assert_eq!(calls.join_all().await.len(), 8);
    });
    let (request, call) = STREAMED.split_once('\n').unwrap();
    assert_eq!(application.tree(), format!("{request}\n{}", call.repeat(8)));
}

#[test]
fn a_stream_polled_by_another_task_keeps_the_parent_of_the_task_that_made_the_call() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let mut reply = decoding(2).measure(chat(&instrumentation));
        let reader = async move {
            async {
                reply.next().await;
                let last = async move { while reply.next().await.is_some() {} };
                tokio::spawn(last).await.unwrap();
            }
            .instrument(info_span!("reader"))
            .await;
        };
        tokio::spawn(reader).await.unwrap();
    });
    assert_eq!(application.trees(), ["reader\n", STREAMED]);
}

#[test]
fn a_call_that_is_made_early_and_opened_elsewhere_has_the_parent_of_its_making() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let call = chat(&instrumentation);
        tokio::spawn(async move { drop(call.open(connect()).await) }).await.unwrap();
    });
    assert_eq!(application.tree(), "request\n  chat gpt-4o-mini\n    connect\n");
}

#[test]
fn a_stream_behind_a_channel_leaves_the_sender_where_it_is() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let (sender, mut receiver) = mpsc::channel(1);
        let producer = async move {
            for word in ["one", "two"] {
                sender.send(word).instrument(info_span!("produce")).await.unwrap();
            }
        };
        tokio::spawn(producer.in_current_scope());
        let received = stream::poll_fn(move |cx| receiver.poll_recv(cx));
        let mut reply = received.measure(chat(&instrumentation));
        while reply.next().await.is_some() {}
    });
    let tree = application.tree();
    assert_eq!(tree, "request\n  chat gpt-4o-mini\n  produce\n  produce\n");
}

#[test]
fn a_call_inside_another_is_its_child_and_their_insides_stay_apart() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let inner = instrumentation.clone();
        let answer = async move {
            drop(connect().await?);
            let mut reply = decoding(1).measure(inner.chat("openai", "router"));
            while reply.next().await.is_some() {}
            io::Result::Ok(())
        };
        chat(&instrumentation).run(answer).await.unwrap();
    });
    assert_eq!(
        application.tree(),
        "\
request
  chat gpt-4o-mini
    chat router
      decode
      decode
      decode
    connect
"
    );
    assert_eq!(application.probe.count("llmperf.client.calls"), 2.0);
}

#[test]
fn an_attempt_that_joins_is_a_child_span_and_no_call() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let transport = instrumentation.clone();
        let answer = async move {
            let response = connect().await?;
            let mut reply = response.measure(transport.chat("http", "").transport());
            while reply.next().await.is_some() {}
            io::Result::Ok(())
        };
        chat(&instrumentation).run(answer).await.unwrap();
    });
    assert_eq!(application.tree(), "request\n  chat gpt-4o-mini\n    chat\n    connect\n");
    assert_eq!(application.probe.count("llmperf.client.calls"), 1.0);
}

#[test]
fn what_a_recorder_s_scope_holds_after_the_latch_still_belongs_to_the_call() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.run(async move {
        let mut call = chat(&instrumentation).start();
        call.fail("429");
        call.in_scope(call_back);
    });
    assert_eq!(application.tree(), "chat gpt-4o-mini !\n  call back\n");
}

#[test]
fn polls_after_the_latch_still_belong_to_the_call() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.request(async move {
        let mut reply = decoding(2).measure_with(chat(&instrumentation), |_| Output::done());
        // Read on by a task that has no span: what the client does there must not become a root.
        let rest = async move { while reply.next().await.is_some() {} };
        tokio::spawn(rest).await.unwrap();
    });
    assert_eq!(application.tree(), STREAMED);
}

#[test]
fn two_hundred_concurrent_calls_have_a_tree_each() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    application.run(async move {
        let mut requests = JoinSet::new();
        for _ in 0..200 {
            let instrumentation = instrumentation.clone();
            let request = async move {
                let task = async move { stream_two(chat(&instrumentation)).await };
                tokio::spawn(task.in_current_scope()).await.unwrap();
            };
            requests.spawn(async { request.instrument(info_span!("request")).await });
        }
        assert_eq!(requests.join_all().await.len(), 200);
    });
    assert_eq!(application.trees(), vec![STREAMED; 200]);
}

#[test]
fn nothing_of_a_call_stays_current_after_a_poll() {
    let application = Application::new();
    let instrumentation = application.instrumentation();
    let is_root = application.run(async move {
        let mut reply = decoding(1).measure(chat(&instrumentation));
        let mut clean = !Context::current().has_active_span();
        while reply.next().await.is_some() {
            clean &= !Context::current().has_active_span();
        }
        clean
    });
    assert!(is_root);
}

#[test]
fn unsampled_calls_leave_no_span_at_all_and_all_metrics() {
    let samplers = [
        Sampler::AlwaysOff,
        Sampler::TraceIdRatioBased(0.0),
        Sampler::ParentBased(Box::new(Sampler::AlwaysOff)),
        Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(0.0))),
    ];
    let sampled = Application::new();
    streamed(&sampled);
    for sampler in samplers {
        let application = Application::sampled(sampler.clone());
        streamed(&application);
        assert_eq!(application.tree(), "", "{sampler:?}");
        assert_eq!(application.probe.metric_names(), sampled.probe.metric_names(), "{sampler:?}");
        for metric in sampled.probe.metric_names() {
            assert_eq!(points(&application, &metric), points(&sampled, &metric), "{metric}, {sampler:?}");
        }
    }
}

fn points(application: &Application, metric: &str) -> Vec<Point> {
    let mut points = application.probe.points(metric);
    points.sort_by(|a, b| a.attributes.cmp(&b.attributes));
    points
}

/// The root sampler would take anything that has no parent: a stray root would show.
#[test]
fn a_call_whose_remote_parent_is_not_sampled_makes_no_root_of_what_is_inside() {
    let application = Application::sampled(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)));
    let remote = SpanContext::new(
        TraceId::from_bytes([1; 16]),
        SpanId::from_bytes([2; 8]),
        TraceFlags::NOT_SAMPLED,
        true,
        TraceState::NONE,
    );
    let call = application.chat().parent(Context::new().with_remote_span_context(remote));
    application.run(stream_two(call));
    assert_eq!(application.tree(), "");
    assert_eq!(application.probe.count("llmperf.client.calls"), 1.0);

    // The control: without the call around it, the same stream is a root each time it is polled.
    application.run(async { decoding(2).count().await });
    assert_eq!(application.trees(), ["decode\n"; 5]);
}

/// Without a tracer of ours there is no span of ours; what is inside stays where the application's spans put it.
#[test]
fn a_call_without_a_tracer_leaves_the_application_s_own_tree_alone() {
    let application = Application::new();
    application.request(async { stream_two(chat(&Instrumentation::builder().build())).await });
    assert_eq!(application.tree(), "request\n  decode\n  decode\n  decode\n  decode\n  decode\n");
}

/// What one sees when the layer filters the parent: the call hangs on what the layer left.
#[test]
fn a_call_inside_a_span_that_the_layer_filters_hangs_on_the_next_outer_one() {
    let application = Application::bridged(Sampler::AlwaysOn, |bridge| {
        bridge.with_filter(filter_fn(|span| span.name() != "filtered"))
    });
    let instrumentation = application.instrumentation();
    let task = async move { stream_two(chat(&instrumentation)).instrument(info_span!("filtered")).await };
    application.request(task);
    assert_eq!(application.tree(), STREAMED);
}

/// The rule of design section 6: a `tracing` span keeps the context of its making.
#[test]
fn a_tracing_span_made_before_a_scope_leads_out_of_it() {
    #[derive(Debug)]
    struct Seen(std::sync::atomic::AtomicUsize);
    impl llmperf_core::Observer for Seen {
        fn finished(&self, _: &llmperf_core::FinishedCall<'_>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let application = Application::new();
    let instrumentation = application.instrumentation();
    let seen = std::sync::Arc::new(Seen(0.into()));
    let observer = std::sync::Arc::clone(&seen);
    application.request(async move {
        let before = info_span!("before");
        let scope = Scope::open(&Context::current(), observer);
        let inside = async {
            stream_two(chat(&instrumentation)).await;
            async { stream_two(chat(&instrumentation)).await }.instrument(info_span!("within")).await;
            async { stream_two(chat(&instrumentation)).await }.instrument(before).await;
        };
        opentelemetry::context::FutureExt::with_context(inside, scope.context().clone()).await;
    });
    assert_eq!(seen.0.load(std::sync::atomic::Ordering::Relaxed), 1 + 1);
}
