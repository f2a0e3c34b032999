//! Content codings, undone on the side: `gzip`, `deflate`, `br`, `zstd`, one behind another, whatever the cuts.

#[cfg(feature = "brotli")]
mod brotli;
#[cfg(feature = "gzip")]
mod deflate;
#[cfg(feature = "gzip")]
mod gzip;
#[cfg(feature = "zstd")]
mod zstd;

use std::panic::{AssertUnwindSafe, catch_unwind};

use http::{HeaderMap, header::CONTENT_ENCODING};

/// Most codings that are undone one behind another: nobody sends more than one.
const MOST: usize = 4;
/// Bytes that are handed on at a time.
#[cfg(any(feature = "gzip", feature = "brotli", feature = "zstd"))]
const PIECE: usize = 8 * 1024;
/// What a coding may give beyond [`RATIO`].
const GRACE: u64 = 1024 * 1024;
/// Bytes that are undone at a time.
const STEP: usize = 1024;
/// How many bytes one byte of a body may become. Text of a model becomes a tenth, a bomb a thousandth and less.
const RATIO: u64 = 200;

/// The bytes cannot be decoded (any more): broken, a bomb, a coding that nobody here knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blind;

/// Takes decoded bytes.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&[u8]);

/// One coding being undone.
trait Undo: Send + Sync {
    /// Takes the next coded bytes; gives what they decode to, at once, in pieces of bounded size.
    fn push(&mut self, coded: &[u8], sink: Sink<'_>) -> Result<(), Blind>;
}

/// The codings of a body, in the order in which they are undone. None, for most.
#[derive(Default)]
pub(crate) struct Codings {
    stages: Vec<Stage>,
    /// Bytes of the body so far.
    taken: u64,
}

struct Stage {
    undo: Box<dyn Undo>,
    given: u64,
}

impl Codings {
    /// Those that a head declares.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Blind> {
        let mut stages = Vec::new();
        for value in headers.get_all(CONTENT_ENCODING) {
            for name in value.to_str().map_err(|_| Blind)?.split(',').map(str::trim) {
                if name.is_empty() || name.eq_ignore_ascii_case("identity") {
                    continue;
                }
                stages.push(Stage { undo: undo(name).ok_or(Blind)?, given: 0 });
            }
        }
        stages.reverse(); // the last one applied is the first one undone
        if stages.len() > MOST { Err(Blind) } else { Ok(Self { stages, taken: 0 }) }
    }

    /// Takes the next bytes of the body and gives what they decode to. After an error there is nothing more to see.
    pub(crate) fn push(&mut self, coded: &[u8], sink: Sink<'_>) -> Result<(), Blind> {
        if self.stages.is_empty() {
            sink(coded);
            return Ok(());
        }
        // Decoders are other people's code, and the bytes come from anybody.
        catch_unwind(AssertUnwindSafe(|| self.undo(coded, sink))).unwrap_or(Err(Blind))
    }

    fn undo(&mut self, coded: &[u8], sink: Sink<'_>) -> Result<(), Blind> {
        // In small steps, so that a bomb is noticed before it has cost much.
        for step in coded.chunks(STEP) {
            self.taken += step.len() as u64;
            let most = GRACE.saturating_add(self.taken.saturating_mul(RATIO));
            through(&mut self.stages, step, most, sink)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Codings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Codings").field(&self.stages.len()).finish()
    }
}

/// Undoes one coding behind another. What each may give is counted from the body: bombs inside bombs would multiply.
fn through(stages: &mut [Stage], coded: &[u8], most: u64, sink: Sink<'_>) -> Result<(), Blind> {
    let Some((Stage { undo, given }, rest)) = stages.split_first_mut() else {
        sink(coded);
        return Ok(());
    };
    let mut seen = Ok(());
    for step in coded.chunks(STEP) {
        undo.push(step, &mut |decoded| {
            *given += decoded.len() as u64;
            if seen.is_ok() {
                seen = if *given > most { Err(Blind) } else { through(rest, decoded, most, sink) };
            }
        })?;
        seen?;
    }
    Ok(())
}

fn undo(name: &str) -> Option<Box<dyn Undo>> {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    match () {
        #[cfg(feature = "gzip")]
        () if is("gzip") || is("x-gzip") => Some(Box::new(gzip::Gzip::new())),
        #[cfg(feature = "gzip")]
        () if is("deflate") => Some(Box::new(deflate::Deflate::new())),
        #[cfg(feature = "brotli")]
        () if is("br") => Some(Box::new(brotli::Brotli::new())),
        #[cfg(feature = "zstd")]
        () if is("zstd") => zstd::Zstd::new().map(|zstd| Box::new(zstd) as Box<dyn Undo>),
        () => {
            let _ = is;
            None
        }
    }
}

#[cfg(test)]
mod tests;
