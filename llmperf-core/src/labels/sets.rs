//! The attribute sets of one series and response model, each made once.

use std::sync::{
    Arc, OnceLock, PoisonError, RwLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use opentelemetry::KeyValue;

use crate::{Outcome, failure::OTHER, semconv as name, text::Text};

/// Most sets per instrument before ours fold: the SDK's limit of 2,000, less what the folded sets need.
pub(crate) const MOST_SETS: usize = 1_800;

/// Phase of a live call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting,
    Streaming,
}

/// Size class of a prompt, by input tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputSize {
    Unknown,
    Le512,
    Le2k,
    Le8k,
    Le32k,
    Gt32k,
}

impl InputSize {
    const COUNT: usize = 6;

    pub(crate) fn of(tokens: Option<u64>) -> Self {
        match tokens {
            None => Self::Unknown,
            Some(..=512) => Self::Le512,
            Some(..=2_048) => Self::Le2k,
            Some(..=8_192) => Self::Le8k,
            Some(..=32_768) => Self::Le32k,
            Some(_) => Self::Gt32k,
        }
    }

    fn as_str(self) -> Option<&'static str> {
        Some(match self {
            Self::Unknown => return None,
            Self::Le512 => "le_512",
            Self::Le2k => "le_2k",
            Self::Le8k => "le_8k",
            Self::Le32k => "le_32k",
            Self::Gt32k => "gt_32k",
        })
    }
}

/// A class of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenType {
    Input,
    Output,
    CacheRead,
    CacheWrite,
    Reasoning,
}

impl TokenType {
    const COUNT: usize = 5;

    fn as_str(self) -> &'static str {
        ["input", "output", "cache_read", "cache_write", "reasoning"][self as usize]
    }
}

/// What a metric adds to the base attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Variant<'a> {
    /// `gen_ai.*` base.
    GenAi,
    /// The same with the `error.type` of a failed call.
    GenAiError(&'a str),
    /// The same with a token modality: unknown, or audio.
    GenAiModality {
        audio: bool,
    },
    /// The same with `gen_ai.token.type` of v1.41.
    GenAiTokens {
        output: bool,
        error: Option<&'a str>,
    },
    /// `llmperf.*` base: the `gen_ai.*` one, scenario, the user's labels.
    Own,
    Duration {
        outcome: Outcome,
        size: InputSize,
    },
    FirstToken {
        size: InputSize,
    },
    Calls {
        streamed: bool,
        outcome: Outcome,
        error: Option<&'a str>,
    },
    Tokens(TokenType),
    Active(Phase),
    Slo {
        index: usize,
        met: bool,
    },
}

/// Instruments that share a shape of attributes: the SDK's limit holds for each.
const FAMILIES: usize = 9;

// The fixed slots, one after the other.
const DURATION: usize = 0;
const FIRST_TOKEN: usize = DURATION + 4 * InputSize::COUNT;
const CALLS: usize = FIRST_TOKEN + InputSize::COUNT;
const TOKENS: usize = CALLS + 2 * 4;
const ACTIVE: usize = TOKENS + TokenType::COUNT;
const MODALITY: usize = ACTIVE + 2;
const GEN_AI_TOKENS: usize = MODALITY + 2;
const SLO: usize = GEN_AI_TOKENS + 2;

