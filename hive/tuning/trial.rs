//! Measures shapes: threads at the bees' places are the bees of one team after the other, whose queen runs regions with a barrier in them.

use std::thread;
use std::time::{Duration, Instant};

use crate::protocol::Team;
use crate::protocol::neighbours::{Location, Neighbours};
use crate::protocol::region::body::RegionBody;
use crate::protocol::region::line_choice::LineChoice;
use crate::protocol::region::region_context::RegionContext;
use crate::protocol::region::shape::{BarrierShape, Shape};
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task_context::TaskContext;
use crate::protocol::worker::main_loop::Worker;
use crate::sys::cpu_mask::CpuMask;
use crate::sys::signal_mask;
use crate::sys::thread_limits::ThreadReservation;
use crate::sys::wait::WaitPolicy;
use crate::topology::pinning;
use crate::topology::place_assignment::Place;
use crate::tuning::barrier_choice::ShapeTimes;

/// What a measurement may take where a hive waits for it, and how long its bees poll.
const TIME_LIMIT: Duration = Duration::from_millis(20);

/// Regions that are timed as one. The least time of a batch counts, as in a rehearsal.
const REGIONS_PER_BATCH: u32 = 8;

/// With fewer batches of a shape nothing is said.
const MIN_BATCHES: usize = 3;

/// More are not needed.
const MAX_BATCHES: usize = 100;

/// The same as `times`, within 20 ms.
pub(crate) fn measure_briefly(
    shapes: &[BarrierShape],
    places: &[&Place],
    addresses: &[Location],
) -> Option<ShapeTimes> {
    measure(shapes, places, addresses, TIME_LIMIT)
}

/// The least time of a region with a barrier in each of `shapes`, for bees at `places`, which have these addresses. None: `limit`, which is for all of them together, was too short,
/// or not all could be bound.
fn measure(shapes: &[BarrierShape], places: &[&Place], addresses: &[Location], limit: Duration) -> Option<ShapeTimes> {
    let _reservation = ThreadReservation::reserve(places.len() as u64, None).ok()?;
    let start = Instant::now();
    let cpus: CpuMask = places.iter().flat_map(|place| place.cpus()).copied().collect();
    let teams: Vec<Team> = shapes.iter().map(|&shape| new_team(shape, addresses, cpus.len())).collect();
    thread::scope(|scope| {
        // Bees without a queen end here.
        let _terminate = TerminateTeams(&teams);
        for (worker, place) in (0..).zip(places).skip(1) {
            let teams = &teams;
            let run = || thread::Builder::new().spawn_scoped(scope, move || run_worker(teams, worker, place));
            signal_mask::with_signals_blocked(run).0.ok()?;
        }
        let _bound = pinning::bind(places[0]).ok()?;
        let with_ordinals = shapes.iter().zip(&teams).zip(1..);
        with_ordinals
            .map(|((&shape, team), ordinal)| {
                Some((shape, least_time(team, start + limit * ordinal / shapes.len() as u32)?))
            })
            .collect()
    })
}

fn new_team(shape: BarrierShape, addresses: &[Location], cpus: usize) -> Team {
    let bees = addresses.len() as u32;
    let policy = WaitPolicy::new(TIME_LIMIT, None, cpus, CpuMask::new());
    let shape = Shape::new(shape, addresses, bees);
    let team = Team::new(bees, policy, LineChoice::new(1), Sleep::jec(), Neighbours::new(addresses), shape);
    // Their threads come afterwards, and find themselves called.
    team.grow_to(bees, |_, _| Ok::<(), std::convert::Infallible>(())).unwrap_or_else(|never| match never {});
    team
}

/// The life of a bee in all teams. One that cannot be bound lives as well: the others wait for it.
fn run_worker(teams: &[Team], worker: u32, place: &Place) {
    let _bound = pinning::bind(place);
    teams.iter().for_each(|team| run_worker_in(team, worker));
}

fn run_worker_in(team: &Team, worker: u32) {
    let _on_core = team.policy().count_on_core();
    Worker::new(&TaskContext::new(team, worker), 0).run();
}

/// The queen's side.
fn least_time(team: &Team, deadline: Instant) -> Option<Duration> {
    let mut leadership = team.acquire_leadership();
    let mut batch = || {
        let start = Instant::now();
        (0..REGIONS_PER_BATCH).for_each(|_| team.run_region(&mut leadership, team.bees(), &mut BarrierOnly));
        start.elapsed() / REGIONS_PER_BATCH
    };
    // In the first all come from elsewhere.
    batch();
    let times: Vec<_> = (0..MAX_BATCHES).take_while(|_| Instant::now() < deadline).map(|_| batch()).collect();
    // The bees go on to the next.
    team.terminate_all();
    times.iter().min().copied().filter(|_| times.len() >= MIN_BATCHES)
}

/// A region's part.
struct BarrierOnly;

impl RegionBody for BarrierOnly {
    fn run(&self, context: &RegionContext<'_>) {
        context.barrier();
    }
}

/// The end of all teams.
struct TerminateTeams<'c>(&'c [Team]);

impl Drop for TerminateTeams<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(Team::terminate_all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology;
    use crate::topology::pin_policy::Pin;
    use crate::topology::place_assignment::PlaceAssignment;
    use crate::topology::shrink::Shrink;

    /// Four bees on what CPUs there are, as if on two nodes of two clusters.
    #[test]
    fn each_shape_is_measured_and_the_mask_is_as_before() {
        let before = pinning::current_mask().unwrap();
        let (machine, _) = topology::read_machine(Some(&before));
        let places = PlaceAssignment::new(&machine, &Pin::Core, Shrink::Compact, &CpuMask::new()).unwrap();
        let places: Vec<&Place> = (0..4).map(|bee| places.place_of(bee).unwrap()).collect();
        let addresses: Vec<Location> = (0..4).map(|bee| [None, Some(bee), Some(bee / 2)]).collect();
        let shapes = [BarrierShape::Flat, BarrierShape::Node];
        // Time enough also where they have to leave a CPU to one another.
        let times = measure(&shapes, &places, &addresses, Duration::from_secs(60)).unwrap();
        assert_eq!(times.iter().map(|&(shape, _)| shape).collect::<Vec<_>>(), shapes);
        assert!(times.iter().all(|&(_, time)| time > Duration::ZERO));
        assert_eq!(pinning::current_mask().unwrap(), before);
    }

    #[test]
    fn workers_end_whose_queen_has_no_time() {
        let teams = [new_team(BarrierShape::Flat, &[[None; 3]; 3], 3)];
        thread::scope(|scope| {
            let _terminate = TerminateTeams(&teams);
            for worker in 1..3 {
                let team = &teams[0];
                scope.spawn(move || run_worker_in(team, worker));
            }
            assert_eq!(least_time(&teams[0], Instant::now()), None);
        });
    }
}
