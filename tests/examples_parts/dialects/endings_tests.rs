//! Every way that an answer can end, in every dialect.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;

use super::asking::{complete, finish, http, plan, request, streamed, whole};
use crate::server::{
    Asked, Consumer, Dialect, Ending, Finish, MODELS, Outcome, Plan, SWIFT, Script, Server, TOOLSMITH,
};

/// Each dialect with each model.
fn every() -> impl Iterator<Item = (Dialect, &'static str)> {
    Dialect::ALL.into_iter().flat_map(|dialect| MODELS.map(|model| (dialect, model)))
}

#[tokio::test]
async fn a_whole_stream_leaves_with_every_token_and_its_end() {
    for (dialect, model) in every() {
        let plan = complete(model);
        let told = streamed(dialect, plan.clone()).await;
        assert_eq!((told.status, told.broken), (200, false), "{dialect:?}");
        let writes = &told.record.writes;
        let tokens: u32 = writes.iter().map(|write| write.content.tokens).sum();
        assert_eq!(tokens, plan.output_tokens(), "{dialect:?} {model}");
        assert_eq!(writes.iter().filter(|write| write.content.end).count(), 1);
        assert!(writes.last().unwrap().content.end && writes.iter().any(|write| write.content.answer));
    }
}

#[tokio::test]
async fn less_comes_without_the_marker_and_nothing_else() {
    for (dialect, model) in every() {
        let whole = streamed(dialect, complete(model)).await;
        let unmarked = streamed(dialect, plan(model, Ending::Unmarked(finish(model)))).await;
        assert!(!unmarked.broken, "{dialect:?}");
        assert!(whole.body.starts_with(&unmarked.body), "{dialect:?}");
        let has_no_marker = dialect == Dialect::GeminiSse;
        assert_eq!(whole.body.len() == unmarked.body.len(), has_no_marker, "{dialect:?}");
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_is_a_clean_end_of_the_body() {
    for (dialect, model) in every() {
        let told = streamed(dialect, plan(model, Ending::ErrorFrame)).await;
        assert_eq!((told.status, told.broken), (200, false), "{dialect:?}");
        assert!(String::from_utf8_lossy(&told.body).contains("The engine ran out of memory."), "{dialect:?}");
        assert_eq!(whole(dialect, plan(model, Ending::ErrorFrame)).await.status, 500);
    }
}

#[tokio::test]
async fn a_cut_breaks_the_connection_inside_an_event() {
    for (dialect, model) in every() {
        let told = streamed(dialect, plan(model, Ending::Cut)).await;
        assert!(told.broken && !told.record.writes.iter().any(|write| write.content.end), "{dialect:?} {model}");
        let half = whole(dialect, plan(model, Ending::Cut)).await;
        assert!(half.broken && half.status == 200, "{dialect:?}");
        assert!(serde_json::from_slice::<serde_json::Value>(&half.body).is_err());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_lasts_until_the_client_has_gone() {
    for (dialect, model) in every() {
        let silent = plan(model, Ending::Silent);
        let server = Server::start(move |_| silent.clone()).unwrap();
        let response = request(&server, dialect, model, true).send().await.unwrap();
        let mut reads = response.bytes_stream();
        assert!(reads.next().await.unwrap().is_ok(), "{dialect:?}");
        drop(reads);
        let ledger = server.ledger().clone();
        assert!(server.stop(Duration::from_secs(10)), "{dialect:?}: the server waits for a client that has gone");
        assert!(ledger.of(7).unwrap().released.is_some());
    }
}

#[tokio::test]
async fn a_refusal_comes_before_anything_else() {
    for dialect in Dialect::ALL {
        for status in [400, 429, 500, 503, 529] {
            for told in [
                streamed(dialect, plan(SWIFT, Ending::Refused(status))).await,
                whole(dialect, plan(SWIFT, Ending::Refused(status))).await,
            ] {
                assert_eq!((told.status, told.content_type.as_str()), (status, "application/json"));
                assert!(told.json().is_object() || told.json().is_array());
                assert!(told.record.writes.is_empty() && told.record.head.is_some());
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_question_is_refused_in_the_dialects_own_words() {
    let server = Server::start(|_| complete(SWIFT)).unwrap();
    for dialect in Dialect::ALL {
        let ask = |model: &str, body: serde_json::Value| {
            http().post(server.url(&dialect.path(model, true))).json(&body).send()
        };
        let unknown = ask("none", dialect.question("none", "hello", true)).await.unwrap();
        assert_eq!(unknown.status(), 404, "{dialect:?}");
        assert!(unknown.text().await.unwrap().contains("The model none does not exist."));
        let empty = ask(SWIFT, json!({ "model": SWIFT })).await.unwrap();
        assert_eq!(empty.status(), 400, "{dialect:?}");
    }
}

#[test]
fn a_missing_marker_is_an_interruption_where_only_it_tells_the_reason() {
    let unmarked = plan(SWIFT, Ending::Unmarked(Finish::Stop));
    let interrupted = Dialect::ALL.into_iter().filter(|dialect| dialect.outcome(&unmarked) == Outcome::Interrupted);
    let silent = [Dialect::Responses, Dialect::OllamaChat, Dialect::OllamaGenerate, Dialect::Cohere];
    assert_eq!(interrupted.collect::<Vec<_>>(), silent);
    for dialect in Dialect::ALL {
        assert_eq!(dialect.outcome(&complete(SWIFT)), Outcome::Complete);
        assert_eq!(dialect.outcome(&plan(SWIFT, Ending::ErrorFrame)), Outcome::Error);
    }
}

#[test]
fn seeded_plans_leave_with_every_token_and_every_client_that_leaves_can() {
    for (dialect, index) in Dialect::ALL.into_iter().flat_map(|dialect| (0..200).map(move |index| (dialect, index))) {
        let plan = dialect.fit(Plan::nth(1, index));
        let asked = Asked { dialect, index, model: plan.model.into(), include_usage: true };
        let contents: Vec<_> = Script::new(plan.clone(), asked).map(|step| step.content).collect();
        let tokens: u32 = contents.iter().map(|content| content.tokens).sum();
        assert_eq!(tokens, plan.output_tokens(), "{dialect:?} {index}");
        if let Consumer::Leaves { events } = plan.consumer {
            let written: u32 = contents.iter().map(|content| content.events).sum();
            assert!((1..=usize::try_from(written).unwrap()).contains(&events), "{dialect:?} {index}");
        }
    }
}

#[test]
fn a_client_leaves_at_an_event_that_comes() {
    let leaves = |events| Plan { consumer: Consumer::Leaves { events }, ..plan(TOOLSMITH, Ending::Silent) };
    assert_eq!(Dialect::OllamaChat.fit(leaves(4)).consumer, Consumer::Leaves { events: 2 });
    assert_eq!(Dialect::OpenAiChat.fit(leaves(4)), leaves(4));
}