impl Variant<'_> {
    /// Where the set lies, if its values are closed.
    #[inline]
    fn slot(&self) -> Option<usize> {
        Some(match *self {
            Self::Duration { outcome, size } => DURATION + outcome as usize * InputSize::COUNT + size as usize,
            Self::FirstToken { size } => FIRST_TOKEN + size as usize,
            Self::Calls { streamed, outcome, error: None } => CALLS + outcome as usize * 2 + usize::from(streamed),
            Self::Tokens(class) => TOKENS + class as usize,
            Self::Active(phase) => ACTIVE + phase as usize,
            Self::GenAiModality { audio } => MODALITY + usize::from(audio),
            Self::GenAiTokens { output, error: None } => GEN_AI_TOKENS + usize::from(output),
            Self::Slo { index, met } => SLO + index * 2 + usize::from(met),
            _ => return None,
        })
    }

    fn error(&self) -> Option<&str> {
        match *self {
            Self::GenAiError(error) => Some(error),
            Self::Calls { error, .. } | Self::GenAiTokens { error, .. } => error,
            _ => None,
        }
    }

    /// What tells apart the sets of one `error.type`.
    fn tag(&self) -> u8 {
        match *self {
            Self::Calls { streamed, outcome, .. } => 16 + outcome as u8 * 2 + u8::from(streamed),
            Self::GenAiTokens { output, .. } => 2 + u8::from(output),
            _ => 0,
        }
    }

    fn family(&self) -> usize {
        match self {
            Self::GenAi | Self::Own => 0,
            Self::GenAiError(_) => 1,
            Self::GenAiModality { .. } => 2,
            Self::GenAiTokens { .. } => 3,
            Self::Duration { .. } => 4,
            Self::FirstToken { .. } => 5,
            Self::Calls { .. } => 6,
            Self::Tokens(_) | Self::Active(_) => 7,
            Self::Slo { .. } => 8,
        }
    }

    /// The same with one `error.type` for all: folded sets are few, however many codes there are.
    fn folded(self) -> Self {
        let other = |error: Option<&str>| error.map(|_| OTHER);
        match self {
            Self::GenAiError(_) => Self::GenAiError(OTHER),
            Self::GenAiTokens { output, error } => Self::GenAiTokens { output, error: other(error) },
            Self::Calls { streamed, outcome, error } => Self::Calls { streamed, outcome, error: other(error) },
            closed => closed,
        }
    }

    fn is_gen_ai(&self) -> bool {
        matches!(self, Self::GenAi | Self::GenAiError(_) | Self::GenAiModality { .. } | Self::GenAiTokens { .. })
    }

    fn attributes(&self, slos: &[Text]) -> Vec<KeyValue> {
        let mut added = Vec::with_capacity(3);
        added.extend(self.error().map(|error| KeyValue::new(name::ERROR_TYPE, error.to_owned())));
        match *self {
            Self::GenAi | Self::Own | Self::GenAiError(_) => {}
            Self::GenAiModality { audio } => {
                added.push(KeyValue::new(name::TOKEN_MODALITY, if audio { "audio" } else { "unknown" }));
            }
            Self::GenAiTokens { output, .. } => {
                added.push(KeyValue::new(name::TOKEN_TYPE_V1_41, if output { "output" } else { "input" }));
            }
            Self::Duration { outcome, size } => {
                added.push(KeyValue::new(name::OUTCOME, outcome.as_str()));
                added.extend(size.as_str().map(|size| KeyValue::new(name::INPUT_SIZE, size)));
            }
            Self::FirstToken { size } => added.extend(size.as_str().map(|size| KeyValue::new(name::INPUT_SIZE, size))),
            Self::Calls { streamed, outcome, .. } => {
                added.push(KeyValue::new(name::REQUEST_STREAM, streamed));
                added.push(KeyValue::new(name::OUTCOME, outcome.as_str()));
            }
            Self::Tokens(class) => added.push(KeyValue::new(name::TOKEN_TYPE, class.as_str())),
            Self::Active(phase) => {
                let phase = if phase == Phase::Waiting { "waiting" } else { "streaming" };
                added.push(KeyValue::new(name::PHASE, phase));
            }
            Self::Slo { index, met } => {
                added.extend(slos.get(index).map(|slo| KeyValue::new(name::SLO_NAME, slo.clone())));
                added.push(KeyValue::new(name::SLO_MET, met));
            }
        }
        added
    }
}

/// How many sets there are per family, and the sets that the rest folds into.
#[derive(Debug)]
pub(crate) struct Admission {
    admitted: [AtomicUsize; FAMILIES],
    folded: AtomicBool,
    other: Bases,
    slots: usize,
}

impl Admission {
    pub(crate) fn new(slos: &[Text]) -> Self {
        let keys = [name::OPERATION, name::PROVIDER, name::REQUEST_MODEL];
        let other: Vec<KeyValue> = keys.map(|key| KeyValue::new(key, name::OTHER_NAME)).into();
        let slots = SLO + slos.len() * 2;
        Self {
            admitted: Default::default(),
            folded: AtomicBool::new(false),
            other: Bases::new(other.clone(), other, slots),
            slots,
        }
    }

