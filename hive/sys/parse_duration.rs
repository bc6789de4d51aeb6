//! Reads a duration as people write it: `200us`, `1ms`, `1m 30s`. `HIVE_SPIN` is read by this.

use std::mem;
use std::time::Duration;

/// The duration that `text` describes: the sum of all its numbers with their units.
///
/// `humantime` reads each number with its unit, and the results are added up here. If it were given the whole text, it
/// would panic where the sum is just above the largest `Duration`
/// (<https://github.com/chronotope/humantime/issues/66>).
///
/// # Errors
/// If `text` is not a duration. The error is a message for people.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    numbers_with_units(text).try_fold(Duration::ZERO, |sum, text_of_one| {
        let time = humantime::parse_duration(text_of_one).map_err(|error| error.to_string())?;
        sum.checked_add(time).ok_or_else(|| "it is longer than a time can be".to_owned())
    })
}

/// Splits a text into parts that each have one number and its unit. A part ends where a digit follows a letter. The
/// empty text is one part.
fn numbers_with_units(text: &str) -> impl Iterator<Item = &str> {
    let letters: Vec<_> = text.char_indices().filter(|(_, letter)| !letter.is_whitespace()).collect();
    let begins = |pair: &[(usize, char)]| pair[0].1.is_alphabetic() && pair[1].1.is_ascii_digit();
    let mut ends: Vec<_> = letters.windows(2).filter(|pair| begins(pair)).map(|pair| pair[1].0).collect();
    ends.push(text.len());
    ends.into_iter().scan(0, |begin, end| Some(&text[mem::replace(begin, end)..end]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_in_parts_are_added_up() {
        assert_eq!(parse_duration("200us"), Ok(Duration::from_micros(200)));
        assert_eq!(parse_duration(" 1m30s 5 ms"), Ok(Duration::from_millis(90_005)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(parse_duration("18446744073709551615s 999999999ns"), Ok(Duration::MAX));
    }

    #[test]
    fn what_is_no_time_is_an_error() {
        assert!(parse_duration("").unwrap_err().contains("empty"));
        assert!(parse_duration("200").unwrap_err().contains("unit"));
        assert!(parse_duration("3 rounds").unwrap_err().contains("rounds"));
        assert!(parse_duration("1s 2").unwrap_err().contains("unit"));
        for above in ["1ns 18446744073709551615s 999999999ns", "18446744073709551615s1000000000ns"] {
            assert!(parse_duration(above).unwrap_err().contains("longer than"), "{above}");
        }
        assert!(parse_duration("18446744073709551616s").unwrap_err().contains("too large"));
    }

    proptest! {
        #[test]
        fn never_panics(text in "([0-9 .]{0,3}|18446744073709551615|307445734561825860|999999999|\
                                 1000000000|[a-zµé -]|ns|us|s|m){0,12}") {
            let _ = parse_duration(&text);
        }

        /// If the sum does not overflow, the result is what `humantime` makes of the whole text.
        #[test]
        fn is_as_of_the_whole(text in "([0-9]{1,4}(\\.[0-9])? ?(ns|us|ms|s|m|h|days)[ ]?){1,5}") {
            let whole = humantime::parse_duration(&text).map_err(|error| error.to_string());
            prop_assert_eq!(parse_duration(&text).ok(), whole.ok());
        }
    }
}
