//! What happens to request number `i`: pure and seeded, so that server, load and test agree without talking.

use std::time::Duration;

use llmperf_core::Outcome;

use super::dice::Dice;

/// Answers with text at once.
pub(crate) const SWIFT: &str = "swift-1";
/// Reasons aloud before it answers.
pub(crate) const THINKER: &str = "thinker-1";
/// Answers with a tool call.
pub(crate) const TOOLSMITH: &str = "toolsmith-1";
/// The models that the server offers.
pub(crate) const MODELS: [&str; 3] = [SWIFT, THINKER, TOOLSMITH];

const QUEUE: Duration = Duration::from_millis(12);
const FIRST_TOKEN: Duration = Duration::from_millis(170);
const PACE: Duration = Duration::from_millis(16);
const OUTPUT_TOKENS: f64 = 56.0;
const PROMPT_TOKENS: f64 = 700.0;

/// One request from head to end, with what its client does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// The model that the client asks for.
    pub(crate) model: &'static str,
    pub(crate) prompt_tokens: u32,
    /// Part of `prompt_tokens`.
    pub(crate) cached_tokens: u32,
    /// From the request to the response head.
    pub(crate) queue: Duration,
    /// What is written after the head, in order.
    pub(crate) bursts: Vec<Burst>,
    /// From the last burst to the end.
    pub(crate) tail: Duration,
    pub(crate) ending: Ending,
    pub(crate) consumer: Consumer,
}

/// One write to the socket: what leaves together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Burst {
    /// From the write before (the head for the first) to this one.
    pub(crate) after: Duration,
    pub(crate) pieces: Vec<Piece>,
}

/// One event of the stream, or a comment between events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Comment,
    /// The role-only frame: an event that carries no output.
    Role,
    Output {
        kind: Kind,
        tokens: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Reasoning,
    Text,
    /// The first token is the tool's name, the others its arguments.
    Tool,
}

/// How the server ends the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Finish reason, usage, and the dialect's last event, its marker.
    Complete(Finish),
    /// As `Complete`, but the marker never comes.
    Unmarked(Finish),
    /// An error inside the 200 stream, then the end of the body.
    ErrorFrame,
    /// The connection closes in the middle of a frame.
    Cut,
    /// Nothing more is said until the client has gone.
    Silent,
    /// This HTTP status instead of a stream.
    Refused(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
}

/// How the client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consumer {
    Prompt,
    /// Pauses after each read.
    Slow {
        pause: Duration,
    },
    /// Drops the stream at the read that brings event number `events`.
    Leaves {
        events: usize,
    },
}

impl Plan {
    /// Plan number `index` of `seed`: realistic times, and a share of everything that goes wrong.
    pub(crate) fn nth(seed: u64, index: u64) -> Self {
        let dice = &mut Dice::new(seed, index);
        let model = dice.choose(&[(0.55, SWIFT), (0.3, THINKER)], TOOLSMITH);
        let answer = answer(dice, model);
        let finish = match model {
            TOOLSMITH => Finish::ToolCalls,
            _ => dice.choose(&[(0.85, Finish::Stop)], Finish::Length),
        };
        let prompt_tokens = whole(PROMPT_TOKENS * dice.factor(1.0)).max(8);
        let plan = Self {
            model,
            prompt_tokens,
            cached_tokens: if dice.chance(0.3) { prompt_tokens / 2 } else { 0 },
            queue: dice.time(QUEUE, 0.6),
            bursts: bursts(dice, model, &answer),
            tail: dice.time(Duration::from_millis(6), 0.5),
            ending: Ending::Complete(finish),
            consumer: Consumer::Prompt,
        };
        plan.meet_fate(dice, finish)
    }

    /// `count` single-token bursts of text, `gap` apart, the first one `gap` after the head.
    pub(crate) fn steady(gap: Duration, count: usize) -> Self {
        let burst = Burst { after: gap, pieces: vec![Piece::Output { kind: Kind::Text, tokens: 1 }] };
        Self {
            model: SWIFT,
            prompt_tokens: 10,
            cached_tokens: 0,
            queue: Duration::ZERO,
            bursts: vec![burst; count],
            tail: gap,
            ending: Ending::Complete(Finish::Stop),
            consumer: Consumer::Prompt,
        }
    }

    /// Output tokens that are written, reasoning included.
    pub(crate) fn output_tokens(&self) -> u32 {
        self.pieces().map(Piece::tokens).sum()
    }

    /// The part of `output_tokens` that is reasoning.
    pub(crate) fn reasoning_tokens(&self) -> u32 {
        self.pieces().filter(|piece| piece.kind() == Some(Kind::Reasoning)).map(Piece::tokens).sum()
    }

    /// How the call ends for its client.
    pub(crate) fn outcome(&self) -> Outcome {
        match (self.ending, self.consumer) {
            (Ending::Refused(_), _) => Outcome::Error,
            (_, Consumer::Leaves { .. }) => Outcome::Cancelled,
            (Ending::Complete(_) | Ending::Unmarked(_), _) => Outcome::Complete,
            (Ending::ErrorFrame, _) => Outcome::Error,
            (Ending::Cut | Ending::Silent, _) => Outcome::Interrupted,
        }
    }

