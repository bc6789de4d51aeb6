//! Which of a list's places each bee gets, by the thread affinity policies of OpenMP: the public type [`ProcBind`], and
//! [`PlaceOrder`], the resulting order. `place_policy.rs` calls [`PlaceOrder::new`]. The policies are described in
//! `docs/places.md`.

use std::fmt;
use std::str::FromStr;

use crate::sys::parse_error::{ParseError, ParseErrorKind, parse_word, word_of};

/// How bees are bound to a list of places, in OpenMP's words; in the environment `HIVE_PROC_BIND`.
///
/// A policy places as many bees as the hive is built with. The hive's threads stay where they are when it shrinks, or
/// when a region has fewer bees, which are then the first ones. Bees by which the hive grows go to places that are
/// still empty, and after those to all places in rotation. The first place of the list is the primary one.
///
/// ```
/// # use hive::ProcBind;
/// assert_eq!("spread".parse(), Ok(ProcBind::Spread));
/// assert_eq!(ProcBind::Spread.to_string(), "spread");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias("OMP_PROC_BIND", "affinity"))]
pub enum ProcBind {
    /// `false`: bees are not bound.
    False,
    /// `true`: bees are bound in hive's own order. Listed places are given out in the order of the list, and places
    /// that are named by a word in the order that [`Shrink`](crate::topology::shrink::Shrink) says, with second
    /// hardware threads last.
    True,
    /// `primary`, which OpenMP formerly called `master`: all bees are in the first place.
    Primary,
    /// `close`: each bee is in the place after that of the bee before it. If there are more bees than places, each
    /// place has several bees that follow one another, and if the numbers do not divide evenly, the first places have
    /// one more.
    Close,
    /// `spread`: the list is cut into as many parts of consecutive places as there are bees, and each bee is in the
    /// first place of its part. If the numbers do not divide evenly, the first parts have one place more. If there are
    /// more bees than places, this is the same as `close`.
    Spread,
}

impl ProcBind {
    /// The words for the policies, in the environment and in reports. Of two for the same policy, the first is shown.
    const WORDS: [(Self, &str); 6] = [
        (Self::False, "false"),
        (Self::True, "true"),
        (Self::Primary, "primary"),
        (Self::Primary, "master"),
        (Self::Close, "close"),
        (Self::Spread, "spread"),
    ];

    /// Whether the policy itself decides which bee gets which place, so that hive's own order has no effect.
    pub(crate) fn assigns_places(self) -> bool {
        matches!(self, Self::Primary | Self::Close | Self::Spread)
    }
}

/// Writes the word that [`FromStr`] reads.
impl fmt::Display for ProcBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word_of(&Self::WORDS, self))
    }
}

/// Reads `false`, `true`, `primary` (or `master`), `close` or `spread`. OpenMP's lists of policies, one for each level
/// of nesting, are an error, because a hive has one level.
impl FromStr for ProcBind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let problem = "is not a policy to bind bees by; expected one of false, true, primary, close and spread (a hive \
                       has one level of bees)";
        parse_word(&Self::WORDS, text, ParseErrorKind::ProcBind, problem)
    }
}

/// Which place each bee has, as indices into a list of places.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlaceOrder {
    /// The places of the first bees: bee `i` has the place at position `i`.
    pub(crate) initial: Vec<usize>,
    /// The places of the bees after those, over and over again. Empty if these bees have none.
    pub(crate) repeated: Vec<usize>,
}

impl PlaceOrder {
    /// The order for a hive that is built with `bees` bees on `places` places, at least one. `default_order` is
    /// hive's own order, which only the policy `true` uses.
    pub(crate) fn new(bind: ProcBind, bees: usize, places: usize, default_order: Vec<usize>) -> Self {
        let in_list_order = (0..places).collect();
        match bind {
            ProcBind::False => Self::default(),
            ProcBind::True => Self::repeating(default_order),
            ProcBind::Primary => Self { initial: vec![0; bees], repeated: vec![0] },
            ProcBind::Close if bees <= places => Self::repeating(in_list_order),
            ProcBind::Spread if bees <= places => Self { initial: spread_order(bees, places), repeated: in_list_order },
            ProcBind::Close | ProcBind::Spread => Self { initial: packed_order(bees, places), repeated: in_list_order },
        }
    }

    /// The bees get the places in `order`, and the bees after its end start again at its beginning.
    pub(crate) fn repeating(order: Vec<usize>) -> Self {
        Self { repeated: order.clone(), initial: order }
    }

    /// The index of a bee's place; `None` if the bee is not bound.
    pub(crate) fn place_of(&self, bee: usize) -> Option<usize> {
        let Some(excess) = bee.checked_sub(self.initial.len()) else { return Some(self.initial[bee]) };
        Some(self.repeated[excess.checked_rem(self.repeated.len())?])
    }
}

