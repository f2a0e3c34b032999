//! Where the time of a run went, against a reference that looks at each instant.

use std::time::Duration;

use proptest::prelude::*;

use super::super::*;
use crate::{
    clock::nanos_of,
    journal::{Entry, MOST, Notes},
};

/// Any number of sharers up to 12 divides it.
const UNIT: u64 = 27_720;

fn tool(name: &'static str) -> Title {
    Title::new(SeriesKind::Tool, name, "")
}

fn notes(entries: impl IntoIterator<Item = Entry>) -> Notes {
    let mut notes = Notes::default();
    entries.into_iter().for_each(|entry| notes.note(&entry));
    notes
}

/// An entry of the run itself, whose frame is 1.
fn entry(name: &'static str, began: u64, ended: u64) -> Entry {
    Entry { title: tool(name), id: 0, call: 0, within: 1, began, ended }
}

fn times<'a>(breakdown: &'a Breakdown, name: &'static str) -> (u64, u64, u64, u64, u64) {
    let part: &'a RunPart = breakdown.part(&tool(name)).unwrap();
    (nanos_of(part.exclusive), nanos_of(part.covered), nanos_of(part.total), part.count, part.sequential)
}

fn sum(breakdown: &Breakdown) -> u64 {
    nanos_of(breakdown.other) + breakdown.parts.iter().map(|part| nanos_of(part.exclusive)).sum::<u64>()
}

#[test]
fn an_instant_belongs_to_what_is_innermost() {
    let inside = |id, within, mut entry: Entry| {
        (entry.id, entry.within) = (id, within);
        entry
    };
    let entries =
        [inside(4, 3, entry("call", 30, 50)), inside(3, 2, entry("tool", 20, 60)), inside(2, 1, entry("step", 10, 80))];
    let breakdown = Breakdown::of(0, 100, notes(entries));
    assert_eq!(times(&breakdown, "call"), (20, 20, 20, 1, 1));
    assert_eq!(times(&breakdown, "tool"), (20, 40, 40, 1, 1));
    assert_eq!(times(&breakdown, "step"), (30, 70, 70, 1, 1));
    assert_eq!(breakdown.other, Duration::from_nanos(30));
    let within = |name| breakdown.part(&tool(name)).unwrap().within.clone();
    assert_eq!((within("call"), within("tool"), within("step")), (Some(tool("tool")), Some(tool("step")), None));
}

#[test]
fn what_goes_on_at_once_shares_its_time_equally() {
    let breakdown = Breakdown::of(0, 90, notes([entry("a", 0, 60), entry("b", 30, 90), entry("b", 30, 90)]));
    assert_eq!(times(&breakdown, "a"), (30 + 10, 60, 60, 1, 1));
    assert_eq!(times(&breakdown, "b"), (20 + 30, 60, 120, 2, 1), "a fan-out is no repetition");
    assert_eq!(breakdown.other, Duration::ZERO);
}

#[test]
fn what_outlives_the_one_that_it_was_made_in_is_still_inside_those_around_that() {
    let step = Entry { id: 2, ..entry("step", 0, 100) };
    let tool_ended = Entry { id: 3, within: 2, ..entry("tool", 0, 10) };
    let detached = Entry { within: 3, ..entry("call", 5, 50) };
    let breakdown = Breakdown::of(0, 100, notes([tool_ended, detached, step]));
    assert_eq!(times(&breakdown, "call").0, 45);
    assert_eq!(times(&breakdown, "tool").0, 5);
    assert_eq!(times(&breakdown, "step").0, 50);
}

#[test]
fn what_reaches_beyond_the_run_counts_as_far_as_it_lies_inside() {
    let breakdown = Breakdown::of(100, 200, notes([entry("early", 50, 120), entry("late", 190, 300)]));
    assert_eq!((times(&breakdown, "early").0, times(&breakdown, "late").0), (20, 10));
    assert_eq!(sum(&breakdown), 100);
}

#[test]
fn a_part_in_several_others_is_in_none() {
    let steps = [("one", 2, 0), ("two", 3, 50)].map(|(name, id, began)| Entry { id, ..entry(name, began, began + 40) });
    let tools = [(2, 10), (3, 60)].map(|(within, began)| Entry { within, ..entry("search", began, began + 5) });
    let breakdown = Breakdown::of(0, 100, notes(tools.into_iter().chain(steps)));
    assert_eq!(breakdown.part(&tool("search")).unwrap().within, None);
    assert_eq!(times(&breakdown, "search"), (10, 10, 10, 2, 2));
}

#[test]
fn small_parts_past_the_most_are_other() {
    let name = |number: u64| Title::new(SeriesKind::Tool, format!("tool {number}"), "");
    let entries = (0..20).map(|number| Entry { title: name(number), ..entry("", number * 100, number * 101 + 1) });
    let breakdown = Breakdown::of(0, 2_000, notes(entries));
    assert_eq!(breakdown.parts.len(), 16);
    assert_eq!(breakdown.parts[0].title, name(19), "the largest first");
    assert!(breakdown.part(&name(3)).is_none());
    assert_eq!(sum(&breakdown), 2_000);
}