    pub(crate) fn take_folded(&self) -> bool {
        self.folded.load(Ordering::Relaxed) && self.folded.swap(false, Ordering::Relaxed)
    }

    /// Something was folded: it is counted with the next call that ends.
    pub(super) fn note_folded(&self) {
        self.folded.store(true, Ordering::Relaxed);
    }

    fn admit(&self, family: usize) -> bool {
        let room = self.admitted[family].fetch_add(1, Ordering::Relaxed) < MOST_SETS;
        if !room {
            self.note_folded();
        }
        room
    }
}

type Set = Arc<[KeyValue]>;

/// Base attributes and the sets made from them.
#[derive(Debug)]
struct Bases {
    gen_ai: Set,
    own: Set,
    closed: Box<[OnceLock<Set>]>,
    failed: RwLock<Vec<(u8, Box<str>, Set)>>,
}

impl Bases {
    fn new(gen_ai: Vec<KeyValue>, own: Vec<KeyValue>, slots: usize) -> Self {
        Self {
            gen_ai: ordered(gen_ai),
            own: ordered(own),
            closed: (0..slots).map(|_| OnceLock::new()).collect(),
            failed: RwLock::default(),
        }
    }

    #[inline]
    fn base(&self, variant: &Variant<'_>) -> &Set {
        if variant.is_gen_ai() { &self.gen_ai } else { &self.own }
    }

    fn made(&self, variant: &Variant<'_>, slos: &[Text]) -> Set {
        // Of one key the first stands: a label of the user's takes the place of none of ours.
        ordered(variant.attributes(slos).into_iter().chain(self.base(variant).iter().cloned()).collect())
    }

    /// The set of a variant, made once.
    fn kept(&self, variant: &Variant<'_>, slos: &[Text]) -> Set {
        match variant.slot() {
            Some(slot) => match self.closed.get(slot) {
                Some(slot) => Arc::clone(slot.get_or_init(|| self.made(variant, slos))),
                None => Arc::clone(self.base(variant)),
            },
            None => self.failed(variant, || self.made(variant, slos)),
        }
    }

    /// The set of a variant whose `error.type` is open, made on first use.
    fn failed(&self, variant: &Variant<'_>, make: impl FnOnce() -> Set) -> Set {
        let (tag, error) = (variant.tag(), variant.error().unwrap_or_default());
        self.find_failed(tag, error).unwrap_or_else(|| {
            let set = make();
            self.keep_failed(tag, error, &set);
            set
        })
    }

    fn find_failed(&self, tag: u8, error: &str) -> Option<Set> {
        let failed = self.failed.read().unwrap_or_else(PoisonError::into_inner);
        failed.iter().find(|(of, name, _)| *of == tag && **name == *error).map(|(_, _, set)| Arc::clone(set))
    }

    fn keep_failed(&self, tag: u8, error: &str, set: &Set) {
        let mut failed = self.failed.write().unwrap_or_else(PoisonError::into_inner);
        failed.push((tag, error.into(), Arc::clone(set)));
    }
}

/// All attribute sets of calls of one series that one model answered.
#[derive(Debug)]
pub(crate) struct Sets {
    bases: Bases,
    admission: Arc<Admission>,
    slos: Arc<[Text]>,
    admitted: bool,
}

impl Sets {
    pub(super) fn new(gen_ai: Vec<KeyValue>, own: Vec<KeyValue>, admission: Arc<Admission>, slos: Arc<[Text]>) -> Self {
        let admitted = admission.admit(Variant::Own.family());
        Self { bases: Bases::new(gen_ai, own, admission.slots), admission, slos, admitted }
    }

    /// Gives the attributes of a variant to `record`.
    #[inline]
    pub(crate) fn with(&self, variant: Variant<'_>, record: impl FnOnce(&[KeyValue])) {
        if matches!(variant, Variant::GenAi | Variant::Own) {
            return record(if self.admitted { self.bases.base(&variant) } else { self.admission.other.base(&variant) });
        }
        match variant.slot() {
            Some(slot) => match self.bases.closed.get(slot) {
                Some(slot) => record(slot.get_or_init(|| self.make(&variant))),
                None => record(self.bases.base(&variant)),
            },
            None => record(&self.bases.failed(&variant, || self.make(&variant))),
        }
    }