/// The order of `spread`: the first place of each bee's part, then the second place of each part for bees by which the
/// hive grows, and so on.
fn spread_order(bees: usize, places: usize) -> Vec<usize> {
    // Each place with its position in its part.
    let mut order: Vec<_> = even_parts(places, bees).flat_map(|len| 0..len).zip(0..places).collect();
    // A stable sort: places of the same position stay in the order of their parts.
    order.sort_by_key(|(position, _)| *position);
    order.into_iter().map(|(_, place)| place).collect()
}

/// The order of `close` and `spread` for more bees than places: each place has several bees that follow one another.
fn packed_order(bees: usize, places: usize) -> Vec<usize> {
    even_parts(bees, places).enumerate().flat_map(|(place, share)| std::iter::repeat_n(place, share)).collect()
}

/// Divides `total` into `parts` numbers that differ by at most one, the larger ones first.
fn even_parts(total: usize, parts: usize) -> impl Iterator<Item = usize> {
    (0..parts).map(move |nth| total / parts + usize::from(nth < total % parts))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The places of the first `bees` bees.
    fn first_places(bind: ProcBind, bees: usize, places: usize) -> Vec<usize> {
        let turns = PlaceOrder::new(bind, bees, places, Vec::new());
        (0..bees).map(|bee| turns.place_of(bee).unwrap()).collect()
    }

    #[test]
    fn words_are_read_and_shown() {
        for (bind, _) in ProcBind::WORDS {
            assert_eq!(bind.to_string().parse(), Ok(bind));
            assert_eq!(format!(" {} ", bind.to_string().to_uppercase()).parse(), Ok(bind));
        }
        assert_eq!("master".parse(), Ok(ProcBind::Primary));
        for text in ["spread,close", "", "yes"] {
            let message = text.parse::<ProcBind>().unwrap_err().to_string();
            assert!(
                message.contains(&format!("{text:?}")) && message.contains("one of false, true, primary"),
                "{message}"
            );
        }
    }

    #[test]
    fn few_bees_on_many_places() {
        assert_eq!(first_places(ProcBind::Primary, 3, 8), [0, 0, 0]);
        assert_eq!(first_places(ProcBind::Close, 3, 8), [0, 1, 2]);
        assert_eq!(first_places(ProcBind::Spread, 2, 8), [0, 4]);
        assert_eq!(first_places(ProcBind::Spread, 3, 8), [0, 3, 6]);
        assert_eq!(first_places(ProcBind::Spread, 8, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn more_bees_than_places() {
        for bind in [ProcBind::Close, ProcBind::Spread] {
            assert_eq!(first_places(bind, 6, 3), [0, 0, 1, 1, 2, 2]);
            assert_eq!(first_places(bind, 8, 3), [0, 0, 0, 1, 1, 1, 2, 2]);
        }
        assert_eq!(first_places(ProcBind::Primary, 4, 3), [0; 4]);
    }

    #[test]
    fn bees_that_come_later_go_to_empty_places_first() {
        let later = |bind, bees, places| {
            let turns = PlaceOrder::new(bind, bees, places, Vec::new());
            (bees..bees + 6).map(|bee| turns.place_of(bee).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(later(ProcBind::Close, 2, 4), [2, 3, 0, 1, 2, 3]);
        assert_eq!(later(ProcBind::Spread, 2, 4), [1, 3, 0, 1, 2, 3]);
        assert_eq!(later(ProcBind::Close, 5, 2), [0, 1, 0, 1, 0, 1]);
        assert_eq!(later(ProcBind::Primary, 2, 4), [0; 6]);
    }

    proptest! {
        /// What OpenMP requires of both policies, for any numbers of bees and places.
        #[test]
        fn policies_are_those_of_openmp(bees in 1..200_usize, places in 1..100_usize) {
            for bind in [ProcBind::Close, ProcBind::Spread] {
                let found = first_places(bind, bees, places);
                prop_assert_eq!(found[0], 0);
                prop_assert!(found.is_sorted());
                let on = |place| found.iter().filter(|&&of| of == place).count();
                let least = bees / places;
                prop_assert!((0..places).all(|place| (least..=bees.div_ceil(places)).contains(&on(place))));
            }
            if bees <= places {
                let ends = first_places(ProcBind::Spread, bees, places).into_iter().chain([places]).collect::<Vec<_>>();
                let parts = ends.windows(2).map(|ends| ends[1] - ends[0]);
                prop_assert!(parts.into_iter().all(|len| (places / bees..=places.div_ceil(bees)).contains(&len)));
            }
        }
    }
}
