//! What the deltas of an answer have in common: all but a few values is the same in one after the other.
//!
//! A payload that differs from the one before in those values alone says the same, but for its text. So what stands
//! around them is compared, which is several times cheaper than reading it.

use crate::event::{Chunk, Piece, PieceKind};
use crate::json::{Json, Parsed};
use crate::text::Text;

/// The most that is kept of a payload: what stands around its values.
const LONGEST: usize = 768;

/// How many values may differ.
const MOST: usize = 8;

/// The shape of the last delta, if it can be compared with.
#[derive(Debug, Default)]
pub(super) struct Shape(Option<Box<Kept>>);

#[derive(Debug)]
struct Kept {
    /// What stands before, between and behind the values.
    literals: Vec<u8>,
    /// For each value, how long the literal before it is.
    values: [(usize, Value); MOST],
    count: usize,
    /// Where the literal behind the last value begins.
    ending: usize,
    /// Nothing but braces stand behind the last value: blanks may pad them.
    closes: bool,
    kind: PieceKind,
    choice: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    /// The output.
    Text,
    /// A figure, by its place among those of the dialect.
    Figure(u8),
    /// A number or a string that nobody measures.
    Other,
}

/// The values that may differ, as they are met in one payload.
#[derive(Debug)]
pub(super) struct Values {
    /// How many bytes were ahead before and behind each.
    places: [(usize, usize, Value); MOST],
    count: usize,
}

impl Values {
    pub(super) fn new() -> Self {
        Self { places: [(0, 0, Value::Other); MOST], count: 0 }
    }

    /// Reads the text of a delta; one that is empty or absent may decide what others mean, and has to stay so.
    #[inline]
    pub(super) fn text<'a>(&mut self, json: &mut Json<'a>) -> Parsed<Option<Text<'a>>> {
        let before = json.remaining();
        let text = json.text()?;
        if text.is_some() {
            self.note(before, json.remaining(), Value::Text);
        }
        Ok(text)
    }

    /// Reads a figure that differs from delta to delta.
    #[inline]
    pub(super) fn figure(&mut self, json: &mut Json<'_>, place: u8) -> Parsed<Option<u64>> {
        let before = json.remaining();
        let figure = json.count()?;
        self.note(before, json.remaining(), Value::Figure(place));
        Ok(figure)
    }

    /// Passes over a value that nobody measures and that differs from delta to delta.
    #[inline]
    pub(super) fn skip(&mut self, json: &mut Json<'_>) -> Parsed<()> {
        let before = json.remaining();
        json.skip()?;
        self.note(before, json.remaining(), Value::Other);
        Ok(())
    }

    #[inline]
    fn note(&mut self, before: usize, behind: usize, value: Value) {
        if let Some(place) = self.places.get_mut(self.count) {
            *place = (before, behind, value);
        }
        self.count += 1;
    }

    /// The places of the values, if there is one text among them, which is that of the output.
    fn places(&self, data: &[u8], output: &Piece<'_>) -> Option<&[(usize, usize, Value)]> {
        let places = self.places.get(..self.count)?;
        let mut texts = places.iter().filter(|(.., value)| *value == Value::Text);
        let &(before, ..) = texts.next()?;
        let (_, value) = data.split_at(data.len().saturating_sub(before));
        let [b'"', text @ ..] = value.trim_ascii_start() else { return None };
        (texts.next().is_none() && output.text.lies_at(text)).then_some(places)
    }
}

