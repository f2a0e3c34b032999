//! What a user adds to work, and the attribute sets of a part: capped, folded, never in the way of ours.

use std::time::Duration;

use llmperf_core::{
    Instrumentation,
    metrics::{Definition, Kind},
    opentelemetry::{InstrumentationScope, KeyValue},
    part::{Attributes, CappedNames, Custom, Labels, Part, SetKey, Text},
    testing::Probe,
};

const CALLS: usize = 0;
const TABLE: &[Definition] = &[Definition::new("llmperf.test.calls", Kind::Counter, "{call}", "How many")];

/// A part of one counter.
#[derive(Debug)]
struct Desk {
    meters: llmperf_core::Meters,
    sets: Attributes<Key>,
}

impl Part for Desk {
    fn of(instrumentation: &Instrumentation) -> Self {
        let scope = InstrumentationScope::builder("llmperf-test").build();
        Self { meters: instrumentation.meters(scope, TABLE), sets: Attributes::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    tool: Text,
    failed: bool,
    labels: Labels,
}

impl SetKey for Key {
    fn attributes(&self) -> Vec<KeyValue> {
        let own = [KeyValue::new("tool", self.tool.clone()), KeyValue::new("failed", self.failed)];
        own.into_iter().chain(Custom::on_metric(&self.labels)).collect()
    }

    fn capped(&self, names: &CappedNames<'_>) -> Self {
        let labels = Custom::capped(&self.labels, names);
        Self { tool: names.capped("tool", &self.tool), failed: self.failed, labels }
    }

    fn folded(&self) -> Self {
        Self { tool: "_other".into(), failed: self.failed, labels: Labels::default() }
    }
}

fn count(probe: &Probe, tool: impl Into<Text>, failed: bool, labels: &Labels) {
    let part = probe.instrumentation().part::<Desk>();
    let key = Key { tool: tool.into(), failed, labels: labels.clone() };
    part.sets.with(probe.instrumentation(), &key, |set| part.meters.current().0.count(CALLS, 1, set));
}

#[test]
fn a_part_is_made_once_for_an_instrumentation() {
    let (one, other) = (Probe::new(), Probe::new());
    let part = one.instrumentation().part::<Desk>();
    assert!(std::ptr::eq(part, one.instrumentation().clone().part::<Desk>()));
    assert!(!std::ptr::eq(part, other.instrumentation().part::<Desk>()));
}

#[test]
fn sets_are_those_of_their_key_in_one_order() {
    let probe = Probe::new();
    count(&probe, "weather", false, &Labels::default());
    count(&probe, String::from("weather"), false, &Labels::default());
    count(&probe, "weather", true, &Labels::default());
    let points = probe.points("llmperf.test.calls");
    let mut counted: Vec<_> = points.iter().map(|point| (point.attribute("failed").to_owned(), point.sum)).collect();
    counted.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(counted, [("false".to_owned(), 2.0), ("true".to_owned(), 1.0)]);
    let seen = probe.instrumentation().part::<Desk>().sets.with(
        probe.instrumentation(),
        &Key { tool: "weather".into(), failed: false, labels: Labels::default() },
        |set| set.iter().map(|attribute| attribute.key.to_string()).collect::<Vec<_>>(),
    );
    assert_eq!(seen, ["failed", "tool"], "in the order of their keys");
}

#[test]
fn names_past_the_cap_become_other() {
    let probe = Probe::new();
    (0..130).for_each(|number| count(&probe, format!("tool {number}"), false, &Labels::default()));
    let points = probe.points("llmperf.test.calls");
    let other: f64 = points.iter().filter(|point| point.attribute("tool") == "_other").map(|point| point.sum).sum();
    assert_eq!((points.len(), other), (101, 30.0));
    assert_eq!(probe.count("llmperf.test.calls"), 130.0);
}

#[test]
fn sets_past_the_most_are_folded_and_their_number_stays_below_the_sdk_s_limit() {
    let probe = Probe::new();
    let mut user = Custom::default();
    for number in 0..3_000 {
        user.label("tenant", format!("tenant {}", number % 90));
        user.label("feature", format!("feature {}", number / 90));
        count(&probe, "weather", number % 2 == 0, user.labels());
    }
    let points = probe.points("llmperf.test.calls");
    assert!(points.len() < 2_000, "{} sets", points.len());
    assert_eq!(probe.count("llmperf.test.calls"), 3_000.0);
    let folded = points.iter().filter(|point| point.attribute("tool") == "_other");
    assert_eq!(folded.clone().count(), 2, "what there is no room for keeps its outcome");
    assert!(folded.map(|point| point.sum).sum::<f64>() > 1_000.0);
}

#[test]
fn a_label_takes_the_place_of_no_attribute_of_ours() {
    let probe = Probe::new();
    let labels: Labels = [Some(("tool", "hers".into())), None];
    count(&probe, "weather", false, &labels);
    assert_eq!(probe.points("llmperf.test.calls")[0].attribute("tool"), "weather");
}

fn on_span(user: &Custom) -> Vec<(String, String)> {
    user.on_span().map(|attribute| (attribute.key.to_string(), attribute.value.to_string())).collect()
}

#[test]
fn attributes_are_the_user_s_own_of_one_key_the_last_and_no_more_than_48() {
    let mut user = Custom::default();
    user.attribute("tenant.id", 7);
    user.attribute("gen_ai.request.model", "forged");
    user.attribute("llmperf.outcome", "forged");
    user.attribute("tenant.id", "eight");
    assert_eq!(on_span(&user), [("tenant.id".to_owned(), "eight".to_owned())]);
    (0..60).for_each(|number| user.attribute(format!("key {number}"), number));
    assert_eq!(on_span(&user).len(), 48);
    user.attribute("tenant.id", "nine");
    assert!(on_span(&user).contains(&("tenant.id".to_owned(), "nine".to_owned())), "one that is there is replaced");
}

#[test]
fn labels_are_at_most_two_of_one_key_the_last_and_stand_once_on_the_span() {
    let mut user = Custom::default();
    user.label("tenant", "a");
    user.label("error.type", "forged");
    user.label("feature", "search");
    user.label("third", "none");
    user.label("tenant", "b");
    user.attribute("tenant", "as an attribute too");
    let expected = [("tenant", "b"), ("feature", "search")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(on_span(&user), expected);
    let on_metric: Vec<String> = Custom::on_metric(user.labels()).map(|label| label.key.to_string()).collect();
    assert_eq!(on_metric, ["tenant", "feature"]);
}

#[test]
fn a_deadline_is_kept_until_it_is_taken_back() {
    let mut user = Custom::default();
    assert_eq!(user.deadline(), None);
    user.set_deadline(Some(Duration::from_secs(3)));
    assert_eq!(user.deadline(), Some(Duration::from_secs(3)));
    user.set_deadline(None);
    assert_eq!(user.deadline(), None);
}
