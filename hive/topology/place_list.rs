//! A list of places in the grammar of OpenMP's `OMP_PLACES`: the public type [`PlaceList`], and its text form.
//! `place_list/parser.rs` reads the text, and `place_policy.rs` makes places of the list. The grammar is described in
//! `docs/places.md`.

pub(crate) mod parser;

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

use crate::sys::parse_error::ParseError;
use crate::topology::machine::PlaceUnit;

/// Places for a hive's bees by the grammar of OpenMP's `OMP_PLACES`; in the environment `HIVE_PLACES`.
///
/// The grammar and its meaning are described in [`guides::places`](crate::guides::places). CPUs that the process may
/// not use are left out of their places, and places without other CPUs are left out of the list, with a warning in
/// [`Hive::report`](crate::pool::handle::Hive::report). hive does not read `OMP_PLACES` itself; a program that wants it
/// to count can pass it on:
///
/// ```
/// use hive::{Hive, PlaceList, PlaceUnit};
///
/// let places: PlaceList = std::env::var("OMP_PLACES").as_deref().unwrap_or("cores").parse()?;
/// let hive = Hive::builder().bees(2).places(places).build()?;
/// # drop(hive);
/// assert_eq!(
///     "sockets(2)".parse(),
///     Ok(PlaceList::Named { each: PlaceUnit::Sockets, count: std::num::NonZero::new(2) })
/// );
/// assert_eq!("{0:2}:2:4, {9}".parse(), Ok(PlaceList::Listed(vec![vec![0, 1], vec![4, 5], vec![9]])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias("OMP_PLACES", "affinity"))]
pub enum PlaceList {
    /// A word such as `cores`, or `cores(4)`: each such unit that the process may use is a place, or only the first so
    /// many of them.
    Named {
        /// What each place is.
        each: PlaceUnit,
        /// How many places there are at most; `None` means one for each unit.
        count: Option<NonZero<usize>>,
    },
    /// A list such as `{0:4},{8:4}`: for each place the operating system's numbers of its CPUs. The order of the places
    /// counts.
    Listed(Vec<Vec<usize>>),
}

/// Writes a text in a short form such as `{0:4}:8:4`. [`FromStr`] reads it as the same list if that has a place, and
/// each place has its CPUs in ascending order, each once, and at least one.
impl fmt::Display for PlaceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named { each, count: None } => each.fmt(f),
            Self::Named { each, count: Some(count) } => write!(f, "{each}({count})"),
            Self::Listed(places) => write_places(f, places),
        }
    }
}

/// Reads one of the words `threads`, `cores`, `ll_caches`, `numa_domains` and `sockets`, with or without a number in
/// parentheses, or a list of places.
impl FromStr for PlaceList {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parser::parse(text)
    }
}

/// Writes a list of places, separated by commas. Three or more places in a row, each of which is the one before with
/// the same number added to every CPU, become one entry with a length and a stride, which may be 0 or negative.
fn write_places(f: &mut fmt::Formatter<'_>, mut places: &[Vec<usize>]) -> fmt::Result {
    let mut separator = "";
    while let [first, ..] = places {
        let stride = places.get(1).and_then(|second| stride_between(first, second));
        // How many places, from the first one on, are each `stride` above the one before.
        let run_len = places
            .windows(2)
            .take_while(|pair| stride.is_some() && stride_between(&pair[0], &pair[1]) == stride)
            .count()
            + 1;
        f.write_str(separator)?;
        write_place(f, first)?;
        let written = match stride {
            Some(stride) if run_len > 2 => write!(f, ":{run_len}:{stride}").map(|()| run_len)?,
            _ => 1,
        };
        places = &places[written..];
        separator = ",";
    }
    Ok(())
}

/// The stride between two places: the number by which each CPU of the second place is above the CPU at the same
/// position of the first one. `None` if the places have different lengths, or if this number is not the same for all
/// CPUs.
fn stride_between(first: &[usize], second: &[usize]) -> Option<isize> {
    let difference = |(&a, &b): (&usize, &usize)| isize::try_from(b as i128 - a as i128).ok();
    let stride = difference((first.first()?, second.first()?))?;
    let is_regular =
        first.len() == second.len() && first.iter().zip(second).all(|pair| difference(pair) == Some(stride));
    is_regular.then_some(stride)
}

/// Writes one place. Each run of consecutive numbers is written as its first number and its length.
fn write_place(f: &mut fmt::Formatter<'_>, cpus: &[usize]) -> fmt::Result {
    f.write_str("{")?;
    for (nth, run) in cpus.chunk_by(|&cpu, &next| cpu.checked_add(1) == Some(next)).enumerate() {
        let separator = if nth == 0 { "" } else { "," };
        write!(f, "{separator}{}", run[0])?;
        if run.len() > 1 {
            write!(f, ":{}", run.len())?;
        }
    }
    f.write_str("}")
}

#[cfg(test)]
pub(crate) mod tests;
