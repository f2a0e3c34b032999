//! The sweep over the beginnings and ends inside one run.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::Spent;
use crate::{
    journal::{Entry, Sequence},
    stats::{SeriesKind, Title},
};

/// What was spent in each title by these entries between two instants, in nanoseconds, and what nobody covers.
pub(super) fn sweep(began: u64, ended: u64, entries: &[Entry]) -> (Vec<Spent>, u64) {
    let mut sweep = Sweep::new(entries);
    let mut instants: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * entries.len());
    for (place, entry) in entries.iter().enumerate() {
        let from = entry.began.clamp(began, ended);
        instants.extend([(from, false, place), (entry.ended.clamp(from, ended), true, place)]);
    }
    instants.sort_unstable();
    let (mut now, mut other) = (began, 0);
    for (instant, is_end, place) in instants {
        other += sweep.pass(instant - now);
        now = instant;
        if is_end {
            sweep.end(place, instant);
        } else {
            sweep.begin(place, instant);
        }
    }
    other += sweep.pass(ended - now);
    (sweep.finish(entries), other)
}

struct Sweep<'a> {
    going: Vec<Going>,
    /// The places of those that are active and have nothing active inside.
    innermost: Vec<usize>,
    parts: Vec<Part<'a>>,
}

/// One entry.
struct Going {
    part: usize,
    /// The entry around it.
    around: Option<usize>,
    active: bool,
    /// Active entries inside it, at any depth.
    inside: usize,
    /// Where it stands in `innermost`.
    place: Option<usize>,
}

/// The entries of one title.
struct Part<'a> {
    title: &'a Title,
    around: Around,
    exclusive: u64,
    covered: u64,
    active: usize,
    /// When the first of those that are active began.
    since: u64,
}

/// In which part the entries of a part are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Unseen,
    Always(Option<usize>),
    Several,
}

impl<'a> Sweep<'a> {
    fn new(entries: &'a [Entry]) -> Self {
        let mut places = HashMap::with_capacity_and_hasher(entries.len(), FxBuildHasher);
        let mut parts: Vec<Part<'a>> = Vec::new();
        let ids: HashMap<u64, usize, FxBuildHasher> = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.id != 0)
            .map(|(place, entry)| (entry.id, place))
            .collect();
        let going: Vec<Going> = entries
            .iter()
            .enumerate()
            .map(|(place, entry)| {
                let part = *places.entry(&entry.title).or_insert_with(|| {
                    parts.push(Part::of(&entry.title));
                    parts.len() - 1
                });
                // A call that is not over, or was none, is in nobody's way.
                let around = ids.get(&entry.call).or_else(|| ids.get(&entry.within));
                let around = around.copied().filter(|around| *around != place);
                Going { part, around, active: false, inside: 0, place: None }
            })
            .collect();
        for entry in &going {
            // The part of its own title tells nothing about where it is.
            let around = outwards(&going, entry.around).map(|place| going[place].part).find(|part| *part != entry.part);
            let part = &mut parts[entry.part];
            part.around = match part.around {
                Around::Unseen => Around::Always(around),
                Around::Always(always) if always == around => part.around,
                _ => Around::Several,
            };
        }
        Self { going, innermost: Vec::new(), parts }
    }

    /// Time passes. Gives what of it nobody covers.
    fn pass(&mut self, nanos: u64) -> u64 {
        let Some(sharers) = u64::try_from(self.innermost.len()).ok().filter(|sharers| *sharers > 0) else {
            return nanos;
        };
        if nanos > 0 {
            let (each, more) = (nanos / sharers, nanos % sharers);
            for (sharer, place) in (0..).zip(&self.innermost) {
                self.parts[self.going[*place].part].exclusive += each + u64::from(sharer < more);
            }
        }
        0
    }

    fn begin(&mut self, place: usize, now: u64) {
        self.going[place].active = true;
        let part = &mut self.parts[self.going[place].part];
        if part.active == 0 {
            part.since = now;
        }
        part.active += 1;
        self.settle(place);
        self.tell_outwards(place, |going| going.inside += 1);
    }

    fn end(&mut self, place: usize, now: u64) {
        self.going[place].active = false;
        let part = &mut self.parts[self.going[place].part];
        part.active -= 1;
        if part.active == 0 {
            part.covered += now - part.since;
        }
        self.settle(place);
        self.tell_outwards(place, |going| going.inside -= 1);
    }

    /// Tells all entries around one that it begins or ends.
    fn tell_outwards(&mut self, place: usize, tell: impl Fn(&mut Going)) {
        let mut around = self.going[place].around;
        for _ in 0..self.going.len() {
            let Some(outer) = around else { return };
            tell(&mut self.going[outer]);
            self.settle(outer);
            around = self.going[outer].around;
        }
    }

    /// Puts an entry among the innermost, or takes it out.
    fn settle(&mut self, place: usize) {
        let going = &self.going[place];
        match (going.active && going.inside == 0, going.place) {
            (true, None) => {
                self.going[place].place = Some(self.innermost.len());
                self.innermost.push(place);
            }
            (false, Some(at)) => {
                self.going[place].place = None;
                self.innermost.swap_remove(at);
                if let Some(moved) = self.innermost.get(at) {
                    self.going[*moved].place = Some(at);
                }
            }
            _ => {}
        }
    }

    fn finish(self, entries: &[Entry]) -> Vec<Spent> {
        let titles: Vec<&Title> = self.parts.iter().map(|part| part.title).collect();
        let spent = |part: &Part<'_>| Spent {
            title: part.title.clone(),
            within: match part.around {
                Around::Always(Some(around)) => Some(titles[around].clone()),
                _ => None,
            },
            exclusive: part.exclusive,
            covered: part.covered,
            total: 0,
            count: 0,
            sequential: 0,
        };
        let mut spent: Vec<Spent> = self.parts.iter().map(spent).collect();
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|place| (entries[*place].ended, entries[*place].began));
        let mut sequences: HashMap<_, Sequence, FxBuildHasher> = HashMap::default();
        for place in order {
            let (entry, part) = (&entries[place], self.going[place].part);
            sequences.entry((part, self.run_around(place))).or_default().add(entry.began, entry.ended);
            spent[part].count += 1;
            spent[part].total = spent[part].total.saturating_add(entry.ended.saturating_sub(entry.began));
        }
        for ((part, _), sequence) in sequences {
            spent[part].sequential = spent[part].sequential.max(sequence.length);
        }
        spent
    }

    /// The nearest pipeline, agent or workflow around an entry; absent for that of the whole.
    fn run_around(&self, place: usize) -> Option<usize> {
        let is_run = |place: &usize| is_run(self.parts[self.going[*place].part].title);
        outwards(&self.going, self.going[place].around).find(is_run)
    }
}

/// Whether what is so called is a run by itself.
pub(super) fn is_run(title: &Title) -> bool {
    matches!(title.kind, SeriesKind::Pipeline | SeriesKind::Agent | SeriesKind::Workflow)
}

impl<'a> Part<'a> {
    fn of(title: &'a Title) -> Self {
        Self { title, around: Around::Unseen, exclusive: 0, covered: 0, active: 0, since: 0 }
    }
}

/// An entry and those around it. Frames form a tree; should they not, it ends all the same.
fn outwards(going: &[Going], from: Option<usize>) -> impl Iterator<Item = usize> {
    std::iter::successors(from, |place| going[*place].around).take(going.len())
}
