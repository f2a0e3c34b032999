//! `docs/metrics.md` lists what the code emits, no more and no less.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::HashMap;

use llmperf_core::metrics::{Kind, TABLE};

const DOC: &str = include_str!("../../docs/metrics.md");

/// The cells of each table row of the page, without their back-quotes.
fn rows() -> impl Iterator<Item = Vec<String>> {
    DOC.lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned()).collect())
}

fn buckets() -> HashMap<String, Vec<f64>> {
    let numbers = |cell: &str| cell.split(' ').map(|bound| bound.parse().ok()).collect::<Option<Vec<f64>>>();
    rows().filter(|cells| cells.len() == 2).filter_map(|cells| Some((cells[0].clone(), numbers(&cells[1])?))).collect()
}

#[test]
fn the_page_and_the_code_list_the_same_metrics() {
    let buckets = buckets();
    let mut found: HashMap<String, Vec<String>> =
        rows().filter(|cells| cells.len() == 7).map(|cells| (cells[0].clone(), cells)).collect();
    found.remove("metric");
    // The rows of the GPU part are held to its own table, by its own test.
    found.retain(|name, _| !name.starts_with("hw.") && !name.starts_with("llmperf.gpu."));
    // So are those of the agent part.
    let of_agents = ["llmperf.agent.", "llmperf.tool.", "gen_ai.invoke_", "gen_ai.execute_tool.", "mcp."];
    found.retain(|name, _| !of_agents.iter().any(|prefix| name.starts_with(prefix)));
    // So are those of the RAG part.
    found.retain(|name, _| !name.starts_with("llmperf.rag."));
    for definition in TABLE {
        let cells = found.remove(definition.name).unwrap_or_else(|| panic!("{} is not on the page", definition.name));
        let (kind, bounds) = match definition.kind {
            Kind::Histogram(bounds) | Kind::CountHistogram(bounds) => ("histogram", Some(bounds)),
            Kind::Counter | Kind::Sum => ("counter", None),
            Kind::UpDown => ("up-down counter", None),
            Kind::Info | Kind::Gauge => ("gauge", None),
            other => panic!("a kind that the page does not know: {other:?}"),
        };
        assert_eq!(cells[1], kind, "{}", definition.name);
        assert_eq!(cells[2], definition.unit, "{}", definition.name);
        assert_eq!(buckets.get(&cells[4]).map(Vec::as_slice), bounds, "{}", definition.name);
        assert_eq!(cells[5], definition.description, "{}", definition.name);
        assert!(cells[6].contains(&definition.name.replace('.', "_")), "{}: {}", definition.name, cells[6]);
    }
    assert!(found.is_empty(), "the page lists what the code does not emit: {:?}", found.keys());
}

#[test]
fn every_list_of_buckets_is_used() {
    for name in buckets().keys() {
        assert!(rows().any(|cells| cells.len() == 7 && cells[4] == *name), "{name}");
    }
}

/// Attributes of ours and of providers; those of the conventions are known by them.
#[test]
fn every_attribute_of_ours_is_on_the_page() {
    let names = include_str!("../src/semconv.rs")
        .lines()
        .filter_map(|line| line.trim().split_once(" = \"")?.1.strip_suffix("\";"));
    let ours: Vec<_> = names.filter(|name| name.starts_with("llmperf.") || name.starts_with("openai.")).collect();
    assert!(ours.len() > 20, "{ours:?}");
    for name in ours {
        assert!(DOC.contains(&format!("`{name}`")), "{name}");
    }
}
