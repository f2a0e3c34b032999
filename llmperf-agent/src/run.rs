//! A run of an agent: from its task to its answer.

use std::{sync::Arc, time::Duration};

use llmperf_core::{
    Objective, Outcome,
    part::{Beginning, Custom, Ended, Opening, Text, Title, Verdict, Work},
    semconv::{self, agent as name},
    stats::{Figure, SeriesKind},
};
use opentelemetry::{KeyValue, trace::SpanKind};

use crate::{
    AgentOutcome, AgentResult,
    custom::custom_setters,
    metrics::Metric,
    records::{Key, Recording, error_type, seconds},
    running::{Account, Running, Totals},
    span,
};

/// A run of an agent.
///
/// Its span is `invoke_agent {name}`. Calls, tools and steps made inside count to it, also in spawned tasks that are given
/// the scope; a run inside it is another one, with totals of its own.
#[derive(Debug)]
#[must_use = "a run is measured once a verb arms it: `run`, `run_then`, `in_scope`, `start`"]
pub struct Run {
    name: Text,
    task: Text,
    conversation: Text,
    model: Text,
    result: Option<AgentResult>,
    custom: Custom,
    running: Option<Arc<Running>>,
    account: Account,
}

/// A run of the agent `name`.
///
/// ```
/// use llmperf_agent::{Work as _, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # async fn plan(goal: &str) -> Result<String, std::io::Error> { Ok(goal.to_owned()) }
/// let answer = run("travel-desk").task("simple").run(plan("a dry weekend")).await;
/// # assert!(answer.is_ok());
/// # }
/// ```
pub fn run(name: impl Into<Text>) -> Run {
    Run {
        name: name.into(),
        task: Text::default(),
        conversation: Text::default(),
        model: Text::default(),
        result: None,
        custom: Custom::default(),
        running: None,
        account: Account::default(),
    }
}

impl Run {
    /// The class of its task: `simple`, `complex`, or one of your own.
    pub fn task(self, class: impl Into<Text>) -> Self {
        Self { task: class.into(), ..self }
    }

    /// The conversation that it belongs to; a real id, on spans alone.
    pub fn conversation(self, id: impl Into<Text>) -> Self {
        Self { conversation: id.into(), ..self }
    }

    /// The model, if the agent uses a single one.
    pub fn model(self, name: impl Into<Text>) -> Self {
        Self { model: name.into(), ..self }
    }

    custom_setters!();

    /// Says how it will have come out, if no error ends it. The last word stands; a drop after it changes it only if it was
    /// a success. `Error` and `Cancelled` end it as such.
    pub fn result(&mut self, result: AgentResult) {
        self.result = Some(result);
    }

    /// Judges its answer by a check of the caller's: a success or a failure.
    pub fn goal<T: ?Sized>(&mut self, answer: &T, reached: impl FnOnce(&T) -> bool) {
        self.result(if reached(answer) { AgentResult::Success } else { AgentResult::Failure });
    }

    /// Takes over what a value, or an error, says of the result, unless that was [said](Self::result) before; gives the
    /// verdict to end the run with.
    pub fn judged_by<T: AgentOutcome + ?Sized>(&mut self, value: &T) -> Verdict {
        let told = value.agent_result();
        match told {
            Some(AgentResult::Error) => Verdict::failed("_OTHER"),
            Some(AgentResult::Cancelled) => Verdict::Cancelled,
            told => {
                self.result = self.result.or(told);
                Verdict::Complete
            }
        }
    }

    fn came_out(&self, outcome: Outcome) -> AgentResult {
        match outcome {
            Outcome::Complete => self.result.or(self.account.said).unwrap_or(AgentResult::Success),
            Outcome::Cancelled => AgentResult::Cancelled,
            Outcome::Error | Outcome::Interrupted => AgentResult::Error,
        }
    }

    fn record(&self, ended: &Ended<'_>, result: AgentResult) {
        let recording = Recording::of(ended);
        let agent = || (name::AGENT_NAME, self.name.clone());
        let of_run = |closed| Key {
            names: [agent(), (name::TASK_CLASS, self.task.clone())],
            closed: [closed],
            labels: self.custom.labels().clone(),
        };
        let key = of_run((name::RESULT, result.as_str()));
        recording.with(&recording.records.results, &key, |instruments, attributes| {
            seconds(instruments, Metric::RunDuration, ended.duration, attributes);
            instruments.count(Metric::Runs as usize, 1, attributes);
        });
        let own = &self.account.own;
        recording.with(&recording.records.runs, &of_run(("", "")), |instruments, attributes| {
            instruments.count(Metric::Steps as usize, own.steps(), attributes);
            if let Some(first) = ended.first_output {
                seconds(instruments, Metric::FirstOutput, first, attributes);
            }
            if let Some(cost) = own.cost {
                instruments.record(Metric::Cost as usize, cost, attributes);
            }
            ended.judge(Objective::AgentRun, self.judged(ended.duration, result), attributes);
        });
        for (kind, tokens) in [("input", own.input_tokens), ("output", own.output_tokens)] {
            let Some(tokens) = tokens else { continue };
            recording.with(&recording.records.runs, &of_run((semconv::TOKEN_TYPE, kind)), |instruments, attributes| {
                instruments.count(Metric::Tokens as usize, tokens, attributes);
            });
        }
        let names = [agent(), (semconv::REQUEST_MODEL, self.model.clone()), (semconv::ERROR_TYPE, error_type(ended))];
        let key = Key { names, closed: [], labels: [None, None] };
        recording.with(&recording.records.invoke_agent, &key, |instruments, attributes| {
            seconds(instruments, Metric::InvokeAgent, ended.duration, attributes);
        });
        let key = Key { names: [agent()], closed: [], labels: [None, None] };
        recording.with(&recording.records.agents, &key, |instruments, attributes| {
            instruments.count(Metric::InferenceCallsOfRun as usize, own.inference_calls, attributes);
            instruments.count(Metric::ToolCallsOfRun as usize, own.tool_calls, attributes);
        });
    }

