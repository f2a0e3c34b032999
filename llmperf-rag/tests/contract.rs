//! The page that lists the metrics against the table, and the table against what is recorded.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    time::Duration,
};

use futures::executor::block_on;
use llmperf_core::{
    metrics::{Kind, LATENCY},
    testing::Probe,
};
use llmperf_rag::{
    Cache, Index, Work as _, assemble, embedding, generation, metrics::TABLE, pipeline, rerank, retrieval,
};

const PAGE: &str = include_str!("../../docs/metrics.md");
const NAMES: &str = include_str!("../../llmperf-core/src/semconv/rag.rs");

fn rows() -> Vec<Vec<String>> {
    let cell = |cell: &str| cell.trim().trim_matches('`').to_owned();
    let rows = PAGE.lines().filter(|line| line.starts_with("| "));
    rows.map(|line| line.trim_matches('|').split(" | ").map(cell).collect()).collect()
}

#[test]
fn the_page_and_the_table_list_the_same_metrics() {
    let rows = rows();
    let numbers = |cell: &str| cell.split(' ').map(|bound| bound.parse().ok()).collect::<Option<Vec<f64>>>();
    let buckets: HashMap<&str, Vec<f64>> = rows
        .iter()
        .filter(|cells| cells.len() == 2)
        .filter_map(|cells| Some((cells[0].as_str(), numbers(&cells[1])?)))
        .collect();
    let is_ours = |cells: &&Vec<String>| cells.len() == 7 && cells[0].starts_with("llmperf.rag.");
    let mut found: BTreeMap<&str, &Vec<String>> =
        rows.iter().filter(is_ours).map(|cells| (cells[0].as_str(), cells)).collect();
    for definition in TABLE.iter().filter(|definition| definition.name.starts_with("llmperf.")) {
        let cells = found.remove(definition.name).unwrap_or_else(|| panic!("{} is not on the page", definition.name));
        let (kind, bounds) = match definition.kind {
            Kind::Histogram(bounds) | Kind::CountHistogram(bounds) => ("histogram", Some(bounds)),
            Kind::Counter | Kind::Sum => ("counter", None),
            _ => ("gauge", None),
        };
        assert_eq!((cells[1].as_str(), cells[2].as_str()), (kind, definition.unit), "{}", definition.name);
        assert_eq!(buckets.get(cells[4].as_str()).map(Vec::as_slice), bounds, "{}", definition.name);
        assert_eq!(cells[5], definition.description, "{}", definition.name);
        assert!(cells[6].contains(&definition.name.replace('.', "_")), "{}: {}", definition.name, cells[6]);
    }
    assert!(found.is_empty(), "the page lists what the code does not emit: {:?}", found.keys());
}

#[test]
fn every_attribute_of_ours_is_on_the_page() {
    let names = NAMES.lines().filter_map(|line| line.trim().split_once(" = \"")?.1.strip_suffix("\";"));
    let ours: Vec<_> = names.filter(|name| name.starts_with("llmperf.")).collect();
    assert!(ours.len() > 20, "{ours:?}");
    for name in ours {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
}

/// Everything that this crate records, with labels, on a provider without views.
fn everything() -> Probe {
    let probe = Probe::new();
    let clock = probe.clock();
    block_on(probe.instrumentation().scope(async {
        let mut whole = pipeline("support").label("tenant", "acme").start();
        whole.in_scope(|| {
            let mut search = retrieval().store("qdrant").provider("p").model("m").k(2_u64).relevant(&["d1"]);
            search = search.label("tenant", "acme");
            let mut search = search.start();
            clock.advance(Duration::from_millis(100));
            search.documents(&[("d1", 0.5), ("d2", 0.25)]);
            search.complete();
            let mut order = rerank().provider("p").model("bge").candidates(&[("d1", 0.5), ("d2", 0.25)]).start();
            order.documents(&[("d2", 0.5), ("d1", 0.25)]);
            order.complete();
            embedding().start().complete();
            assemble().start().complete();
            generation().start().complete();
        });
        whole.output();
        whole.fail("quota");
        retrieval()
            .store("alone")
            .run(async { Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe)) })
            .await
            .unwrap_err();
        Cache::new("answers").hit();
        Index::new("qdrant").documents(3);
        Index::new("qdrant").size(4_096);
        Index::new("qdrant").build().start().complete();
    }));
    probe
}

#[test]
fn the_table_lists_what_is_recorded_no_more_and_no_less() {
    let recorded: BTreeSet<String> = everything().metric_names().into_iter().collect();
    let listed: BTreeSet<String> = TABLE.iter().map(|definition| definition.name.to_owned()).collect();
    assert_eq!(recorded, listed);
}

#[test]
fn boundaries_are_set_on_the_instruments() {
    let probe = everything();
    for definition in TABLE {
        let (Kind::Histogram(bounds) | Kind::CountHistogram(bounds)) = definition.kind else { continue };
        for point in probe.points(definition.name) {
            assert_eq!(point.bounds, bounds, "{}", definition.name);
        }
    }
    let latencies = TABLE.iter().filter(|row| matches!(row.kind, Kind::Histogram(bounds) if bounds == LATENCY));
    assert_eq!(latencies.count(), 5);
}

/// The attributes of each metric, as the page has them; which of them a series has depends on what is known.
#[test]
fn the_attributes_of_each_metric_are_those_of_the_page() {
    let probe = everything();
    for cells in rows().iter().filter(|cells| cells.len() == 7 && cells[0].starts_with("llmperf.rag.")) {
        let found: BTreeSet<String> = probe
            .points(&cells[0])
            .iter()
            .flat_map(|point| point.attributes.keys().cloned().collect::<Vec<_>>())
            .collect();
        let listed: BTreeSet<String> =
            cells[3].split('`').filter(|part| part.contains('.')).map(str::to_owned).collect();
        let extra: Vec<_> = found.difference(&listed).filter(|key| *key != "tenant").collect();
        assert!(extra.is_empty(), "{} has {extra:?}, which is not on the page", cells[0]);
        let never = listed.difference(&found).filter(|key| *key != "llmperf.rag.from_cache").collect::<Vec<_>>();
        assert!(never.is_empty(), "{} has no {never:?}", cells[0]);
        assert!(!found.contains("tenant") || cells[3].contains("labels"), "{} has labels", cells[0]);
    }
}
