//! The statistics that the tables need: quantiles, how reliable a ratio is, and how sure a change is.

pub(crate) mod bootstrap;

/// The value below which a share `q` of the sorted samples lies, interpolated; `None` without samples.
pub(crate) fn quantile(samples: &[f64], q: f64) -> Option<f64> {
    quantiles(samples, &[q]).first().copied()
}

/// The same for several shares; nothing without samples.
pub(crate) fn quantiles(samples: &[f64], shares: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return Vec::new();
    };
    let at = |share: &f64| {
        let place = share.clamp(0.0, 1.0) * last as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + (above - below) * place.fract()
    };
    shares.iter().map(at).collect()
}

pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

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
        Some(Self {
            median: median(rounds)?,
            lower_quartile: quantile(rounds, 0.25)?,
            upper_quartile: quantile(rounds, 0.75)?,
            rounds: rounds.len(),
        })
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
    fn quantiles_interpolate_whatever_the_order() {
        let samples = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&samples, 0.0), Some(1.0));
        assert_eq!(quantile(&samples, 1.0), Some(4.0));
        assert_eq!(median(&samples), Some(2.5));
        assert_eq!(quantile(&samples, 0.25), Some(1.75));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
    }

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
