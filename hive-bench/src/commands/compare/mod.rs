//! `compare`: what got slower and what got faster from one run to another, and where that cannot be decided.
//!
//! Absolute times on a shared machine drift by far more than what a change of the code does. Therefore a case is judged
//! by its multiple of a reference, where the same process measured one that costs what the case costs (a round trip, a
//! hand-over, a mutex); the times are shown beside it. All other cases are judged by their time.

mod comparison;
mod table;

use std::path::Path;

use crate::record::saved;
use crate::system::exit::{Failure, Outcome, fine_if};

use comparison::Comparison;

/// Prints what changed. The outcome is a failure if hive got slower by more than `threshold` percent, or fails where it
/// did not. An error says which file cannot be used, and why.
pub(crate) fn main(old: &Path, new: &Path, threshold: f64) -> Outcome {
    let read = |path| saved::read(path).map_err(Failure::Usage);
    let comparison = Comparison::of(&read(old)?, &read(new)?).map_err(Failure::Usage)?;
    print!("{}", table::text(&comparison, threshold));
    fine_if(comparison.losses(threshold).is_empty())
}

/// Percent as typed, such as `5` or `2.5`.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let percent = text
        .trim_end_matches('%')
        .trim_end()
        .parse::<f64>()
        .ok()
        .filter(|percent| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "name percent from 0 on, such as 5 or 2.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_numbers_from_zero_on() {
        assert_eq!(percent("2.5"), Ok(2.5));
        assert_eq!(percent("5 %"), Ok(5.0));
        assert!(["-1", "much", "inf", "nan", ""].iter().all(|wrong| percent(wrong).is_err()));
    }
}
