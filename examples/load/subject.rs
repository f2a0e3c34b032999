//! What the load is about: a server, and what it is asked.

use llmperf::Outcome;

use super::{Client, Question, Remote};
use crate::server::{Consumer, Plan, Server};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A server and the questions for it.
pub(crate) struct Subject {
    /// Its name in telemetry.
    pub(crate) provider: &'static str,
    /// Its name for people.
    pub(crate) title: String,
    pub(crate) client: Client,
    /// Number of a call that ends well, as far as that is known.
    pub(crate) example: u64,
    questions: Box<dyn Fn(u64) -> (Question, Consumer)>,
}

impl Subject {
    /// The local server: call number `i` is plan number `i` of `seed`.
    pub(crate) fn local(server: &Server, seed: u64) -> Result<Self, Error> {
        let ends_well = |plan: Plan| plan.outcome() == Outcome::Complete && plan.consumer == Consumer::Prompt;
        Ok(Self {
            provider: "local",
            title: server.base_url(),
            client: Client::new(&server.base_url(), None)?,
            example: (0..1_000).find(|&index| ends_well(Plan::nth(seed, index))).unwrap_or_default(),
            questions: Box::new(move |index| {
                let plan = Plan::nth(seed, index);
                (Question::planned(index, &plan), plan.consumer)
            }),
        })
    }

    /// A real server: the same question again and again.
    pub(crate) fn remote(remote: &Remote) -> Result<Self, Error> {
        let question = Question {
            model: remote.model.clone(),
            prompt: remote.prompt.clone(),
            max_tokens: Some(remote.max_tokens),
            plan: None,
        };
        Ok(Self {
            provider: "openai",
            title: format!("{} at {}", remote.model, remote.base_url),
            client: Client::new(&remote.base_url, remote.key()?.as_deref())?,
            example: 0,
            questions: Box::new(move |_| (question.clone(), Consumer::Prompt)),
        })
    }

    /// Call number `index`, and how its answer is read.
    pub(crate) fn question(&self, index: u64) -> (Question, Consumer) {
        (self.questions)(index)
    }
}
