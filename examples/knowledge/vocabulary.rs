//! The words of the corpus: what the documents are about, and what stands between.

/// One side of a topic: a travel subject, or what one may want to know of it. A document uses some of its words.
#[derive(Debug)]
pub(super) struct Vocabulary {
    pub(super) words: [&'static str; 6],
}

const fn of(words: [&'static str; 6]) -> Vocabulary {
    Vocabulary { words }
}

pub(super) const SUBJECTS: [Vocabulary; 12] = [
    of(["train", "railway", "carriage", "platform", "conductor", "locomotive"]),
    of(["ferry", "deck", "pier", "harbour", "crossing", "captain"]),
    of(["flight", "airline", "runway", "terminal", "boarding", "cabin"]),
    of(["coach", "bus", "driver", "motorway", "depot", "stop"]),
    of(["hotel", "suite", "reception", "lobby", "concierge", "breakfast"]),
    of(["hostel", "dormitory", "bunk", "locker", "kitchen", "curfew"]),
    of(["campsite", "tent", "pitch", "caravan", "firewood", "groundsheet"]),
    of(["museum", "gallery", "exhibition", "curator", "collection", "audioguide"]),
    of(["trail", "summit", "ridge", "hut", "footpath", "waymark"]),
    of(["rental", "car", "fuel", "mileage", "garage", "windscreen"]),
    of(["bicycle", "saddle", "helmet", "cycleway", "pannier", "tyre"]),
    of(["theatre", "stage", "interval", "balcony", "matinee", "orchestra"]),
];

pub(super) const ASPECTS: [Vocabulary; 5] = [
    of(["refund", "cancellation", "reimbursement", "voucher", "claim", "compensation"]),
    of(["timetable", "schedule", "opening", "departure", "weekday", "season"]),
    of(["luggage", "suitcase", "backpack", "parcel", "storage", "weight"]),
    of(["wheelchair", "ramp", "lift", "assistance", "hearing", "braille"]),
    of(["safety", "emergency", "inspection", "alarm", "insurance", "hazard"]),
];

pub(super) const PLACES: [&str; 10] = [
    "aldermouth",
    "brackwell",
    "cinderford",
    "dunmere",
    "eastray",
    "fallowby",
    "greyholm",
    "inverlay",
    "kestrelby",
    "larkstead",
];

/// Said everywhere, and about nothing.
pub(super) const FILLER: [&str; 32] = [
    "the", "of", "and", "for", "every", "visitor", "with", "useful", "advice", "about", "local", "customs", "please",
    "ask", "before", "you", "come", "some", "notes", "from", "people", "who", "know", "their", "way", "around", "most",
    "days", "there", "is", "more", "than",
];

/// How many words of a vocabulary the thesaurus knows.
const KNOWN: usize = 4;

/// The thesaurus: one word for all that mean about the same, as far as they are known.
pub(super) fn meaning(word: &str) -> Option<&'static str> {
    let known = SUBJECTS.iter().chain(&ASPECTS).map(|vocabulary| &vocabulary.words[..KNOWN]);
    known.filter(|words| words.contains(&word)).find_map(|words| words.first().copied())
}
