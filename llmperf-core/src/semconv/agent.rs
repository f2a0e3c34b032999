//! Attributes of agents, tools, workflows and MCP: by the conventions where there are any, else ours.

names! {
    AGENT_NAME = "gen_ai.agent.name";
    TOOL_NAME = "gen_ai.tool.name";
    TOOL_TYPE = "gen_ai.tool.type";
    TOOL_CALL_ID = "gen_ai.tool.call.id";
    WORKFLOW_NAME = "gen_ai.workflow.name";
    CONVERSATION = "gen_ai.conversation.id";
    MCP_METHOD = "mcp.method.name";
    MCP_SESSION = "mcp.session.id";
    // Ours
    TASK_CLASS = "llmperf.task.class";
    RESULT = "llmperf.agent.result";
    STEP = "llmperf.agent.step";
}
