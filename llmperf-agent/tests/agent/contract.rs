//! `docs/metrics.md` lists what this crate emits, no more and no less.

use std::collections::{BTreeSet, HashMap};

use llmperf_agent::{Work as _, mcp, metrics::TABLE, run, step, tool, workflow};
use llmperf_core::{Price, Prices, metrics::Kind, testing::Probe};

use crate::runs::call;

const DOC: &str = include_str!("../../../docs/metrics.md");
const NAMES: &str = include_str!("../../../llmperf-core/src/semconv/agent.rs");

fn is_ours(name: &str) -> bool {
    let prefixes = ["llmperf.agent.", "llmperf.tool.", "gen_ai.invoke_", "gen_ai.execute_tool.", "mcp."];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// The cells of each table row of the page, without their back-quotes.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    DOC.lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect())
}

#[test]
fn the_page_and_the_table_list_the_same_metrics() {
    let numbers = |cell: &str| cell.split(' ').map(|bound| bound.parse().ok()).collect::<Option<Vec<f64>>>();
    let buckets: HashMap<&str, Vec<f64>> =
        rows().filter(|cells| cells.len() == 2).filter_map(|cells| Some((cells[0], numbers(cells[1])?))).collect();
    let mut found: HashMap<&str, Vec<&str>> =
        rows().filter(|cells| cells.len() == 7 && is_ours(cells[0])).map(|cells| (cells[0], cells)).collect();
    for definition in TABLE {
        let cells = found.remove(definition.name).unwrap_or_else(|| panic!("{} is not on the page", definition.name));
        let (kind, bounds) = match definition.kind {
            Kind::Histogram(bounds) | Kind::CountHistogram(bounds) => ("histogram", Some(bounds)),
            Kind::Counter | Kind::Sum => ("counter", None),
            other => panic!("a kind that the page does not know: {other:?}"),
        };
        assert_eq!((cells[1], cells[2]), (kind, definition.unit), "{}", definition.name);
        assert_eq!(buckets.get(cells[4]).map(Vec::as_slice), bounds, "{}", definition.name);
        assert_eq!(cells[5], definition.description, "{}", definition.name);
        assert!(cells[6].contains(&definition.name.replace('.', "_")), "{}: {}", definition.name, cells[6]);
    }
    assert!(found.is_empty(), "the page lists what the code does not emit: {:?}", found.keys());
}

/// Everything that this crate can tell, once.
fn everything() -> Probe {
    let prices = Prices::new().model("openai", "gpt-4o-mini", Price::new(1.0, 10.0));
    let probe = Probe::with(|builder| builder.prices(prices));
    probe.instrumentation().sync_scope(|| {
        let mut trip = workflow("trip").start();
        trip.in_scope(|| {
            let mut guard = run("desk").task("simple").conversation("c-1").start();
            guard.in_scope(|| {
                run("inner").in_scope(|| call(1, 1), |guard, ()| guard.complete());
                call(1, 1);
                (0..3).for_each(|_| tool("weather").arguments("Lisbon").start().complete());
                step("search").start().complete();
                mcp::call_tool("book").start().complete();
            });
            guard.output();
            guard.complete();
        });
        trip.complete();
    });
    probe
}

#[test]
fn no_metric_is_told_that_the_table_does_not_have_and_the_other_way_round() {
    let told: BTreeSet<String> = everything().metric_names().into_iter().filter(|name| is_ours(name)).collect();
    let listed: BTreeSet<String> = TABLE.iter().map(|definition| definition.name.to_owned()).collect();
    assert_eq!(told, listed);
}

#[test]
fn every_attribute_of_a_metric_is_on_the_page() {
    let probe = everything();
    for definition in TABLE {
        let cells = rows().find(|cells| cells.len() == 7 && cells[0] == definition.name).unwrap();
        let written =
            cells[3].replace("task class", "llmperf.task.class").replace("operation", "gen_ai.operation.name");
        let written = written.replace("agent,", "gen_ai.agent.name,").replace("tool,", "gen_ai.tool.name,");
        let written = if written == "agent" { "gen_ai.agent.name".to_owned() } else { written };
        for point in probe.points(definition.name) {
            for key in point.attributes.keys() {
                assert!(written.contains(key), "{}: {key} is not among {written}", definition.name);
            }
        }
    }
}

#[test]
fn every_attribute_of_ours_is_on_the_page() {
    let names = NAMES.lines().filter_map(|line| line.trim().split_once(" = \"")?.1.strip_suffix("\";"));
    let ours: Vec<_> = names.filter(|name| name.starts_with("llmperf.")).collect();
    assert!(ours.len() > 15, "{ours:?}");
    for name in ours {
        assert!(DOC.contains(&format!("`{name}`")), "{name}");
    }
}
