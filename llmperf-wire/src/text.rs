//! Text as the wire carries it, unescaped only when somebody asks.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;

/// A piece of text that is still in the wire's form.
///
/// Measuring needs to know how long a text is, hardly ever what it says: the escapes of JSON are resolved by
/// [`decode`](Self::decode) alone, and that copies only if there are any.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Text<'a> {
    /// What stands between the quotes of a valid JSON string.
    pub(crate) fn quoted(raw: &'a str) -> Self {
        let escaped = memchr(b'\\', raw.as_bytes()).is_some();
        Self { raw, escaped }
    }

    /// Text that means what it says.
    pub(crate) fn plain(raw: &'a str) -> Self {
        Self {
            raw,
            escaped: false,
        }
    }

    /// Length of the text in bytes of UTF-8, escapes resolved.
    pub fn len(&self) -> usize {
        if self.escaped {
            Unescape { rest: self.raw }.map(Segment::len).sum()
        } else {
            self.raw.len()
        }
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The text itself, borrowed from the read unless it holds escapes. Half a surrogate pair becomes U+FFFD.
    pub fn decode(&self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut text = String::with_capacity(self.raw.len());
        for segment in (Unescape { rest: self.raw }) {
            match segment {
                Segment::Plain(plain) => text.push_str(plain),
                Segment::Escape(character) => text.push(character),
            }
        }
        Cow::Owned(text)
    }

    /// True if the text is exactly `word`.
    pub(crate) fn is(&self, word: &str) -> bool {
        !self.escaped && self.raw == word
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
    rest: &'a str,
}

enum Segment<'a> {
    Plain(&'a str),
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
        let Some(escape) = self.rest.strip_prefix('\\') else {
            let end = memchr(b'\\', self.rest.as_bytes()).unwrap_or(self.rest.len());
            let (plain, rest) = self.rest.split_at(end);
            self.rest = rest;
            return (!plain.is_empty()).then_some(Segment::Plain(plain));
        };
        let mut characters = escape.chars();
        let letter = characters.next()?;
        self.rest = characters.as_str();
        Some(Segment::Escape(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => self.code_unit(),
            other => other,
        }))
    }
}

impl Unescape<'_> {
    /// The character that begins with the four digits ahead, with its second half if it has one.
    fn code_unit(&mut self) -> char {
        let Some((first, rest)) = four_digits(self.rest) else {
            return char::REPLACEMENT_CHARACTER;
        };
        self.rest = rest;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER);
        }
        let second = rest.strip_prefix("\\u").and_then(four_digits);
        match second {
            Some((low @ 0xDC00..0xE000, rest)) => {
                self.rest = rest;
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00);
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => char::REPLACEMENT_CHARACTER,
        }
    }
}

fn four_digits(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}