    /// What an objective limits. A run that did not reach its goal misses it, however fast it was; one that waits for
    /// somebody is not judged.
    fn judged(&self, duration: Duration, result: AgentResult) -> Option<Duration> {
        match result {
            AgentResult::Suspended => None,
            AgentResult::Failure | AgentResult::GaveUp | AgentResult::StepLimit => Some(Duration::MAX),
            AgentResult::Success | AgentResult::Error | AgentResult::Cancelled => Some(duration),
        }
    }

    fn figures(&self, ended: &mut Ended<'_>) {
        let own = &self.account.own;
        let counts = [
            (Figure::Steps, Some(own.steps())),
            (Figure::InferenceCalls, Some(own.inference_calls)),
            (Figure::ToolCalls, Some(own.tool_calls)),
            (Figure::InputTokens, own.input_tokens),
            (Figure::OutputTokens, own.output_tokens),
        ];
        for (figure, count) in counts {
            if let Some(count) = count {
                ended.figure(figure, count as f64);
            }
        }
        if let Some(cost) = own.cost {
            ended.figure(Figure::Cost, cost);
        }
        if let Some(first) = ended.first_output {
            ended.figure(Figure::TimeToFirstOutput, first.as_secs_f64());
        }
    }
}

impl Work for Run {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        let running = Arc::new(Running::new(self.name.clone(), self.conversation.clone(), beginning.nearest()));
        self.running = Some(Arc::clone(&running));
        let texts = [
            (name::AGENT_NAME, &self.name),
            (semconv::REQUEST_MODEL, &self.model),
            (name::CONVERSATION, &self.conversation),
            (name::TASK_CLASS, &self.task),
        ];
        let attributes = span::told(Some("invoke_agent"), &texts, &self.custom);
        Opening::span(span::named("invoke_agent", &self.name), SpanKind::Internal, attributes)
            .observed_by(running)
            .journaled()
    }

    /// Outcome and result say the same: what was said of the result is weaker than an error, and stronger than a drop; but
    /// nobody knows that it would have been a success.
    fn closing(&mut self, verdict: &Verdict) -> Option<Verdict> {
        let said = self.result.or_else(|| self.running.as_ref()?.said())?;
        match (verdict, said) {
            (Verdict::Failed(_), _) | (Verdict::Cancelled, AgentResult::Success) => None,
            (_, AgentResult::Error) => Some(Verdict::failed("_OTHER")),
            (_, AgentResult::Cancelled) => Some(Verdict::Cancelled),
            _ => Some(Verdict::Complete),
        }
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Agent, self.name.clone(), self.task.clone())
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        if let Some(running) = &self.running {
            self.account = running.close();
        }
        let result = self.came_out(ended.outcome);
        self.result = Some(result);
        self.figures(ended);
        self.record(ended, result);
    }

    fn attributes(&self, ended: &Ended<'_>) -> Vec<KeyValue> {
        let account = &self.account;
        let mut attributes = Vec::with_capacity(16);
        attributes.push(KeyValue::new(name::RESULT, self.came_out(ended.outcome).as_str()));
        attributes.push(KeyValue::new(name::STEPS, integer(account.own.steps())));
        let own = [name::INFERENCE_CALLS, name::TOOL_CALLS, name::INPUT_TOKENS, name::OUTPUT_TOKENS, name::RUN_COST];
        attributes.extend(written(own, &account.own));
        if account.nested_runs > 0 {
            attributes.push(KeyValue::new(name::NESTED_RUNS, integer(account.nested_runs)));
            let all = [
                name::ALL_INFERENCE_CALLS,
                name::ALL_TOOL_CALLS,
                name::ALL_INPUT_TOKENS,
                name::ALL_OUTPUT_TOKENS,
                name::ALL_COST,
            ];
            attributes.extend(written(all, &account.all));
        }
        if let Some((tool, times)) = &account.most_repeated {
            attributes.push(KeyValue::new(name::REPEATED_TOOL, tool.clone()));
            attributes.push(KeyValue::new(name::REPEATS, integer(*times)));
        }
        let first = ended.first_output.map(|first| KeyValue::new(name::TIME_TO_FIRST_OUTPUT, first.as_secs_f64()));
        attributes.extend(first);
        attributes
    }

    fn remark(&self) -> Option<String> {
        let own = &self.account.own;
        let result = self.result.map_or("", AgentResult::as_str);
        let mut remark = format!(
            "{result}; steps: {}, inference calls: {}, tool calls: {}",
            own.steps(),
            own.inference_calls,
            own.tool_calls
        );
        if let Some((tool, times)) = &self.account.most_repeated {
            remark += &format!("; {tool} called {times} times with the same arguments");
        }
        Some(remark)
    }

    fn deadline(&self) -> Option<Duration> {
        self.custom.deadline()
    }
}

/// Totals as attributes: inference calls, tool calls, input tokens, output tokens, cost.
fn written(keys: [&'static str; 5], totals: &Totals) -> impl Iterator<Item = KeyValue> {
    let [inferences, tools, input, output, cost] = keys;
    let counts = [
        (inferences, Some(totals.inference_calls)),
        (tools, Some(totals.tool_calls)),
        (input, totals.input_tokens),
        (output, totals.output_tokens),
    ];
    let counts = counts.into_iter().filter_map(|(key, count)| Some(KeyValue::new(key, integer(count?))));
    counts.chain(totals.cost.map(|usd| KeyValue::new(cost, usd)))
}

/// A count as OpenTelemetry takes it.
fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
