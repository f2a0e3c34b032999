//! `docs/metrics.md` as data: its rows, its buckets, its PromQL.

use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../docs/metrics.md");

/// One metric of the page.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Its OpenTelemetry name.
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Upper bounds, of a histogram.
    pub(crate) bounds: Vec<f64>,
    /// The PromQL to read it.
    pub(crate) promql: String,
}

/// Every metric of calls on the page, in its order.
pub(crate) fn rows() -> Vec<Row> {
    let of_a_part = |row: &Row| row.is_of_gpus() || row.is_of_agents() || row.is_of_rag();
    all_rows().into_iter().filter(|row| !of_a_part(row)).collect()
}

/// Every metric of GPUs on the page, in its order.
pub(crate) fn gpu_rows() -> Vec<Row> {
    all_rows().into_iter().filter(Row::is_of_gpus).collect()
}

/// Every metric of retrieval on the page, in its order.
pub(crate) fn rag_rows() -> Vec<Row> {
    all_rows().into_iter().filter(Row::is_of_rag).collect()
}

/// Every metric of agents on the page, in its order.
pub(crate) fn agent_rows() -> Vec<Row> {
    all_rows().into_iter().filter(Row::is_of_agents).collect()
}

fn all_rows() -> Vec<Row> {
    let bounds = bounds();
    let rows = table("| metric | kind | unit |").map(|cells| {
        let [name, kind, _, _, buckets, _, promql] = &cells[..] else { panic!("not seven cells: {cells:?}") };
        let bounds = match kind.as_str() {
            "histogram" => bounds[buckets.as_str()].clone(),
            _ => Vec::new(),
        };
        Row { name: code(name).into(), kind: kind.clone(), bounds, promql: code(promql).into() }
    });
    rows.collect()
}

/// The boundaries by their name.
fn bounds() -> BTreeMap<String, Vec<f64>> {
    let rows = table("| buckets | boundaries |").map(|cells| {
        let bounds = cells[1].split(' ').map(|bound| bound.parse().unwrap()).collect();
        (cells[0].clone(), bounds)
    });
    rows.collect()
}

/// The cells of all tables that begin with this head.
fn table(head: &str) -> impl Iterator<Item = Vec<String>> {
    let starts = PAGE.lines().enumerate().filter(move |(_, line)| line.starts_with(head));
    let rows = starts.flat_map(|(start, _)| PAGE.lines().skip(start + 2).take_while(|line| line.starts_with('|')));
    rows.map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect())
}

fn code(cell: &str) -> &str {
    cell.trim_matches('`')
}

impl Row {
    fn is_of_gpus(&self) -> bool {
        self.name.starts_with("hw.") || self.name.starts_with("llmperf.gpu.")
    }

    fn is_of_agents(&self) -> bool {
        let prefixes = ["llmperf.agent.", "llmperf.tool.", "gen_ai.invoke_", "gen_ai.execute_tool.", "mcp."];
        prefixes.iter().any(|prefix| self.name.starts_with(prefix))
    }

    fn is_of_rag(&self) -> bool {
        self.name.starts_with("llmperf.rag.")
    }

    /// Its name in Prometheus, as its PromQL has it; without `_bucket` for a histogram.
    pub(crate) fn series(&self) -> &str {
        let written = self.written();
        match self.kind.as_str() {
            "histogram" => written.strip_suffix("_bucket").unwrap(),
            _ => written,
        }
    }

    /// The names of the series that Prometheus makes of it.
    pub(crate) fn all_series(&self) -> Vec<String> {
        match self.kind.as_str() {
            "histogram" => ["bucket", "count", "sum"].map(|part| format!("{}_{part}", self.series())).into(),
            _ => vec![self.series().into()],
        }
    }

    /// Its PromQL, held to the series of one job.
    pub(crate) fn promql_of(&self, job: &str) -> String {
        let series = self.written();
        let mut parts = self.promql.split(series);
        let mut promql = parts.next().unwrap().to_owned();
        for rest in parts {
            let (separator, rest) = rest.strip_prefix('{').map_or(("}", rest), |selectors| (",", selectors));
            promql += &format!("{series}{{job=\"{job}\"{separator}{rest}");
        }
        promql
    }

    /// The word of its PromQL that begins as its name does.
    fn written(&self) -> &str {
        let name = self.name.replace('.', "_");
        let start = self.promql.find(&name).unwrap_or_else(|| panic!("{} does not read {}", self.promql, self.name));
        let word = &self.promql[start..];
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(word.len());
        &word[..end]
    }
}