impl Shape {
    /// Puts into the chunk what a payload of the kept shape says; false if it has another and has to be read.
    #[inline]
    pub(super) fn read<'a>(&self, data: &'a [u8], chunk: &mut Chunk<'a>) -> bool {
        self.read_with_figures(data, &mut [], chunk)
    }

    /// The same for a dialect whose deltas have figures; those may be touched even if the shape is another.
    #[inline]
    pub(super) fn read_with_figures<'a>(
        &self,
        data: &'a [u8],
        figures: &mut [Option<u64>],
        chunk: &mut Chunk<'a>,
    ) -> bool {
        let Some(kept) = self.0.as_deref() else { return false };
        let read = kept.read(data, figures).filter(|(_, rest)| kept.ends_with(rest));
        read.map(|(text, _)| chunk.pieces.push(kept.piece(text))).is_some()
    }

    /// The same for a payload that others may follow; says how long it is.
    #[inline]
    pub(super) fn read_ahead<'a>(
        &self,
        ahead: &'a [u8],
        figures: &mut [Option<u64>],
        chunk: &mut Chunk<'a>,
    ) -> Option<usize> {
        let kept = self.0.as_deref()?;
        let (text, rest) = kept.read(ahead, figures)?;
        let behind = rest.strip_prefix(kept.ending())?;
        chunk.pieces.push(kept.piece(text));
        Some(ahead.len() - behind.len())
    }

    /// Keeps the shape of a payload that is of a known kind by itself, if it has output and, but for figures that were
    /// noted, says nothing else.
    pub(super) fn keep(&mut self, data: &[u8], chunk: &Chunk<'_>, values: &Values) {
        let Some(output) = chunk.only_output() else {
            return;
        };
        let (Some(places), Piece { kind, choice, .. }) = (values.places(data, output), *output) else {
            return;
        };
        let length = places.iter().fold(data.len(), |length, (before, behind, _)| length + behind - before);
        if length > LONGEST {
            return;
        }
        let kept = self.0.get_or_insert_with(|| {
            let (literals, values) = (Vec::with_capacity(length), [(0, Value::Other); MOST]);
            Box::new(Kept { literals, values, count: 0, ending: 0, closes: false, kind, choice })
        });
        kept.literals.clear();
        let mut rest = data;
        for (place, &(before, behind, value)) in kept.values.iter_mut().zip(places) {
            let (literal, _) = rest.split_at(rest.len().saturating_sub(before));
            kept.literals.extend_from_slice(literal);
            *place = (literal.len(), value);
            (_, rest) = data.split_at(data.len().saturating_sub(behind));
        }
        kept.ending = kept.literals.len();
        kept.literals.extend_from_slice(rest);
        kept.closes = rest.iter().all(|byte| *byte == b'}' || is_blank(*byte));
        (kept.count, kept.kind, kept.choice) = (places.len(), kind, choice);
    }
}

impl Kept {
    /// The text of a payload that has this shape up to its last value, and what stands behind that.
    #[inline]
    fn read<'a>(&self, data: &'a [u8], figures: &mut [Option<u64>]) -> Option<(Text<'a>, &'a [u8])> {
        let mut rest = data;
        let mut literals = self.literals.as_slice();
        let mut text = None;
        for (length, value) in self.values.get(..self.count)? {
            let (literal, others) = literals.split_at_checked(*length)?;
            literals = others;
            let mut json = Json::new(rest.strip_prefix(literal)?);
            match (json.peek()?, *value) {
                // How deep a value may be nested depends on where it stands.
                (b'{' | b'[', _) => return None,
                (_, Value::Text) => text = Some(json.text().ok()??),
                (_, Value::Figure(place)) => *figures.get_mut(usize::from(place))? = json.count().ok()?,
                (_, Value::Other) => json.skip().ok()?,
            }
            rest = json.rest();
        }
        Some((text?, rest))
    }

    fn piece<'a>(&self, text: Text<'a>) -> Piece<'a> {
        Piece { kind: self.kind, choice: self.choice, text }
    }

    /// What stands behind the last value.
    fn ending(&self) -> &[u8] {
        self.literals.get(self.ending..).unwrap_or_default()
    }

    fn ends_with(&self, rest: &[u8]) -> bool {
        let ending = self.ending();
        rest == ending || self.closes && without_blanks(rest).eq(without_blanks(ending))
    }
}

fn without_blanks(text: &[u8]) -> impl Iterator<Item = &u8> {
    text.iter().filter(|byte| !is_blank(**byte))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
