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

/// Why a ratio is not to be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Fewer than three rounds: no spread to speak of.
    FewRounds,
    /// The middle half of the rounds lies on both sides of 1: which of the two is faster is not known.
    Straddles,
    /// The middle half of the rounds is wider than half of the value.
    Wide,
}

impl Doubt {
    pub(crate) const fn mark(self) -> char {
        match self {
            Self::FewRounds => '?',
            Self::Straddles => '=',
            Self::Wide => '~',
        }
    }
}

impl Spread {
    pub(crate) fn of(rounds: &[f64]) -> Option<Self> {
        let [lower_quartile, median, upper_quartile] = quantiles(rounds, [0.25, 0.5, 0.75])?;
        Some(Self { median, lower_quartile, upper_quartile, rounds: rounds.len() })
    }

    /// What speaks against reading this as "so many times as long".
    pub(crate) fn doubt_as_measure(&self) -> Option<Doubt> {
        if self.rounds < 3 {
            Some(Doubt::FewRounds)
        } else if self.upper_quartile - self.lower_quartile > self.median.abs() / 2.0 {
            Some(Doubt::Wide)
        } else {
            None
        }
    }

    /// What speaks against reading this as "faster" or "slower".
    pub(crate) fn doubt_as_comparison(&self) -> Option<Doubt> {
        if self.rounds >= 3 && self.straddles(1.0) { Some(Doubt::Straddles) } else { self.doubt_as_measure() }
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
        assert_eq!(spread(&[2.0, 2.0]).doubt_as_comparison(), Some(Doubt::FewRounds));
        assert_eq!(spread(&[0.9, 1.0, 1.05, 1.1]).doubt_as_comparison(), Some(Doubt::Straddles));
        assert_eq!(spread(&[0.9, 1.0, 1.05, 1.1]).doubt_as_measure(), None);
        assert_eq!(spread(&[2.0, 4.0, 8.0]).doubt_as_comparison(), Some(Doubt::Wide));
        assert_eq!(spread(&[2.0, 2.1, 2.2]).doubt_as_comparison(), None);
    }
}
