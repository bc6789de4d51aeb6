//! What the bees of a hive are pinned to, as the program or the environment says it: the public type [`Pin`] and its
//! text form.
//!
//! `binding_request.rs` decides whether a [`Pin`] is in effect, and `place_policy.rs` makes places of it.

use std::fmt;
use std::str::FromStr;

use crate::sys::cpu_mask::{parse_cpu_list, write_cpu_list};
use crate::sys::parse_error::{ParseError, ParseErrorKind, find_word, word_of};

/// Where the bees of a hive may run; in the environment `HIVE_PIN`.
///
/// As long as there are no more bees than physical cores, no two bees get the same core; second hardware threads come
/// last. In the default order, [`Shrink::Compact`](crate::topology::shrink::Shrink::Compact), bees fill a unit before
/// they go on to the next one.
///
/// ```
/// # use hive::Pin;
/// assert_eq!("core".parse(), Ok(Pin::Core));
/// assert_eq!("0,2,4-7".parse(), Ok(Pin::Cpus(vec![0, 2, 4, 5, 6, 7])));
/// assert_eq!(Pin::Cpus(vec![0, 2, 4, 5, 6, 7]).to_string(), "0,2,4-7");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias("affinity", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"))]
pub enum Pin {
    /// `none`: bees run anywhere that the process may run, and the operating system decides where.
    None,
    /// `core`: each bee has one CPU. The first hardware threads of all cores come before any second one. If there are
    /// more bees than CPUs, the bees after the last CPU start again at the first. CPUs that another hive of the process
    /// is pinned to are left out.
    Core,
    /// `cluster`: each bee is on the CPUs that share one last-level cache.
    Cluster,
    /// `node`: each bee is on the CPUs of one NUMA node.
    Node,
    /// `package`: each bee is on the CPUs of one package (socket).
    Package,
    /// A list such as `0,2,4-7`: bee `i` is on the CPU at position `i` of the list, and bees after the end of the list
    /// start again at its beginning. The numbers are the operating system's, and their order counts.
    Cpus(Vec<usize>),
}

impl Pin {
    /// The words, in the environment and in reports. A list of CPUs has none.
    const WORDS: [(Self, &str); 5] = [
        (Self::None, "none"),
        (Self::Core, "core"),
        (Self::Cluster, "cluster"),
        (Self::Node, "node"),
        (Self::Package, "package"),
    ];
}

/// Writes the text that [`FromStr`] reads.
impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pin::Cpus(cpus) => write_cpu_list(f, cpus),
            other => f.write_str(word_of(&Self::WORDS, other)),
        }
    }
}

/// Reads `none`, `core`, `cluster`, `node`, `package` or a list of CPUs such as `0,2,4-7`.
impl FromStr for Pin {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let trimmed = text.trim();
        if let Some(pin) = find_word(&Self::WORDS, trimmed) {
            return Ok(pin);
        }
        let problem = match parse_cpu_list(trimmed) {
            Ok(cpus) if !cpus.is_empty() => return Ok(Pin::Cpus(cpus)),
            Ok(_) => "it is empty".to_owned(),
            // A text that begins with a digit was meant to be a list, so the error says what is wrong with the list.
            Err(error) if trimmed.starts_with(|first: char| first.is_ascii_digit()) => error,
            Err(_) => format!("{text:?} is neither a word for a place nor a list of CPUs"),
        };
        let expected = "none, core, cluster, node, package or a list of CPUs such as \"0,2,4-7\"";
        let message = format!("not a place to pin to: {problem}; expected {expected}");
        Err(ParseError::new(ParseErrorKind::Pin, message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_read_and_shown() {
        for pin in [Pin::None, Pin::Core, Pin::Cluster, Pin::Node, Pin::Package] {
            assert_eq!(pin.to_string().parse(), Ok(pin.clone()));
            assert_eq!(format!(" {} ", pin.to_string().to_uppercase()).parse(), Ok(pin));
        }
    }

    #[test]
    fn lists_keep_their_order_and_repetitions() {
        assert_eq!("4,0-2,0".parse(), Ok(Pin::Cpus(vec![4, 0, 1, 2, 0])));
        assert_eq!(Pin::Cpus(vec![4, 0, 1, 2, 0]).to_string(), "4,0-2,0");
    }

    #[test]
    fn errors_say_what_is_expected() {
        let cases = [
            ("", "it is empty"),
            ("  ", "it is empty"),
            ("socket", "\"socket\" is neither a word for a place nor a list of CPUs"),
            ("0-4000000000", "4000000000 is above the highest CPU number"),
            ("3-1", "the range 3-1 runs backwards"),
        ];
        for (text, problem) in cases {
            let message = text.parse::<Pin>().unwrap_err().to_string();
            assert!(message.contains(problem), "{text:?}: {message}");
            assert!(message.contains("expected none, core, cluster"), "{text:?}: {message}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_it_shows(cpus in proptest::collection::vec(0_usize..2000, 1..50)) {
            let pin = Pin::Cpus(cpus);
            prop_assert_eq!(pin.to_string().parse(), Ok(pin));
        }
    }
}
