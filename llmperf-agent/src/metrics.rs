//! Every metric of this crate as one table.
//!
//! Names, units and buckets of the conventions where there are any (see `llmperf_core::semconv`), `llmperf.*` where there
//! are none. `docs/metrics.md` is held to [`TABLE`] by a test.

use llmperf_core::{
    metric_table,
    metrics::{Definition, Kind, LATENCY},
    opentelemetry::InstrumentationScope,
};

/// The conventions' boundaries for agents, in seconds.
const GEN_AI_AGENT: &[f64] = &[0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6];
/// The conventions' boundaries for tools, in seconds.
const GEN_AI_TOOL: &[f64] = &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// The conventions' boundaries for workflows, in seconds.
const GEN_AI_WORKFLOW: &[f64] = &[1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0];
/// The conventions' boundaries for calls of a run.
const GEN_AI_CALLS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
/// The conventions' boundaries for MCP operations, in seconds.
const MCP: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Boundaries of the steps of a run: the usual limits are among them.
const STEPS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 50.0, 100.0, 200.0];
/// The conventions' boundaries for token counts.
const TOKENS: &[f64] = &[
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0,
    67108864.0,
];
/// Boundaries of the cost of a run, in USD.
const COST: &[f64] = &[
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0,
    100.0,
];

/// The scope of all metrics of this crate.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("llmperf-agent")
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url("https://opentelemetry.io/schemas/gen-ai/1.42.0")
        .build()
}

metric_table! {
    RunDuration: Definition::new("llmperf.agent.run.duration", Kind::Histogram(LATENCY), "s", "The whole of a run, by class of task and result");
    FirstOutput: Definition::new("llmperf.agent.time_to_first_output", Kind::Histogram(LATENCY), "s", "Start of a run to the first output that the user sees");
    Runs: Definition::new("llmperf.agent.runs", Kind::Counter, "{run}", "Finished runs by result");
    Steps: Definition::new("llmperf.agent.steps", Kind::CountHistogram(STEPS), "{step}", "Steps of a run: those that were marked, else its inference calls");
    StepDuration: Definition::new("llmperf.agent.step.duration", Kind::Histogram(LATENCY), "s", "Each marked step");
    Tokens: Definition::new("llmperf.agent.tokens", Kind::CountHistogram(TOKENS), "{token}", "Tokens of the inference calls of a run, nested runs aside");
    Cost: Definition::new("llmperf.agent.cost", Kind::Histogram(COST), "{USD}", "Cost of the calls of a run, nested runs aside, by the price table that the user gave");
    Repeated: Definition::new("llmperf.agent.repeated_calls", Kind::Counter, "{tool_call}", "Calls of a tool with arguments that the run had given it twice before: a loop");
    ToolDuration: Definition::new("llmperf.tool.duration", Kind::Histogram(LATENCY), "s", "Each tool call, by outcome and kind of failure");
    ToolCalls: Definition::new("llmperf.tool.calls", Kind::Counter, "{tool_call}", "Finished tool calls by outcome and kind of failure");
    InvokeAgent: Definition::new("gen_ai.invoke_agent.duration", Kind::Histogram(GEN_AI_AGENT), "s", "The whole of a run");
    InferenceCallsOfRun: Definition::new("gen_ai.invoke_agent.inference_calls", Kind::CountHistogram(GEN_AI_CALLS), "{inference_call}", "Inference calls of a run, failures included, nested runs aside");
    ToolCallsOfRun: Definition::new("gen_ai.invoke_agent.tool_calls", Kind::CountHistogram(GEN_AI_CALLS), "{tool_call}", "Tool calls of a run, failures included, nested runs aside");
    ExecuteTool: Definition::new("gen_ai.execute_tool.duration", Kind::Histogram(GEN_AI_TOOL), "s", "Each call of a tool");
    InvokeWorkflow: Definition::new("gen_ai.invoke_workflow.duration", Kind::Histogram(GEN_AI_WORKFLOW), "s", "The whole of a workflow");
    McpOperation: Definition::new("mcp.client.operation.duration", Kind::Histogram(MCP), "s", "Request to an MCP server to its response");
}
