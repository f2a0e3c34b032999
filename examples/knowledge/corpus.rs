//! A corpus of which everything is known: generated documents, and questions with the documents that answer them.
//!
//! A document is about a *case*: a subject (trains, ferries, …) under an aspect (refunds, luggage, …) in a place. 12
//! subjects and 5 aspects make 60 topics, with 10 places 600 cases, and 3,000 documents make 5 of each. It uses four of
//! the six words of its subject and of its aspect, side by side. Then it mentions two neighbours, which share two of
//! the three, here and there between other words. So a question for one case finds others that have all its words, too,
//! and misses some of its own that say it in other words: no search is perfect by itself.

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{Rng as _, SeedableRng as _};

use super::vocabulary::{ASPECTS, FILLER, PLACES, SUBJECTS, Vocabulary};

/// The number of a document in the store.
pub(crate) type DocumentId = u32;

/// All different cases.
pub(crate) const CASES: usize = SUBJECTS.len() * ASPECTS.len() * PLACES.len();
/// How many of its six words a text uses.
const SAID: usize = 4;
/// Spreads neighbouring numbers over the cases; it shares no factor with their number.
const SPREAD: usize = 367;

/// A document as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) id: DocumentId,
    pub(crate) title: String,
    pub(crate) body: String,
}

/// A question, and which documents answer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) relevant: Vec<DocumentId>,
}

impl Document {
    /// All of it.
    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.title, self.body)
    }
}

impl Question {
    /// The same in another order: other text, same meaning.
    pub(crate) fn reordered(&self) -> Self {
        let words: Vec<_> = self.text.rsplit(' ').collect();
        Self { text: words.join(" "), ..self.clone() }
    }
}

/// So many documents of a seed. The same seed gives the same text everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corpus {
    seed: u64,
    size: usize,
}

/// What a document is about, by its place in the vocabularies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    subject: usize,
    aspect: usize,
    place: usize,
}

impl Corpus {
    pub(crate) const fn new(seed: u64, size: usize) -> Self {
        Self { seed, size }
    }

    /// All of them, in the order of their ids.
    pub(crate) fn documents(self) -> impl Iterator<Item = Document> {
        (0..self.size).map(move |number| self.document(number))
    }

    /// Question number `number`; the first 600 are about different cases, if there are documents of each.
    pub(crate) fn question(self, number: usize) -> Question {
        let number = number * SPREAD % CASES.min(self.size.max(1));
        let mut dice = self.dice(1, number);
        let case = Case::of(number);
        let mut said: Vec<_> = SUBJECTS[case.subject].words.choose_multiple(&mut dice, 2).copied().collect();
        said.extend(ASPECTS[case.aspect].words.choose_multiple(&mut dice, 2));
        said.push(PLACES[case.place]);
        said.shuffle(&mut dice);
        let relevant = (number..self.size).step_by(CASES).filter_map(|number| number.try_into().ok());
        Question { text: said.join(" "), relevant: relevant.collect() }
    }

    fn document(self, number: usize) -> Document {
        let mut dice = self.dice(0, number);
        let case = Case::of(number);
        let (subject, aspect) = (case.subject(&mut dice), case.aspect(&mut dice));
        let mut body = Vec::new();
        for (number, (subject, aspect)) in subject.iter().zip(&aspect).enumerate() {
            filler(&mut body, &mut dice, 3);
            let mut said = vec![subject, aspect];
            said.extend((number < 2).then_some(&PLACES[case.place]));
            said.shuffle(&mut dice);
            body.extend(said);
        }
        for neighbour in [case.neighbour(&mut dice), case.neighbour(&mut dice)] {
            let (subject, aspect) = (neighbour.subject(&mut dice), neighbour.aspect(&mut dice));
            for (subject, aspect) in subject.iter().zip(&aspect) {
                for mentioned in [subject, aspect, PLACES[neighbour.place]] {
                    let between = dice.random_range(2..=4);
                    filler(&mut body, &mut dice, between);
                    body.push(mentioned);
                }
            }
        }
        let title = format!("{} {} in {}", subject[0], aspect[0], PLACES[case.place]);
        Document { id: number.try_into().unwrap_or(DocumentId::MAX), title, body: body.join(" ") }
    }

    /// Chance that belongs to one text alone.
    fn dice(self, sort: u64, number: usize) -> StdRng {
        let mixed = (number as u64 * 2 + sort).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        StdRng::seed_from_u64(self.seed ^ mixed)
    }
}

impl Case {
    /// The case of the document, or of the question, of this number.
    fn of(number: usize) -> Self {
        let case = number % CASES;
        let (subject, rest) = (case % SUBJECTS.len(), case / SUBJECTS.len());
        Self { subject, aspect: rest % ASPECTS.len(), place: rest / ASPECTS.len() }
    }

    fn subject(self, dice: &mut StdRng) -> [&'static str; SAID] {
        some(&SUBJECTS[self.subject], dice)
    }

    fn aspect(self, dice: &mut StdRng) -> [&'static str; SAID] {
        some(&ASPECTS[self.aspect], dice)
    }

    /// A case that differs in one thing.
    fn neighbour(self, dice: &mut StdRng) -> Self {
        let mut other = |of: usize, than: usize| (than + dice.random_range(1..of)) % of;
        let (subject, aspect, place) =
            (other(SUBJECTS.len(), self.subject), other(ASPECTS.len(), self.aspect), other(PLACES.len(), self.place));
        match dice.random_range(0..3_u8) {
            0 => Self { subject, ..self },
            1 => Self { aspect, ..self },
            _ => Self { place, ..self },
        }
    }
}

/// Three words of a vocabulary, in any order.
fn some(vocabulary: &Vocabulary, dice: &mut StdRng) -> [&'static str; SAID] {
    let mut words = vocabulary.words;
    words.shuffle(dice);
    std::array::from_fn(|place| words[place])
}

fn filler(text: &mut Vec<&'static str>, dice: &mut StdRng, count: usize) {
    text.extend((0..count).filter_map(|_| FILLER.choose(dice)));
}
