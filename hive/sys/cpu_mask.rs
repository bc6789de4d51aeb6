//! `CpuMask`: a set of CPUs, by the operating system's numbers; and lists of CPUs as text, such as `0,2,4-7`.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// The highest CPU number that a list may name. Linux supports at most 8,192 CPUs today. The bound makes a mistyped
/// list such as `0-4000000000` an error instead of a set of gigabytes.
pub(crate) const MAX_CPU: usize = 65_535;

/// The most entries that a list may have once its ranges are written out. No sensible list needs more, even with
/// repetitions.
pub(crate) const MAX_LIST_LEN: usize = MAX_CPU + 1;

/// A set of CPUs, by the operating system's numbers. It has no fixed size: more than 1,024 CPUs, or gaps in the
/// numbering, are no problem.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CpuMask(BTreeSet<usize>);

impl CpuMask {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The CPUs in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    #[cfg_attr(
        not(any(target_os = "linux", target_os = "android")),
        expect(dead_code, reason = "other systems do not say what may be used")
    )]
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        Self(&self.0 | &other.0)
    }

    pub(crate) fn difference(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }
}

impl Deref for CpuMask {
    type Target = BTreeSet<usize>;

    fn deref(&self) -> &BTreeSet<usize> {
        &self.0
    }
}

impl FromIterator<usize> for CpuMask {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

/// The list as Linux writes it, such as `0-3,8`. The empty set is the empty string.
impl fmt::Display for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_cpu_list(f, &self.iter().collect::<Vec<_>>())
    }
}

impl FromStr for CpuMask {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(parse_cpu_list(text)?.into_iter().collect())
    }
}

/// Writes CPUs in the order given, with each run of consecutive numbers as a range.
pub(crate) fn write_cpu_list(f: &mut fmt::Formatter<'_>, cpus: &[usize]) -> fmt::Result {
    for (number, run) in cpus.chunk_by(|&cpu, &next| cpu.checked_add(1) == Some(next)).enumerate() {
        let separator = if number == 0 { "" } else { "," };
        write!(f, "{separator}{}", run[0])?;
        if let [_, .., last] = run {
            write!(f, "-{last}")?;
        }
    }
    Ok(())
}

/// Reads a list such as `0,2,4-7`. The CPUs are in the order written, with repetitions. The empty text is the empty
/// list. The error says what is wrong with the text, and what is expected.
pub(crate) fn parse_cpu_list(text: &str) -> Result<Vec<usize>, String> {
    let not_a_list = |problem: String| {
        format!("{text:?} is not a list of CPUs: {problem}; expected numbers and ranges such as \"0,2,4-7\"")
    };
    let mut cpus = Vec::new();
    if text.trim().is_empty() {
        return Ok(cpus);
    }
    for entry in text.split(',') {
        let (first, last) = parse_range(entry).map_err(not_a_list)?;
        if cpus.len() + (last - first) >= MAX_LIST_LEN {
            return Err(not_a_list(format!("it has more than {MAX_LIST_LEN} entries")));
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

/// Reads one number or one range, and returns its first and last CPU.
fn parse_range(entry: &str) -> Result<(usize, usize), String> {
    let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
    let (first, last) = (parse_cpu(first)?, parse_cpu(last)?);
    if first > last {
        return Err(format!("the range {first}-{last} runs backwards"));
    }
    Ok((first, last))
}

/// Reads one number.
fn parse_cpu(text: &str) -> Result<usize, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a number is missing".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{text:?} is not a number"));
    }
    // The text has only digits, so parsing can fail only if the number is too large.
    match text.parse() {
        Ok(cpu) if cpu <= MAX_CPU => Ok(cpu),
        _ => Err(format!("{text} is above the highest CPU number, {MAX_CPU}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mask(text: &str) -> CpuMask {
        text.parse().unwrap()
    }

    #[test]
    fn shows_runs_as_linux_does() {
        assert_eq!(CpuMask::from_iter([8, 0, 1, 3, 2]).to_string(), "0-3,8");
        assert_eq!(CpuMask::from_iter([4, 5]).to_string(), "4-5");
        assert_eq!(CpuMask::new().to_string(), "");
    }

    #[test]
    fn reads_lists_with_blanks_and_repetitions() {
        assert_eq!(mask(" 0-3, 8 ,2 "), CpuMask::from_iter([0, 1, 2, 3, 8]));
        assert_eq!(mask("2000-2001,65535").len(), 3);
        assert_eq!(mask(""), CpuMask::new());
        assert_eq!(parse_cpu_list("4,0,2-3,0").unwrap(), [4, 0, 2, 3, 0]);
    }

    #[test]
    fn says_what_is_wrong_and_what_is_expected() {
        let cases = [
            ("0-4000000000", "4000000000 is above the highest CPU number, 65535"),
            ("99999999999999999999999", "is above the highest CPU number"),
            ("0,,2", "a number is missing"),
            ("3-", "a number is missing"),
            ("-3", "a number is missing"),
            ("7-4", "the range 7-4 runs backwards"),
            ("0,x", "\"x\" is not a number"),
            ("+1", "\"+1\" is not a number"),
            ("0-7:2", "\"7:2\" is not a number"),
            ("1-2-3", "\"2-3\" is not a number"),
            ("0-65535,0", "more than 65536 entries"),
        ];
        for (text, problem) in cases {
            let message = text.parse::<CpuMask>().unwrap_err().to_string();
            assert!(message.contains(problem), "{text}: {message}");
            assert!(message.contains(&format!("{text:?}")), "{text}: {message}");
            assert!(message.ends_with("such as \"0,2,4-7\""), "{text}: {message}");
        }
    }

    #[test]
    fn is_a_set() {
        let set = mask("1500,1-3");
        assert_eq!((set.len(), set.last(), set.is_empty()), (4, Some(&1500), false));
        assert!(set.contains(&1500) && !set.contains(&0));
        assert_eq!(set.intersection(&mask("2-9")), mask("2-3"));
        assert_eq!(set.union(&mask("4")), mask("1-4,1500"));
        assert_eq!(set.difference(&mask("2,1500")), mask("1,3"));
    }

    proptest! {
        #[test]
        fn reads_what_it_shows(cpus in proptest::collection::btree_set(0_usize..=MAX_CPU, 0..200)) {
            let set = CpuMask::from_iter(cpus);
            prop_assert_eq!(set.to_string().parse::<CpuMask>().unwrap(), set);
        }

        #[test]
        fn never_panics(text in "[0-9,x -]{0,40}") {
            let _ = text.parse::<CpuMask>();
        }
    }
}
