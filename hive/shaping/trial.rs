//! Measures shapes: threads at the members' places are the bees of one crew after the other, whose queen runs regions with a barrier in them.

use std::thread;
use std::time::{Duration, Instant};

use super::Times;
use crate::crew::{Address, BarrierShape, Crew, Hand, Life, Member, Neighbours, Part, Shape, Sleep, Stage};
use crate::pin;
use crate::room::Room;
use crate::signal_mask;
use crate::topology::{CpuMask, Place};
use crate::wait::WaitPolicy;

/// What a measurement may take where a hive waits for it, and how long its bees poll.
const LONGEST: Duration = Duration::from_millis(20);

/// Regions that are timed as one. The least time of a batch counts, as in a rehearsal.
const BATCH: u32 = 8;

/// With fewer batches of a shape nothing is said.
const FEWEST: usize = 3;

/// More are not needed.
const MOST: usize = 100;

/// The same as `times`, within 20 ms.
pub(super) fn times_soon(shapes: &[BarrierShape], places: &[&Place], addresses: &[Address]) -> Option<Times> {
    times(shapes, places, addresses, LONGEST)
}

/// The least time of a region with a barrier in each of `shapes`, for members at `places`, which have these addresses. None: `limit`, which is for all of them together, was too short,
/// or not all could be bound.
fn times(shapes: &[BarrierShape], places: &[&Place], addresses: &[Address], limit: Duration) -> Option<Times> {
    let _room = Room::take(places.len() as u64, None).ok()?;
    let start = Instant::now();
    let cpus: CpuMask = places.iter().flat_map(|place| place.cpus()).copied().collect();
    let crews: Vec<Crew> = shapes.iter().map(|&shape| crew(shape, addresses, cpus.len())).collect();
    thread::scope(|scope| {
        // Bees without a queen end here.
        let _end = Dismissal(&crews);
        for (member, place) in (0..).zip(places).skip(1) {
            let crews = &crews;
            let live = || thread::Builder::new().spawn_scoped(scope, move || live(crews, member, place));
            signal_mask::with_signals_blocked(live).0.ok()?;
        }
        let _bound = pin::bind(places[0]).ok()?;
        let turns = shapes.iter().zip(&crews).zip(1..);
        turns.map(|((&shape, crew), turn)| Some((shape, least(crew, start + limit * turn / shapes.len() as u32)?))).collect()
    })
}

fn crew(shape: BarrierShape, addresses: &[Address], cpus: usize) -> Crew {
    let members = addresses.len() as u32;
    let policy = WaitPolicy::new(LONGEST, None, cpus, CpuMask::new());
    let shape = Shape::new(shape, addresses, members);
    let crew = Crew::new(members, policy, Stage::new(1), Sleep::jec(), Neighbours::new(addresses), shape);
    // Their threads come afterwards, and find themselves called.
    crew.grow_to(members, |_, _| Ok::<(), std::convert::Infallible>(())).unwrap_or_else(|never| match never {});
    crew
}

/// The life of a bee in all crews. One that cannot be bound lives as well: the others wait for it.
fn live(crews: &[Crew], member: u32, place: &Place) {
    let _bound = pin::bind(place);
    crews.iter().for_each(|crew| live_in(crew, member));
}

fn live_in(crew: &Crew, member: u32) {
    let _counted = crew.policy().on_core();
    Life::new(&Hand::new(crew, member), 0).live();
}

/// The queen's side.
fn least(crew: &Crew, deadline: Instant) -> Option<Duration> {
    let mut turn = crew.take_turn();
    let mut batch = || {
        let start = Instant::now();
        (0..BATCH).for_each(|_| crew.region(&mut turn, crew.bees(), &mut Meeting));
        start.elapsed() / BATCH
    };
    // In the first all come from elsewhere.
    batch();
    let timed: Vec<_> = (0..MOST).take_while(|_| Instant::now() < deadline).map(|_| batch()).collect();
    // The bees go on to the next.
    crew.dismiss_all();
    timed.iter().min().copied().filter(|_| timed.len() >= FEWEST)
}

/// A region's part.
struct Meeting;

impl Part for Meeting {
    fn run(&self, member: &Member<'_>) {
        member.barrier();
    }
}

/// The end of all crews.
struct Dismissal<'c>(&'c [Crew]);

impl Drop for Dismissal<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(Crew::dismiss_all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::topology::{self, Pin, Places, Shrink};

    /// Four members on what CPUs there are, as if on two nodes of two clusters.
    #[test]
    fn each_shape_is_measured_and_the_mask_is_as_before() {
        let before = pin::current_mask().unwrap();
        let (machine, _) = topology::read(Some(&before));
        let places = Places::new(&machine, &Pin::Core, Shrink::Compact, &CpuMask::new()).unwrap();
        let places: Vec<&Place> = (0..4).map(|member| places.of(member).unwrap()).collect();
        let addresses: Vec<Address> = (0..4).map(|member| [None, Some(member), Some(member / 2)]).collect();
        let shapes = [BarrierShape::Flat, BarrierShape::Node];
        // Time enough also where they have to leave a CPU to one another.
        let times = times(&shapes, &places, &addresses, Duration::from_secs(60)).unwrap();
        assert_eq!(times.iter().map(|&(shape, _)| shape).collect::<Vec<_>>(), shapes);
        assert!(times.iter().all(|&(_, time)| time > Duration::ZERO));
        assert_eq!(pin::current_mask().unwrap(), before);
    }

    #[test]
    fn bees_end_whose_queen_has_no_time() {
        let crews = [crew(BarrierShape::Flat, &[[None; 3]; 3], 3)];
        thread::scope(|scope| {
            let _end = Dismissal(&crews);
            for member in 1..3 {
                let crew = &crews[0];
                scope.spawn(move || live_in(crew, member));
            }
            assert_eq!(least(&crews[0], Instant::now()), None);
        });
    }
}
