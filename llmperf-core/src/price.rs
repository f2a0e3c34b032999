//! What a call cost, by a price table that the user gives.

use std::borrow::Cow;

use crate::Usage;

/// Prices of one model, in USD per million tokens.
///
/// ```
/// use llmperf_core::{Price, Prices};
///
/// let prices = Prices::new()
///     .model("openai", "gpt-4o-mini*", Price::new(0.15, 0.60).cache_read(0.075))
///     .model("*", "*", Price::new(1.0, 3.0));
/// # let _ = prices;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

impl Price {
    /// Prices of input and output tokens. Cached input costs the same until it is said otherwise.
    #[must_use]
    pub fn new(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: input, cache_write: input }
    }

    /// The price of input tokens read from the provider's cache.
    #[must_use = "this returns the price with the class set"]
    pub fn cache_read(self, price: f64) -> Self {
        Self { cache_read: price, ..self }
    }

    /// The price of input tokens written to the provider's cache.
    #[must_use = "this returns the price with the class set"]
    pub fn cache_write(self, price: f64) -> Self {
        Self { cache_write: price, ..self }
    }

    /// Billed tokens where they differ from the used ones; `None` where neither side of the count is known.
    fn cost(&self, usage: &Usage) -> Option<f64> {
        let input = usage.billed_input_tokens().or(usage.input_tokens());
        let output = usage.billed_output_tokens().or(usage.output_tokens());
        if input.is_none() && output.is_none() {
            return None;
        }
        let read = usage.cache_read_tokens().unwrap_or(0);
        let written = usage.cache_write_tokens().unwrap_or(0);
        let plain = input.unwrap_or(0).saturating_sub(read).saturating_sub(written);
        let sum = plain as f64 * self.input
            + read as f64 * self.cache_read
            + written as f64 * self.cache_write
            + output.unwrap_or(0) as f64 * self.output;
        Some(sum / 1e6)
    }
}

/// A price table: the first row whose patterns fit decides. `*` in a pattern stands for any characters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    rows: Vec<(Cow<'static, str>, Cow<'static, str>, Price)>,
}

impl Prices {
    /// An empty table: no cost is recorded.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row for the providers and models that fit the patterns.
    #[must_use = "this returns the table with the row"]
    pub fn model(
        mut self,
        provider: impl Into<Cow<'static, str>>,
        model: impl Into<Cow<'static, str>>,
        price: Price,
    ) -> Self {
        self.rows.push((provider.into(), model.into(), price));
        self
    }

    /// The cost of a call in USD; absent where no row fits or nothing is known.
    pub(crate) fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Option<f64> {
        let fits = |(of_provider, of_model, _): &&(Cow<'_, str>, Cow<'_, str>, Price)| {
            matches(of_provider, provider) && matches(of_model, model)
        };
        self.rows.iter().find(fits).and_then(|(_, _, price)| price.cost(usage))
    }
}

/// Whether `text` fits `pattern`, in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|head| text.strip_prefix(head)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(tail) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= tail.len() && rest.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_of_tokens_has_its_own_price() {
        let price = Price::new(1.0, 10.0).cache_read(0.1).cache_write(2.0);
        let usage = Usage::of(1_000_000, 100_000).cache_read(500_000).cache_write(100_000);
        let cost = price.cost(&usage).unwrap();
        assert!((cost - (0.4 + 0.05 + 0.2 + 1.0)).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn billed_tokens_are_paid_where_they_differ_from_used_ones() {
        let usage = Usage::of(1493, 38).billed_input(68).billed_output(24);
        let cost = Price::new(1.0, 1.0).cost(&usage).unwrap();
        assert!((cost - 92e-6).abs() < 1e-12, "{cost}");
    }

    #[test]
    fn an_unknown_usage_has_no_cost() {
        assert_eq!(Price::new(1.0, 1.0).cost(&Usage::new()), None);
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        assert!(matches("gpt-4o*", "gpt-4o-mini") && matches("*", "") && matches("a*c*e", "abcde"));
        assert!(!matches("gpt-4o", "gpt-4o-mini") && !matches("a*c", "ab") && !matches("ab*b", "ab"));
    }

    #[test]
    fn the_first_row_that_fits_decides() {
        let prices =
            Prices::new().model("openai", "gpt-4o*", Price::new(1.0, 1.0)).model("*", "*", Price::new(9.0, 9.0));
        let million = Usage::of(1_000_000, 0);
        assert_eq!(prices.cost("openai", "gpt-4o-mini", &million), Some(1.0));
        assert_eq!(prices.cost("groq", "gpt-4o-mini", &million), Some(9.0));
        assert_eq!(Prices::new().cost("openai", "x", &million), None);
    }
}
