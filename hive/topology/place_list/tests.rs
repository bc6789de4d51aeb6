//! Tests of the grammar of places: what each form means, that a list is written as it is read, and what errors say.

use proptest::prelude::*;

use super::*;

/// The places of a text that lists them.
fn listed(text: &str) -> Vec<Vec<usize>> {
    match text.parse() {
        Ok(PlaceList::Listed(places)) => places,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn words_with_and_without_a_number() {
    for (each, _) in PlaceUnit::WORDS {
        assert_eq!(each.to_string().parse(), Ok(PlaceList::Named { each, count: None }));
        let count = NonZero::new(12);
        assert_eq!(
            format!(" {}\t( 12 ) ", each.to_string().to_uppercase()).parse(),
            Ok(PlaceList::Named { each, count })
        );
    }
}

#[test]
fn lists_of_places() {
    assert_eq!(listed("{0:4},{8:4}"), [[0, 1, 2, 3], [8, 9, 10, 11]]);
    assert_eq!(listed("{0,1},{2,3}"), [[0, 1], [2, 3]]);
    assert_eq!(listed("{0:4:2}"), [[0, 2, 4, 6]]);
    assert_eq!(listed("{9:3:-4}"), [[1, 5, 9]]);
    assert_eq!(listed("{0:4}:3:4"), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
    assert_eq!(listed("{4}:3:-2"), [[4], [2], [0]]);
    assert_eq!(listed("{0:2}:2"), [[0, 1], [1, 2]]);
    assert_eq!(listed("7, 3:2, {3,3}"), [[7], [3], [4], [3]]);
    assert_eq!(listed("\t{ 0 : 2 , 8 } : 2 : + 2 , { 5 }\n"), [vec![0, 1, 8], vec![2, 3, 10], vec![5]]);
}

#[test]
fn exclusions() {
    assert_eq!(listed("{0:8,!3,!0}"), [[1, 2, 4, 5, 6, 7]]);
    assert_eq!(listed("{0}:4:1,!{2}"), [[0], [1], [3]]);
    assert_eq!(listed("0:4,!2,2"), [[0], [1], [3], [2]]);
    assert_eq!(listed("{0:2}:3:2,!{3,2}"), [[0, 1], [4, 5]]);
}

#[test]
fn lists_are_written_in_short() {
    for (text, short) in [
        ("{3,2,1,0},{8:4}", "{0:4},{8:4}"),
        ("{0:4},{4:4},{8:4},{99}", "{0:4}:3:4,{99}"),
        ("9,7,5", "{9}:3:-2"),
        ("{0,2:2}", "{0,2:2}"),
        ("1,1,1", "{1}:3:0"),
        ("Cores ( 4 )", "cores(4)"),
    ] {
        assert_eq!(text.parse::<PlaceList>().unwrap().to_string(), short);
    }
}

#[test]
fn mistakes_are_shown_where_they_are() {
    for (text, character, problem) in [
        ("", 1, "expected \"{\" or the number of a CPU; found the end"),
        ("core", 1, "expected threads, cores, ll_caches, numa_domains, sockets or a place such as {0:4}; found 'c'"),
        ("cores(", 7, "expected a number of places; found the end"),
        ("cores(0)", 7, "expected a number of places, at least 1; found 0"),
        ("cores(4", 8, "expected a \")\"; found the end"),
        ("cores(4) x", 10, "expected the end of the list or a \",\"; found 'x'"),
        ("{0:4", 5, "expected \",\", \":\" or \"}\"; found the end"),
        ("{0:4},", 7, "expected \"{\" or the number of a CPU; found the end"),
        ("{}", 2, "expected the number of a CPU; found '}'"),
        ("{0:0}", 4, "expected a number of CPUs, at least 1; found 0"),
        ("{0}:2:x", 7, "expected a stride; found 'x'"),
        ("{0:4}{8:4}", 6, "expected the end of the list or a \",\"; found '{'"),
        ("{0},{ä}", 6, "expected the number of a CPU; found 'ä'"),
        ("{-1}", 2, "expected the number of a CPU; found '-'"),
        ("{65536}", 2, "65536 is above the highest CPU number, 65535"),
        ("{0,99999999999999999999999}", 4, "is above the highest CPU number, 65535"),
        ("{0:4}:2:-4", 6, "the interval leaves the numbers that a CPU can have"),
        ("{65535:2}", 7, "the interval leaves the numbers that a CPU can have"),
        ("{0:60000}:2:1", 1, "the places come to more than 65536 CPUs"),
        ("{0:60000:1,0:60000:1}", 12, "the place comes to more than 65536 CPUs"),
        ("{0},!{1}", 5, "there is no such place before it to be left out"),
        ("!{1}", 1, "there is no such place before it to be left out"),
        ("{0,!1}", 4, "there is no such CPU before it to be left out"),
        ("{1,!1}", 7, "the place has no CPU left"),
        ("{1}, !{1}", 6, "no place is left"),
    ] {
        let message = text.parse::<PlaceList>().unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("{text:?} is not a list of places: at character {character}, ")),
            "{message}"
        );
        assert!(message.contains(problem), "{message}");
    }
}

/// Lists of both kinds, named by a word and listed, each place sorted.
fn lists() -> impl Strategy<Value = PlaceList> {
    let place = proptest::collection::btree_set(0_usize..200, 1..9).prop_map(|cpus| cpus.into_iter().collect());
    let each = proptest::sample::select(PlaceUnit::WORDS.map(|(each, _)| each).to_vec());
    prop_oneof![
        proptest::collection::vec(place, 1..20).prop_map(PlaceList::Listed),
        (each, 0_usize..3000).prop_map(|(each, count)| PlaceList::Named { each, count: NonZero::new(count) }),
    ]
}

proptest! {
    #[test]
    fn reads_what_it_shows(list in lists()) {
        prop_assert_eq!(list.to_string().parse(), Ok(list));
    }

    #[test]
    fn intervals_are_what_they_stand_for(
        first in 100_usize..200,
        len in 1_usize..9,
        stride in -12_isize..12,
        places in 1_usize..9,
        gap in -3_isize..30
    ) {
        let text = format!("{{{first}:{len}:{stride}}}:{places}:{gap}");
        let cpu = |place: usize, nth: usize| first.checked_add_signed(place as isize * gap + nth as isize * stride);
        let expected: Option<Vec<Vec<_>>> =
            (0..places).map(|place| (0..len).map(|nth| cpu(place, nth)).collect()).collect();
        let expected = expected.map(|mut places| {
            places.iter_mut().for_each(|place| { place.sort_unstable(); place.dedup() });
            PlaceList::Listed(places)
        });
        prop_assert_eq!(text.parse().ok(), expected.clone());
        if let Some(list) = expected {
            prop_assert_eq!(list.to_string().parse(), Ok(list));
        }
    }

    #[test]
    fn never_panics(text in "[0-9{}:,! ()+äcores-]{0,30}") {
        let _ = text.parse::<PlaceList>();
    }
}
