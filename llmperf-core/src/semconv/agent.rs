//! Attributes of agents, tools, workflows and MCP: by the conventions where there are any, else ours.

names! {
    AGENT_NAME = "gen_ai.agent.name";
    TOOL_NAME = "gen_ai.tool.name";
    TOOL_TYPE = "gen_ai.tool.type";
    TOOL_CALL_ID = "gen_ai.tool.call.id";
    TOOL_DESCRIPTION = "gen_ai.tool.description";
    PROMPT_NAME = "gen_ai.prompt.name";
    WORKFLOW_NAME = "gen_ai.workflow.name";
    CONVERSATION = "gen_ai.conversation.id";
    MCP_METHOD = "mcp.method.name";
    MCP_SESSION = "mcp.session.id";
    MCP_PROTOCOL_VERSION = "mcp.protocol.version";
    MCP_RESOURCE = "mcp.resource.uri";
    JSONRPC_ID = "jsonrpc.request.id";
    NETWORK_TRANSPORT = "network.transport";
    RPC_STATUS = "rpc.response.status_code";
    // Ours
    TASK_CLASS = "llmperf.task.class";
    RESULT = "llmperf.agent.result";
    STEP = "llmperf.agent.step";
    // Totals of a run, nested runs aside
    STEPS = "llmperf.agent.steps";
    INFERENCE_CALLS = "llmperf.agent.inference_calls";
    TOOL_CALLS = "llmperf.agent.tool_calls";
    INPUT_TOKENS = "llmperf.agent.input_tokens";
    OUTPUT_TOKENS = "llmperf.agent.output_tokens";
    RUN_COST = "llmperf.agent.cost";
    // Totals of a run with the runs nested in it
    NESTED_RUNS = "llmperf.agent.nested_runs";
    ALL_INFERENCE_CALLS = "llmperf.agent.total.inference_calls";
    ALL_TOOL_CALLS = "llmperf.agent.total.tool_calls";
    ALL_INPUT_TOKENS = "llmperf.agent.total.input_tokens";
    ALL_OUTPUT_TOKENS = "llmperf.agent.total.output_tokens";
    ALL_COST = "llmperf.agent.total.cost";
    // Loops
    REPEATED_TOOL = "llmperf.agent.repeated_tool";
    REPEATS = "llmperf.agent.repeats";
    TIME_TO_FIRST_OUTPUT = "llmperf.agent.time_to_first_output";
}
