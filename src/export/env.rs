//! The environment as the export set-up sees it: a look-up, so that tests need not touch the process.

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

use super::error::{Error, Kind};

/// Looks up `OTEL_*` and `RUST_LOG`; an empty value counts as unset, as the OTel specification asks.
pub(super) struct Env<'a>(&'a dyn Fn(&str) -> Option<String>);

impl fmt::Debug for Env<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Env")
    }
}

impl<'a> Env<'a> {
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self(lookup)
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// `true` in any case is true, everything else is false, as the OTel specification asks.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    pub(super) fn parsed<T: FromStr>(&self, name: &str, expected: &'static str) -> Result<Option<T>, Error> {
        let Some(value) = self.text(name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(parsed) => Ok(Some(parsed)),
            Err(_) => Err(bad_setting(name, &value, expected)),
        }
    }
}

/// The process's own environment. A value that is not Unicode counts as unset.
pub(super) fn process(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub(super) fn bad_setting(name: &str, value: &str, expected: &'static str) -> Error {
    Kind::Setting { name: name.to_owned(), value: value.to_owned(), expected }.into()
}

/// The pairs of `key=value,key=value`, percent-decoded, as `OTEL_RESOURCE_ATTRIBUTES` and
/// `OTEL_EXPORTER_OTLP_HEADERS` write them. Entries without a key are skipped.
pub(super) fn pairs(list: &str) -> impl Iterator<Item = (String, String)> {
    list.split(',').filter_map(|entry| {
        let (key, value) = entry.split_once('=')?;
        let key = key.trim();
        let value = percent_decode_str(value.trim()).decode_utf8_lossy();
        (!key.is_empty()).then(|| (key.to_owned(), value.into_owned()))
    })
}