    /// All pieces in the order in which they are written.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        self.bursts.iter().flat_map(|burst| burst.pieces.iter().copied())
    }

    /// Most plans stay as they are; the others fail, are left, or are read slowly.
    fn meet_fate(self, dice: &mut Dice, finish: Finish) -> Self {
        match dice.between(0..=99_u32) {
            0..=2 => {
                let status = dice.choose(&[(0.5, 429), (0.25, 500)], 503);
                let bursts = Vec::new();
                Self { bursts, ending: Ending::Refused(status), ..self }
            }
            3..=5 => Self { ending: Ending::ErrorFrame, ..self.shortened(dice) },
            6..=9 => Self { ending: Ending::Cut, ..self.shortened(dice) },
            10..=11 => Self { ending: Ending::Unmarked(finish), ..self },
            12..=16 => {
                let events = self.pieces().filter(|piece| *piece != Piece::Comment).count();
                let consumer = Consumer::Leaves { events: dice.between(1..=events.div_ceil(2)) };
                Self { ending: Ending::Silent, consumer, ..self }
            }
            17..=19 => {
                let pause = Duration::from_millis(dice.between(30..=60));
                Self { consumer: Consumer::Slow { pause }, ..self }
            }
            _ => self,
        }
    }

    /// Ends somewhere in the middle, after some output.
    fn shortened(mut self, dice: &mut Dice) -> Self {
        let first_output = self.bursts.iter().position(|burst| burst.tokens() > 0).unwrap_or(0);
        self.bursts.truncate(dice.between(first_output + 1..=self.bursts.len()));
        self
    }
}

impl Burst {
    /// Output tokens in this write.
    pub(crate) fn tokens(&self) -> u32 {
        self.pieces.iter().copied().map(Piece::tokens).sum()
    }
}

impl Piece {
    pub(crate) fn tokens(self) -> u32 {
        match self {
            Self::Output { tokens, .. } => tokens,
            Self::Comment | Self::Role => 0,
        }
    }

    pub(crate) fn kind(self) -> Option<Kind> {
        match self {
            Self::Output { kind, .. } => Some(kind),
            Self::Comment | Self::Role => None,
        }
    }
}

/// The output of one call, cut into events of one to four tokens.
fn answer(dice: &mut Dice, model: &str) -> Vec<Piece> {
    let tokens = whole(OUTPUT_TOKENS * dice.factor(0.5)).clamp(12, 200);
    let mut pieces = Vec::new();
    match model {
        THINKER => {
            pieces.extend(cut(dice, Kind::Reasoning, tokens / 2));
            pieces.extend(cut(dice, Kind::Text, tokens - tokens / 2));
        }
        TOOLSMITH => {
            pieces.push(Piece::Output { kind: Kind::Tool, tokens: 1 });
            pieces.extend(cut(dice, Kind::Tool, tokens / 2));
        }
        _ => pieces.extend(cut(dice, Kind::Text, tokens)),
    }
    pieces
}

fn cut(dice: &mut Dice, kind: Kind, mut tokens: u32) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while tokens > 0 {
        let size = if dice.chance(0.7) { 1 } else { dice.between(2..=4) };
        let size = tokens.min(size);
        pieces.push(Piece::Output { kind, tokens: size });
        tokens -= size;
    }
    pieces
}

/// Spreads the pieces over time: prefill, pace, coalesced writes, now and then a stall.
fn bursts(dice: &mut Dice, model: &str, answer: &[Piece]) -> Vec<Burst> {
    let mut bursts = prelude(dice, model);
    let pace = dice.time(PACE, 0.3);
    let stall = dice.chance(0.04).then(|| dice.between(1..=answer.len()));
    let mut left = answer;
    let mut written = 0;
    while !left.is_empty() {
        let together = if dice.chance(0.85) { 1 } else { dice.between(2..=3) };
        let (now, later) = left.split_at(left.len().min(together));
        let after = match stall {
            Some(place) if (written..written + now.len()).contains(&place) => dice.time(20 * pace, 0.2),
            _ => dice.time(pace, 0.4),
        };
        written += now.len();
        left = later;
        bursts.push(Burst { after, pieces: now.to_vec() });
    }
    let prefill = dice.time(FIRST_TOKEN, 0.45);
    if let Some(first) = bursts.iter_mut().find(|burst| burst.tokens() > 0) {
        first.after = prefill;
        if model == THINKER {
            first.pieces.insert(0, Piece::Role);
        }
    }
    bursts
}

/// What comes before any output: the early role frame of some models, keep-alive comments while the prompt waits.
fn prelude(dice: &mut Dice, model: &str) -> Vec<Burst> {
    let role = (model != THINKER).then(|| Burst { after: Duration::from_millis(1), pieces: vec![Piece::Role] });
    let comments = if dice.chance(0.15) { dice.between(1..=3) } else { 0 };
    let comment = Burst { after: Duration::from_millis(25), pieces: vec![Piece::Comment] };
    std::iter::repeat_n(comment, comments).chain(role).collect()
}

fn whole(size: f64) -> u32 {
    size as u32
}
