//! The shortest round trip through some cities, by branch and bound. How much of the search is left out depends on how
//! soon a short tour is found, and so on the order in which two threads happen to run the tasks: for one map the one
//! order is the better one, for another the other. So several maps are searched one after another.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::Scope;

use super::{Case, Iteration, checked};
use crate::numbers::Numbers;

const CITIES: usize = 11;
const MAPS: u64 = 8;
/// So many cities of a tour are chosen by tasks of their own, and the rest by the task that has come so far.
const TASKS_TO: usize = 4;

pub(super) fn case() -> Case {
    super::case("tsp", "the shortest round trip on 8 maps of 11 cities, by branch and bound: one scope a map", prepare)
}

/// The ways between the cities, and the shortest tour so far.
struct Search {
    way: Ways,
    /// The shortest way out of each city: no tour leaves it on a shorter one.
    least: [u64; CITIES],
    shortest: AtomicU64,
}

/// A beginning of a tour.
#[derive(Clone, Copy)]
struct Tour {
    cities: usize,
    visited: u32,
    last: usize,
    length: u64,
    /// What the rest of the tour takes at least.
    rest: u64,
}

/// The ways between the cities of one map.
type Ways = [[u64; CITIES]; CITIES];

fn prepare() -> Iteration {
    let maps: Vec<Ways> = (0..MAPS).map(ways).collect();
    checked(maps.iter().map(by_subsets).sum::<u64>(), move || maps.iter().map(shortest_tour).sum())
}

/// Map number `map`.
fn ways(map: u64) -> Ways {
    let mut numbers = Numbers(11 + map);
    let places: Vec<[f64; 2]> = (0..CITIES).map(|_| [numbers.fraction(), numbers.fraction()]).collect();
    let between = |a: usize, b: usize| {
        let [x, y] = [0, 1].map(|i| places[a][i] - places[b][i]);
        (1e6 * x.hypot(y)) as u64
    };
    std::array::from_fn(|a| std::array::from_fn(|b| between(a, b)))
}

fn shortest_tour(way: &Ways) -> u64 {
    let least = std::array::from_fn(|a| (0..CITIES).filter(|&b| b != a).map(|b| way[a][b]).min().expect("cities"));
    let search = Search { way: *way, least, shortest: AtomicU64::new(u64::MAX) };
    let start = Tour { cities: 1, visited: 1, last: 0, length: 0, rest: least.iter().sum() };
    rayon::scope(|scope| search.extend(scope, start));
    search.shortest.into_inner()
}

impl Search {
    /// Goes from the last city to each that is left, as far as the tour can still be the shortest.
    fn extend<'a>(&'a self, scope: &Scope<'a>, tour: Tour) {
        if tour.cities == CITIES {
            // Both accesses are Relaxed: a bound that is out of date only makes the search longer, and the end of the
            // scope makes the last one visible.
            self.shortest.fetch_min(tour.length + self.way[tour.last][0], Ordering::Relaxed);
            return;
        }
        for next in (0..CITIES).filter(|next| tour.visited & (1 << next) == 0) {
            let longer = Tour {
                cities: tour.cities + 1,
                visited: tour.visited | (1 << next),
                last: next,
                length: tour.length + self.way[tour.last][next],
                rest: tour.rest - self.least[tour.last],
            };
            // The partner is the `fetch_min` above.
            if longer.length + longer.rest >= self.shortest.load(Ordering::Relaxed) {
                continue;
            }
            if longer.cities <= TASKS_TO {
                scope.spawn(move |scope| self.extend(scope, longer));
            } else {
                self.extend(scope, longer);
            }
        }
    }
}

/// The length of the shortest tour in another way, by Held and Karp: for each set of cities and each last one of them
/// the shortest way from city 0 through the set.
fn by_subsets(way: &Ways) -> u64 {
    let mut shortest = vec![[u64::MAX; CITIES]; 1 << CITIES];
    shortest[1][0] = 0;
    for set in (1..1_usize << CITIES).step_by(2) {
        for last in 0..CITIES {
            let so_far = shortest[set][last];
            for next in (0..CITIES).filter(|next| set & (1 << next) == 0) {
                let length = so_far.saturating_add(way[last][next]);
                let known = &mut shortest[set | (1 << next)][next];
                *known = length.min(*known);
            }
        }
    }
    (1..CITIES).map(|last| shortest[(1 << CITIES) - 1][last] + way[last][0]).min().expect("several cities")
}
