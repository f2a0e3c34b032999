//! `gzip`: members of header, deflated bytes and trailer, one behind another. Their checksums are left to the application.

use super::{Blind, Sink, Undo, deflate::Inflate};

const MAGIC: [u8; 3] = [0x1F, 0x8B, 8];
const HAS_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Byte so many of the fixed header.
    Fixed(u8),
    /// The length of the extra field, and its low byte once that has come.
    ExtraLength(Option<u8>),
    /// So many bytes that say nothing.
    Extra(u16),
    Name,
    Comment,
    /// So many bytes of the header's checksum.
    Checksum(u8),
    Body,
    /// So many bytes of checksum and length.
    Trailer(u8),
}

/// Undoes `gzip`.
#[derive(Debug)]
pub(super) struct Gzip {
    at: At,
    flags: u8,
    inflate: Inflate,
}

impl Gzip {
    pub(super) fn new() -> Self {
        Self { at: At::Fixed(0), flags: 0, inflate: Inflate::new(false) }
    }

    /// Takes a byte that is not deflated.
    fn frame(&mut self, byte: u8) -> Result<(), Blind> {
        self.at = match self.at {
            At::Fixed(index) => {
                match index {
                    0..=2 if MAGIC.get(usize::from(index)) != Some(&byte) => return Err(Blind),
                    3 => self.flags = byte,
                    _ => {}
                }
                if index < 9 { At::Fixed(index + 1) } else { self.after_fixed() }
            }
            At::ExtraLength(None) => At::ExtraLength(Some(byte)),
            At::ExtraLength(Some(low)) => match u16::from_le_bytes([low, byte]) {
                0 => self.after_extra(),
                length => At::Extra(length),
            },
            At::Extra(1) => self.after_extra(),
            At::Extra(left) => At::Extra(left.saturating_sub(1)),
            At::Name if byte == 0 => self.after_name(),
            At::Comment if byte == 0 => self.after_comment(),
            At::Checksum(1) => At::Body,
            At::Checksum(left) => At::Checksum(left.saturating_sub(1)),
            At::Trailer(1) => At::Fixed(0),
            At::Trailer(left) => At::Trailer(left.saturating_sub(1)),
            at @ (At::Name | At::Comment | At::Body) => at,
        };
        Ok(())
    }

    fn after_fixed(&self) -> At {
        if self.flags & HAS_EXTRA != 0 { At::ExtraLength(None) } else { self.after_extra() }
    }

    fn after_extra(&self) -> At {
        if self.flags & HAS_NAME != 0 { At::Name } else { self.after_name() }
    }

    fn after_name(&self) -> At {
        if self.flags & HAS_COMMENT != 0 { At::Comment } else { self.after_comment() }
    }

    fn after_comment(&self) -> At {
        if self.flags & HAS_CHECKSUM != 0 { At::Checksum(2) } else { At::Body }
    }
}

impl Undo for Gzip {
    fn push(&mut self, mut coded: &[u8], sink: Sink<'_>) -> Result<(), Blind> {
        while let [byte, rest @ ..] = coded {
            if self.at != At::Body {
                self.frame(*byte)?;
                coded = rest;
            } else if let Some(behind) = self.inflate.push(coded, sink)? {
                self.inflate.reset();
                self.at = At::Trailer(8);
                coded = behind;
            } else {
                return Ok(());
            }
        }
        Ok(())
    }
}
