//! Applications have a `Result` of their own, under a name of their own.

use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use llmperf::{Output, Usage, testing::Probe};

use crate::support::{Refused, awaited, on};

type Answered<T> = AppResult<T>;
type AppResult<T, E = Refused> = std::result::Result<T, E>;

fn output_tokens(probe: &Probe) -> Vec<String> {
    let spans = probe.spans();
    let all = spans.iter().flat_map(|span| &span.attributes);
    all.filter(|told| told.key.as_str() == "gen_ai.usage.output_tokens").map(|told| told.value.to_string()).collect()
}

#[llmperf::generation(model = "m", reads = |tokens| Output::finish("stop").and_usage(Usage::of(1, *tokens)))]
async fn whole(tokens: u64) -> Answered<u64> {
    if tokens == 0 { Err(Refused) } else { Ok(tokens) }
}

#[llmperf::generation(model = "m", reads = |tokens: &u64| Output::usage(1, *tokens))]
fn optional(tokens: u64) -> std::option::Option<u64> {
    Some(tokens)
}

#[llmperf::agent(goal = |answer| answer.len() > 1)]
fn reached(answer: &str) -> Answered<&str> {
    Ok(answer)
}

#[test]
fn closures_look_at_what_is_in_it() {
    let probe = Probe::new();
    assert_eq!(on(&probe, || whole(7)), Ok(7));
    assert_eq!(probe.instrumentation().sync_scope(|| optional(8)), Some(8));
    assert_eq!(output_tokens(&probe), ["7", "8"]);
    assert_eq!(awaited(|| whole(0)), (Err(Refused), "chat m !\n".into()));

    let probe = Probe::new();
    assert_eq!(probe.instrumentation().sync_scope(|| (reached("a"), reached("ab"))), (Ok("a"), Ok("ab")));
    let results: Vec<_> = probe
        .spans()
        .iter()
        .map(|span| {
            let result = span.attributes.iter().find(|told| told.key.as_str() == "llmperf.agent.result");
            result.map(|told| told.value.to_string())
        })
        .collect();
    assert_eq!(results, [Some("failure".to_owned()), Some("success".to_owned())]);
}

#[llmperf::generation(model = "m", reads = |tokens| Output::usage(1, *tokens))]
async fn streamed(tokens: Vec<Answered<u64>>) -> AppResult<impl Stream<Item = Answered<u64>> + Unpin> {
    if tokens.is_empty() { Err(Refused) } else { Ok(stream::iter(tokens)) }
}

type Tokens<T> = stream::BoxStream<'static, T>;

#[llmperf::generation(model = "m", stream = boxed, reads = |tokens: &u64| Output::usage(1, *tokens))]
fn boxed(tokens: Vec<Answered<u64>>) -> AppResult<Tokens<Answered<u64>>> {
    Ok(stream::iter(tokens).boxed())
}

#[test]
fn a_stream_in_it_is_measured_to_its_end() {
    let probe = Probe::new();
    let items = on(&probe, async || streamed(vec![Ok(3), Err(Refused)]).await.unwrap().collect::<Vec<_>>().await);
    assert_eq!((items, probe.tree().as_str()), (vec![Ok(3), Err(Refused)], "chat m !\n"));
    assert_eq!(output_tokens(&probe), ["3"]);
    assert_eq!(awaited(async || streamed(Vec::new()).await.is_err()), (true, "chat m !\n".into()));

    let probe = Probe::new();
    let items = on(&probe, async || boxed(vec![Ok(4)]).unwrap().collect::<Vec<_>>().await);
    assert_eq!(items, [Ok(4)]);
    assert_eq!(output_tokens(&probe), ["4"]);
}

#[llmperf::step(deadline = limit)]
async fn limited(limit: &Option<Duration>) {
    let _read = limit;
    std::future::pending().await
}

#[llmperf::step(deadline = limit)]
async fn limited_always(limit: &Duration) {
    let _read = limit;
    std::future::pending().await
}

#[test]
fn a_limit_may_be_lent() {
    for (limit, tree) in [
        (None, "step limited\nstep limited_always !\n"),
        (Some(Duration::from_secs(2)), "step limited !\nstep limited_always !\n"),
    ] {
        let probe = Probe::new();
        on(&probe, async || {
            let second = Duration::from_secs(1);
            let mut first = Box::pin(limited(&limit));
            let mut second = Box::pin(limited_always(&second));
            assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
            probe.clock().advance(Duration::from_secs(3));
        });
        assert_eq!(probe.tree(), tree);
    }
}
