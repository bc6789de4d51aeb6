//! The statistics that the tables need: quantiles, how reliable a ratio is, and how sure a change is.

mod quantiles;

use fastrand::Rng;

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
        let is_wide = self.upper_quartile - self.lower_quartile > self.median.abs() / 2.0;
        match self.rounds {
            ..3 => '?',
            _ if is_wide => '~',
            _ => ' ',
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

/// The seed of the draws of a bootstrap, fixed so that the same files always give the same interval.
const SEED: u64 = 7;
const DRAWS: usize = 2000;
/// Share of the draws outside the interval, on either side. With the usual 2.5 %, one case in twenty would seem to
/// change when nothing did, and a run has hundreds of cases.
const TAIL: f64 = 0.005;

/// A ratio, and where it lies in 99 of 100 draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) estimate: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// Median of `new` over median of `old`, each with one value a round; `None` without values above zero on both sides.
///
/// The rounds of the two runs are independent of each other, so they are drawn independently, with replacement.
pub(crate) fn ratio_of_medians(old: &[f64], new: &[f64]) -> Option<Interval> {
    let ratio = |old: &[f64], new: &[f64]| Some(median(new)? / median(old).filter(|old| *old > 0.0)?);
    let estimate = ratio(old, new)?;
    let mut random = Rng::with_seed(SEED);
    let draws: Vec<f64> =
        (0..DRAWS).filter_map(|_| ratio(&drawn(old, &mut random), &drawn(new, &mut random))).collect();
    let [lower, upper] = quantiles(&draws, [TAIL, 1.0 - TAIL])?;
    Some(Interval { estimate, lower, upper })
}

/// Draws as many values as there are, with replacement.
fn drawn(rounds: &[f64], random: &mut Rng) -> Vec<f64> {
    rounds.iter().map(|_| rounds[random.usize(..rounds.len())]).collect()
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

    #[test]
    fn what_does_not_vary_is_sure() {
        let interval = ratio_of_medians(&[2.0; 5], &[3.0; 5]).unwrap();
        assert_eq!(interval, Interval { estimate: 1.5, lower: 1.5, upper: 1.5 });
    }

    #[test]
    fn the_interval_holds_the_ratio_and_is_the_same_each_time() {
        let (old, new) = ([10.0, 11.0, 12.0, 13.0, 14.0], [20.0, 23.0, 24.0, 26.0, 31.0]);
        let interval = ratio_of_medians(&old, &new).unwrap();
        assert_eq!(interval.estimate, 2.0);
        assert!(interval.lower < 2.0 && 2.0 < interval.upper, "{interval:?}");
        assert!(interval.lower >= 20.0 / 14.0 && interval.upper <= 31.0 / 10.0, "{interval:?}");
        assert_eq!(ratio_of_medians(&old, &new), Some(interval));
    }

    #[test]
    fn three_rounds_give_their_whole_range() {
        let interval = ratio_of_medians(&[1.0; 3], &[1.0, 2.0, 4.0]).unwrap();
        assert_eq!((interval.lower, interval.upper), (1.0, 4.0));
    }

    #[test]
    fn the_same_noise_is_no_change_nearly_always() {
        let mut random = Rng::with_seed(1);
        let mut run = || -> Vec<f64> { (0..11).map(|_| 100.0 + 10.0 * random.f64()).collect() };
        let changes =
            (0..100).filter_map(|_| ratio_of_medians(&run(), &run())).filter(|it| it.lower > 1.0 || it.upper < 1.0);
        assert!(changes.count() <= 5);
    }

    #[test]
    fn nothing_to_divide_by_is_no_ratio() {
        assert_eq!(ratio_of_medians(&[], &[1.0]), None);
        assert_eq!(ratio_of_medians(&[1.0], &[]), None);
        assert_eq!(ratio_of_medians(&[0.0], &[1.0]), None);
    }
}