    /// Makes a set, or takes the folded one where the instrument has no room for another.
    fn make(&self, variant: &Variant<'_>) -> Set {
        if self.admitted && self.admission.admit(variant.family()) {
            self.bases.made(variant, &self.slos)
        } else {
            self.admission.other.kept(&variant.folded(), &self.slos)
        }
    }
}

/// Attributes in the order of their keys: the SDK looks sets up by the order given.
fn ordered(mut attributes: Vec<KeyValue>) -> Set {
    attributes.sort_by(|a, b| a.key.as_str().cmp(b.key.as_str()));
    attributes.dedup_by(|a, b| a.key == b.key);
    attributes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(admission: &Arc<Admission>, model: usize) -> Sets {
        let base = vec![KeyValue::new(name::REQUEST_MODEL, format!("m{model}"))];
        Sets::new(base.clone(), base, Arc::clone(admission), Arc::new([]))
    }

    fn rendered(sets: &Sets, variant: Variant<'_>) -> String {
        let mut text = String::new();
        sets.with(variant, |set| {
            text = set.iter().map(|kv| format!("{}={} ", kv.key, kv.value)).collect();
        });
        text.trim_end().to_owned()
    }

    #[test]
    fn sets_are_in_the_order_of_their_keys() {
        let admission = Arc::new(Admission::new(&[]));
        let variant = Variant::Calls { streamed: true, outcome: Outcome::Error, error: Some("429") };
        assert_eq!(
            rendered(&sets(&admission, 1), variant),
            "error.type=429 gen_ai.request.model=m1 gen_ai.request.stream=true llmperf.outcome=error"
        );
    }

    #[test]
    fn each_closed_variant_has_a_slot_of_its_own() {
        let sizes = [None, Some(1), Some(1_000), Some(8_000), Some(30_000), Some(40_000)].map(InputSize::of);
        let mut variants: Vec<Variant<'_>> = Vec::new();
        for outcome in Outcome::ALL {
            variants.extend(sizes.map(|size| Variant::Duration { outcome, size }));
            variants.extend([true, false].map(|streamed| Variant::Calls { streamed, outcome, error: None }));
        }
        variants.extend(sizes.map(|size| Variant::FirstToken { size }));
        variants.extend([Phase::Waiting, Phase::Streaming].map(Variant::Active));
        variants.extend([true, false].map(|audio| Variant::GenAiModality { audio }));
        variants.extend([true, false].map(|output| Variant::GenAiTokens { output, error: None }));
        let mut slots: Vec<usize> = variants.iter().filter_map(Variant::slot).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), variants.len());
        assert_eq!(Variant::Slo { index: 0, met: false }.slot(), Some(SLO));
    }

    #[test]
    fn folded_sets_are_one_set() {
        let admission = Arc::new(Admission::new(&[]));
        (0..MOST_SETS).for_each(|model| drop(sets(&admission, model)));
        let late = [1, 2].map(|model| sets(&admission, MOST_SETS + model));
        let variants = [
            Variant::Tokens(TokenType::Input),
            Variant::Calls { streamed: true, outcome: Outcome::Error, error: Some("429") },
        ];
        for variant in variants {
            let at = late.each_ref().map(|sets| {
                let mut at = std::ptr::null();
                sets.with(variant, |set| at = set.as_ptr());
                at
            });
            assert_eq!(at[0], at[1], "{variant:?}");
        }
    }

    #[test]
    fn sets_past_the_sdk_s_limit_fold_before_it() {
        let admission = Arc::new(Admission::new(&[]));
        let variant = Variant::Duration { outcome: Outcome::Complete, size: InputSize::Unknown };
        let mut distinct = std::collections::HashSet::new();
        for model in 0..3_000 {
            distinct.insert(rendered(&sets(&admission, model), variant));
        }
        assert_eq!(distinct.len(), MOST_SETS + 1);
        assert!(admission.take_folded());
    }
}