#[test]
fn past_the_most_entries_parts_are_counted_and_added_up_and_it_is_said() {
    let one = |number: u64| entry("search", number * 10, number * 10 + 10);
    let breakdown = Breakdown::of(0, 10_000, notes((0..1_000).map(one)));
    let kept = MOST as u64 * 10;
    assert_eq!(times(&breakdown, "search"), (kept, kept, 10_000, 1_000, 999), "one may be two at the seam");
    assert_eq!((breakdown.unplaced, nanos_of(breakdown.other)), (1_000 - MOST as u64, 10_000 - kept));
}

/// A thousand runs inside a run, of one search each.
#[test]
fn past_the_most_entries_runs_inside_are_not_taken_for_one() {
    let one = |number: u64| {
        let search = Entry { within: number + 2, ..entry("search", number * 10, number * 10 + 9) };
        let title = Title::new(SeriesKind::Pipeline, "support", "");
        [search, Entry { title, id: number + 2, ..entry("", number * 10, number * 10 + 10) }]
    };
    let breakdown = Breakdown::of(0, 10_000, notes((0..1_000).flat_map(one)));
    let search = breakdown.part(&tool("search")).unwrap();
    assert_eq!((search.count, search.sequential), (1_000, 1));
}

#[test]
fn nothing_inside_is_all_other() {
    let breakdown = Breakdown::of(10, 30, Notes::default());
    assert_eq!((breakdown.parts.len(), breakdown.other), (0, Duration::from_nanos(20)));
    assert_eq!(Breakdown::of(30, 10, Notes::default()), Breakdown::default(), "no time, not a negative one");
}

/// Entries in units of time; each is in the run, or in one that comes before it in the list.
fn entries() -> impl Strategy<Value = Vec<Entry>> {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let one = (0..40_u64, 0..20_u64, any::<prop::sample::Index>(), 0..NAMES.len());
    prop::collection::vec(one, 0..12).prop_map(|drawn| {
        let mut entries: Vec<Entry> = Vec::new();
        for (place, (began, lasts, around, name)) in drawn.into_iter().enumerate() {
            let within = around.index(place + 1) as u64 + 1;
            let entry = entry(NAMES[name], began * UNIT, (began + lasts) * UNIT);
            entries.push(Entry { id: place as u64 + 2, within, ..entry });
        }
        entries
    })
}

/// Looks at each unit of time.
fn reference(entries: &[Entry], name: &'static str, units: std::ops::Range<u64>) -> (u64, u64) {
    let around = |place: usize| {
        std::iter::successors(Some(place), |place| (entries[*place].within as usize).checked_sub(2)).skip(1)
    };
    let (mut exclusive, mut covered) = (0, 0);
    for unit in units {
        let active = |entry: &Entry| entry.began <= unit * UNIT && entry.ended > unit * UNIT;
        let places: Vec<usize> = (0..entries.len()).filter(|place| active(&entries[*place])).collect();
        let is_innermost = |place: &&usize| !places.iter().any(|other| around(*other).any(|outer| outer == **place));
        let innermost: Vec<&usize> = places.iter().filter(is_innermost).collect();
        let ours = |place: &usize| entries[*place].title == tool(name);
        let own = innermost.iter().filter(|place| ours(place)).count() as u64;
        exclusive += if own > 0 { own * UNIT / innermost.len() as u64 } else { 0 };
        covered += if places.iter().any(ours) { UNIT } else { 0 };
    }
    (exclusive, covered)
}

proptest! {
    #[test]
    fn each_instant_is_shared_among_the_innermost_and_all_adds_up(entries in entries(), began in 0..20_u64) {
        let units = began..45;
        let breakdown = Breakdown::of(units.start * UNIT, units.end * UNIT, notes(entries.clone()));
        for name in ["a", "b", "c", "d"] {
            let found = breakdown.part(&tool(name)).map_or((0, 0), |part| (nanos_of(part.exclusive), nanos_of(part.covered)));
            prop_assert_eq!(found, reference(&entries, name, units.clone()), "{}", name);
        }
        prop_assert_eq!(sum(&breakdown), (units.end - units.start) * UNIT);
    }

    #[test]
    fn whatever_the_instants_the_shares_add_up_to_the_nanosecond(
        instants in prop::collection::vec((0..2_000_u64, 0..2_000_u64, 0..8_u64, 0..8_u64), 0..60),
        (began, lasts) in (0..1_000_u64, 0..1_000_u64),
    ) {
        let of = |(one, two, id, within)| Entry { id, within, ..entry("a", one, two) };
        let breakdown = Breakdown::of(began, began + lasts, notes(instants.into_iter().map(of)));
        prop_assert_eq!(sum(&breakdown), lasts);
    }
}
