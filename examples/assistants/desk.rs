//! An agent: a travel desk that plans trips in steps, with tools.
//!
//! What a model would decide (which tools, in which order, whether it is done) is decided by a script here, since the model
//! of the local server answers the same to everything. The calls to it are real ones all the same.

use llmperf::InCurrentScope as _;
use llmperf::agent::{AgentOutcome, AgentResult};

use super::model::Model;
use super::tools::{Booking, NOWHERE, Tools, retried};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The most steps that a run may take.
const STEPS: u32 = 4;
/// How often a tool is tried.
const TRIES: u32 = 3;

/// What the desk is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Where is it dry this weekend?
    Weekend { place: &'static str },
    /// Two places, with prices, a bed, and a second opinion.
    Tour { places: [&'static str; 2] },
    /// A trip to where nothing goes.
    Nowhere,
    /// A question that sends it round in circles.
    Riddle { place: &'static str },
}

impl Task {
    /// The class that it is measured by: comparing a weekend with a tour says nothing.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Self::Weekend { .. } | Self::Riddle { .. } => "simple",
            Self::Tour { .. } | Self::Nowhere => "complex",
        }
    }
}

/// How the desk replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A plan.
    Plan(String),
    /// A plan without a bed.
    NoBed(String),
    /// It cannot be done.
    GaveUp,
    /// It ran out of steps.
    OutOfSteps,
}

/// The reply itself knows how the run came out. None of these is an error: the agent works, the trip does not.
impl AgentOutcome for Reply {
    fn agent_result(&self) -> Option<AgentResult> {
        Some(match self {
            Self::Plan(_) => AgentResult::Success,
            Self::NoBed(_) => AgentResult::Failure,
            Self::GaveUp => AgentResult::GaveUp,
            Self::OutOfSteps => AgentResult::StepLimit,
        })
    }
}

/// The agent; clones share its tools.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    model: Model,
    tools: Tools,
}

impl Desk {
    pub(crate) fn new(model: Model) -> Self {
        let tools = Tools::new(model.clone());
        Self { model, tools }
    }

    /// One run. Calls, tools and steps made inside count to it, wherever they are made from.
    #[llmperf::agent(name = "travel-desk", task = task.class())]
    pub(crate) async fn plan(&self, task: Task) -> Result<Reply, Error> {
        match task {
            Task::Weekend { place } => self.look(place).await.map(Reply::Plan),
            Task::Tour { places } => self.tour(places).await,
            Task::Nowhere => Ok(match self.compare(NOWHERE).await {
                Ok(_) => Reply::Plan("walk".into()),
                Err(_) => Reply::GaveUp,
            }),
            Task::Riddle { place } => {
                for _ in 0..STEPS {
                    // The same tool with the same arguments, again and again.
                    self.look(place).await?;
                }
                Ok(Reply::OutOfSteps)
            }
        }
    }

    async fn tour(&self, places: [&str; 2]) -> Result<Reply, Error> {
        let plan = self.gather(places).await?;
        let booking = self.book(places[0]).await?;
        let answer = self.model.say(&format!("Write down the trip: {plan} {booking:?}")).await?;
        Ok(match booking {
            Booking::Booked { .. } => Reply::Plan(answer),
            Booking::SoldOut => Reply::NoBed(answer),
        })
    }

    #[llmperf::step(name = "look")]
    async fn look(&self, place: &str) -> Result<String, Error> {
        let plan = self.model.say(&format!("What do I need to know of {place}?")).await?;
        let weather = self.tools.weather(place).await?;
        Ok(format!("{plan}: {weather}"))
    }

    #[llmperf::step(name = "compare")]
    async fn compare(&self, place: &str) -> Result<u32, Error> {
        self.model.say(&format!("What does {place} cost?")).await?;
        retried(TRIES, |attempt| self.tools.prices(place, attempt)).await
    }

    /// Four tools side by side. The opinion runs in a task of its own, which would be outside the run without
    /// `in_current_scope`.
    #[llmperf::step(name = "gather")]
    async fn gather(&self, [one, other]: [&str; 2]) -> Result<String, Error> {
        let plan = self.model.say(&format!("Compare {one} and {other}.")).await?;
        let (tools, draft) = (self.tools.clone(), plan.clone());
        let opinion = tokio::spawn(async move { tools.second_opinion(draft).await }.in_current_scope());
        let (here, there, price) = tokio::try_join!(
            self.tools.weather(one),
            self.tools.weather(other),
            retried(TRIES, |attempt| self.tools.prices(one, attempt)),
        )?;
        Ok(format!("{plan}; {here}, {there}, {price}; but {}", opinion.await??))
    }

    #[llmperf::step(name = "book")]
    async fn book(&self, place: &str) -> Result<Booking, Error> {
        self.model.say(&format!("How many nights in {place}?")).await?;
        self.tools.book(place, 2).await
    }
}
