//! The verdict on a case: how hive compares with its best rival.

use crate::catalog::{Unit, names};
use crate::stats::Spread;

/// Fewer rounds than this are no verdict, unless all of them are far from 1.
pub(crate) const ENOUGH_ROUNDS: usize = 5;
/// So many times as long is far.
const FAR: f64 = 3.0;
/// A median this close to 1 counts as equal.
const LEVEL: f64 = 0.03;
/// So do rounds that do not agree on which is faster, if the middle half of them is this close to 1.
const ALIKE: f64 = 0.1;

names! {
    /// How hive compares with its best rival in one case, the worst first.
    Relation {
        Failed "failed";
        Behind "behind";
        Inconclusive "inconclusive";
        Level "level";
        Ahead "ahead";
        /// There is no rival that was measured.
        Alone "no rival";
    }
}

impl Relation {
    /// What the rounds say, each by the ratio of hive to its rival. CPU use hardly varies and is measured once, so one
    /// round decides.
    pub(super) fn of(ratios: &[f64], unit: Unit) -> Self {
        let Some(spread) = Spread::of(ratios) else { return Self::Inconclusive };
        let by_median = match spread.median {
            median if (median - 1.0).abs() <= LEVEL => Self::Level,
            median if median < 1.0 => Self::Ahead,
            _ => Self::Behind,
        };
        if unit == Unit::PercentOfCpu || are_far(ratios) {
            return by_median;
        }
        let is_alike = spread.lower_quartile >= 1.0 - ALIKE && spread.upper_quartile <= 1.0 + ALIKE;
        match by_median {
            _ if ratios.len() < ENOUGH_ROUNDS => Self::Inconclusive,
            Self::Ahead | Self::Behind if agree(ratios) => by_median,
            _ if is_alike => Self::Level,
            _ => Self::Inconclusive,
        }
    }
}

/// Whether one takes so much longer in each round that few rounds tell. A ratio of zero is none: it comes of a cost
/// that came out negative.
pub(crate) fn are_far(ratios: &[f64]) -> bool {
    let all = |is: fn(f64) -> bool| !ratios.is_empty() && ratios.iter().all(|ratio| is(*ratio));
    all(|ratio| ratio > FAR) || all(|ratio| ratio > 0.0 && ratio < 1.0 / FAR)
}

/// Whether the rounds agree on which is faster: all of up to eight, all but one of up to eleven, all but two of up to
/// fourteen, and so on. If both are equally fast, five rounds agree by chance once in 16 times, and more rounds once in
/// 25 at most; a case that is looked at after each round has several such chances.
fn agree(ratios: &[f64]) -> bool {
    let below = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    let above = ratios.iter().filter(|ratio| **ratio > 1.0).count();
    below.min(above) <= ratios.len().saturating_sub(6) / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(ratios: &[f64]) -> Relation {
        Relation::of(ratios, Unit::Nanoseconds)
    }

    #[test]
    fn rounds_that_agree_are_a_verdict() {
        assert_eq!(relation(&[0.5, 0.6, 0.9, 0.7, 0.8]), Relation::Ahead);
        assert_eq!(relation(&[1.2, 1.3, 2.9, 1.1, 1.4]), Relation::Behind);
        assert_eq!(relation(&[0.98, 1.0, 1.02, 1.03, 0.9]), Relation::Level);
        assert_eq!(relation(&[0.5, 0.6, 0.9, 0.7, 1.1]), Relation::Inconclusive);
        let mut nine = [1.5; 9];
        nine[4] = 0.7;
        assert_eq!((relation(&nine), relation(&nine[..8])), (Relation::Behind, Relation::Inconclusive));
    }

    #[test]
    fn few_rounds_are_none_unless_they_are_far() {
        assert_eq!(relation(&[0.5, 0.5, 0.5, 0.5]), Relation::Inconclusive);
        assert_eq!((relation(&[0.01]), relation(&[43.0, 40.0])), (Relation::Ahead, Relation::Behind));
        assert_eq!((relation(&[0.01, 0.5]), relation(&[0.0])), (Relation::Inconclusive, Relation::Inconclusive));
        assert_eq!(Relation::of(&[1.0], Unit::PercentOfCpu), Relation::Level);
    }

    #[test]
    fn rounds_that_do_not_agree_are_level_if_they_are_near() {
        assert_eq!(relation(&[0.91, 0.93, 1.0, 1.06, 1.08]), Relation::Level);
        assert_eq!(relation(&[0.7, 0.8, 0.9, 1.1, 1.3]), Relation::Inconclusive);
    }
}
