//! The statistics that the tables need: quantiles, how reliable a ratio is, and how sure a change is.

pub(crate) mod bootstrap;
mod quantiles;

use quantiles::quantiles;
pub(crate) use quantiles::{median, quantile};

/// One figure per round, condensed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) lower_quartile: f64,
    pub(crate) upper_quartile: f64,
    pub(crate) rounds: usize,
}

impl Spread {
    pub(crate) fn of(rounds: &[f64]) -> Option<Self> {
        let [lower_quartile, median, upper_quartile] = quantiles(rounds, [0.25, 0.5, 0.75])?;
        Some(Self { median, lower_quartile, upper_quartile, rounds: rounds.len() })
    }

    /// The mark of what speaks against reading this as "so many times as long", or a blank: `?` if there are fewer than
    /// three rounds, so no spread to speak of, and `~` if the middle half of them is wider than half of the value.
    pub(crate) fn mark_as_measure(&self) -> char {
        if self.rounds < 3 {
            '?'
        } else if self.upper_quartile - self.lower_quartile > self.median.abs() / 2.0 {
            '~'
        } else {
            ' '
        }
    }

    /// The same for "faster" or "slower": `=` if the middle half of the rounds lies on both sides of 1, so that it is
    /// not known which.
    pub(crate) fn mark_as_comparison(&self) -> char {
        if self.rounds >= 3 && self.straddles(1.0) { '=' } else { self.mark_as_measure() }
    }

    /// Whether the middle half of the rounds lies on both sides of `bound`.
    pub(crate) fn straddles(&self, bound: f64) -> bool {
        self.lower_quartile < bound && bound < self.upper_quartile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts() {
        let spread = |rounds: &[f64]| Spread::of(rounds).unwrap();
        assert_eq!(spread(&[2.0, 2.0]).mark_as_comparison(), '?');
        assert_eq!(spread(&[0.9, 1.0, 1.05, 1.1]).mark_as_comparison(), '=');
        assert_eq!(spread(&[0.9, 1.0, 1.05, 1.1]).mark_as_measure(), ' ');
        assert_eq!(spread(&[2.0, 4.0, 8.0]).mark_as_comparison(), '~');
        assert_eq!(spread(&[2.0, 2.1, 2.2]).mark_as_comparison(), ' ');
    }
}
