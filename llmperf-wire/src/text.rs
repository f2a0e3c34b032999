//! Text as the wire carries it, unescaped only when somebody asks.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;

/// A piece of text that is still in the wire's form.
///
/// Measuring needs to know how long a text is, hardly ever what it says: escapes are resolved and UTF-8 is checked by
/// [`decode`](Self::decode) alone, and that copies only if there is something to change.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    raw: &'a [u8],
    escaped: bool,
}

impl<'a> Text<'a> {
    /// What stands between the quotes of a JSON string, and whether it holds escapes.
    #[inline]
    pub(crate) fn quoted(raw: &'a [u8], escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// Text that means what it says.
    pub(crate) fn plain(raw: &'a [u8]) -> Self {
        Self { raw, escaped: false }
    }

    /// Length of the text in bytes, escapes resolved. An invalid byte counts as the one that it is.
    #[inline]
    pub fn len(&self) -> usize {
        if self.escaped { Unescape { rest: self.raw }.map(Segment::len).sum() } else { self.raw.len() }
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The text itself, borrowed from the read unless it holds escapes.
    ///
    /// Invalid UTF-8 and halves of surrogate pairs become U+FFFD.
    pub fn decode(&self) -> Cow<'a, str> {
        if !self.escaped {
            return String::from_utf8_lossy(self.raw);
        }
        let mut text = String::with_capacity(self.raw.len());
        for segment in (Unescape { rest: self.raw }) {
            match segment {
                Segment::Plain(plain) => text.push_str(&String::from_utf8_lossy(plain)),
                Segment::Escape(character) => text.push(character),
            }
        }
        Cow::Owned(text)
    }

    /// The text behind the last `byte`, or all of it.
    pub(crate) fn behind(self, byte: u8) -> Self {
        Self { raw: self.raw.rsplit(|found| *found == byte).next().unwrap_or(self.raw), ..self }
    }

    /// True if the text is exactly `word`.
    pub(crate) fn is(&self, word: &str) -> bool {
        !self.escaped && self.raw == word.as_bytes()
    }

    /// True if the text is `word`, upper or lower case.
    pub(crate) fn is_in_any_case(&self, word: &str) -> bool {
        !self.escaped && self.raw.eq_ignore_ascii_case(word.as_bytes())
    }

    /// True if it is the very text that lies at the beginning of these bytes, not another one that says the same.
    pub(crate) fn lies_at(&self, bytes: &[u8]) -> bool {
        std::ptr::eq(self.raw.as_ptr(), bytes.as_ptr())
    }

    /// The text as it is written, if nothing in it is escaped: how the names of a protocol come.
    #[inline]
    pub(crate) fn word(&self) -> Option<&'a [u8]> {
        (!self.escaped).then_some(self.raw)
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.decode() == other
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.decode() == *other
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.decode())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.decode(), f)
    }
}

/// The parts of a JSON string.
struct Unescape<'a> {
    rest: &'a [u8],
}

enum Segment<'a> {
    Plain(&'a [u8]),
    Escape(char),
}

impl Segment<'_> {
    fn len(self) -> usize {
        match self {
            Self::Plain(plain) => plain.len(),
            Self::Escape(character) => character.len_utf8(),
        }
    }
}

impl<'a> Iterator for Unescape<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        let [b'\\', letter, rest @ ..] = self.rest else {
            return self.plain();
        };
        let character = match letter {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                self.rest = rest;
                return Some(Segment::Escape(self.code_point()));
            }
            other if other.is_ascii() => char::from(*other),
            // No escape at all: the backslash is left out.
            _ => {
                let (_, rest) = self.rest.split_at(1);
                self.rest = rest;
                return self.plain();
            }
        };
        self.rest = rest;
        Some(Segment::Escape(character))
    }
}

impl<'a> Unescape<'a> {
    fn plain(&mut self) -> Option<Segment<'a>> {
        let end = memchr(b'\\', self.rest).unwrap_or(self.rest.len());
        let (plain, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!plain.is_empty()).then_some(Segment::Plain(plain))
    }

    /// The character that begins with the four digits ahead, with its second half if it has one.
    fn code_point(&mut self) -> char {
        let Some((first, rest)) = four_digits(self.rest) else {
            return char::REPLACEMENT_CHARACTER;
        };
        self.rest = rest;
        let second = rest.strip_prefix(b"\\u").and_then(four_digits);
        let code = match (first, second) {
            (0xD800..0xDC00, Some((low @ 0xDC00..0xE000, rest))) => {
                self.rest = rest;
                0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00)
            }
            _ => first,
        };
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

fn four_digits(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_first_chunk::<4>()?;
    let digits = str::from_utf8(digits).ok()?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}
