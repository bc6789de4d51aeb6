//! Measures barrier shapes, for `barrier_choice.rs`: how long a region with a barrier takes in each shape.
//!
//! For each shape there is a team. Threads that are bound at the bees' places are the workers of one team after the
//! other, and the calling thread is the queen of each: it runs regions that contain one barrier and nothing else. See
//! `docs/shape.md`, "Which shape".

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
use crate::sys::presence;
use crate::sys::signal_mask;
use crate::sys::thread_limits::ThreadReservation;
use crate::sys::wait::WaitPolicy;
use crate::topology::pinning;
use crate::topology::place_assignment::Place;
use crate::tuning::shape_times::ShapeTimes;

/// The time that a measurement may take, since the building of a hive waits for it; also how long its bees poll before
/// they sleep.
const TIME_LIMIT: Duration = Duration::from_millis(20);

/// Regions that are timed together as one batch. The least time of a batch counts, because disturbances only add time.
const REGIONS_PER_BATCH: u32 = 8;

/// If a shape had fewer batches than this within the time limit, its times are not used.
const MIN_BATCHES: usize = 3;

/// After this many batches of a shape, more would add nothing.
const MAX_BATCHES: usize = 100;

/// As `measure`, within 20 ms.
pub(crate) fn measure_briefly(
    shapes: &[BarrierShape],
    places: &[&Place],
    addresses: &[Location],
) -> Option<ShapeTimes> {
    measure(shapes, places, addresses, TIME_LIMIT)
}

/// The least time of a region with a barrier in each of `shapes`, for bees at `places`, whose locations are
/// `addresses`. None: `limit`, which is for all shapes together, was too short; or not all threads could be made, or
/// the calling thread could not be bound.
fn measure(shapes: &[BarrierShape], places: &[&Place], addresses: &[Location], limit: Duration) -> Option<ShapeTimes> {
    let _reservation = ThreadReservation::reserve(places.len() as u64, None).ok()?;
    let start = Instant::now();
    let cpus: CpuMask = places.iter().flat_map(|place| place.cpus()).copied().collect();
    let teams: Vec<Team> = shapes.iter().map(|&shape| new_team(shape, addresses, cpus.len())).collect();
    thread::scope(|scope| {
        // Ends the workers however this scope is left. If it is left early, they would otherwise wait for a queen for
        // ever.
        let _terminate = TerminateTeams(&teams);
        for (worker, place) in (0..).zip(places).skip(1) {
            let teams = &teams;
            let run = || thread::Builder::new().spawn_scoped(scope, move || run_worker(teams, worker, place));
            signal_mask::with_signals_blocked(run).0.ok()?;
        }
        // The calling thread is the queen of all teams, at the place of bee 0.
        let _bound = pinning::bind(places[0]).ok()?;
        // Each shape has an equal share of the time: the deadline of the n-th shape is n shares after the start.
        let with_ordinals = shapes.iter().zip(&teams).zip(1..);
        with_ordinals
            .map(|((&shape, team), ordinal)| {
                Some((shape, least_time(team, start + limit * ordinal / shapes.len() as u32)?))
            })
            .collect()
    })
}

/// A team of bees at these locations whose barriers have this shape.
fn new_team(shape: BarrierShape, addresses: &[Location], cpus: usize) -> Team {
    let bees = addresses.len() as u32;
    let policy = WaitPolicy::new(TIME_LIMIT, None, cpus, CpuMask::new());
    let shape = Shape::new(shape, addresses, bees);
    let team = Team::new(bees, policy, LineChoice::new(1), Sleep::jec(), Neighbours::new(addresses), shape);
    // The workers' slots are made ready before their threads exist. The threads are spawned once for all teams, and
    // find in each team that they belong to it.
    team.grow_to(bees, |_, _| Ok::<(), std::convert::Infallible>(())).unwrap_or_else(|never| match never {});
    team
}

/// What a worker's thread does: it is the worker of one team after the other, until each has been terminated. A thread
/// that cannot be bound takes part too, because the others wait for it.
fn run_worker(teams: &[Team], worker: u32, place: &Place) {
    let _bound = pinning::bind(place);
    teams.iter().for_each(|team| run_worker_in(team, worker));
}

fn run_worker_in(team: &Team, worker: u32) {
    let _on_core = presence::count_on_core();
    Worker::new(&TaskContext::new(team, worker), 0).run();
}

/// The queen's side in one team: the least time of a region, or None if `deadline` came too soon. The team is
/// terminated at the end.
fn least_time(team: &Team, deadline: Instant) -> Option<Duration> {
    let mut queen_guard = team.become_queen();
    let mut batch = || {
        let start = Instant::now();
        (0..REGIONS_PER_BATCH).for_each(|_| team.run_region(&mut queen_guard, team.bees(), &mut BarrierOnly));
        start.elapsed() / REGIONS_PER_BATCH
    };
    // The first batch does not count: in it the workers arrive from the previous team, or from being spawned.
    batch();
    let times: Vec<_> = (0..MAX_BATCHES).take_while(|_| Instant::now() < deadline).map(|_| batch()).collect();
    // This sends the workers on to the next team.
    team.terminate_all();
    times.iter().min().copied().filter(|_| times.len() >= MIN_BATCHES)
}

/// The body of each region that is timed: one barrier.
struct BarrierOnly;

impl RegionBody for BarrierOnly {
    const RUNS_ANYWHERE: bool = false;

    fn run(&self, context: &RegionContext<'_>) {
        context.barrier();
    }
}

/// Terminates all teams when it is dropped.
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

    /// Four bees on the CPUs that there are, with locations as if on two nodes of two clusters each.
    #[test]
    fn each_shape_is_measured_and_the_mask_is_as_before() {
        let before = pinning::current_mask().unwrap();
        let (machine, _) = topology::read_machine(Some(&before));
        let places = PlaceAssignment::new(&machine, &Pin::Core, Shrink::Compact, &CpuMask::new()).unwrap();
        let places: Vec<&Place> = (0..4).map(|bee| places.place_of(bee).unwrap()).collect();
        let addresses: Vec<Location> = (0..4).map(|bee| [None, Some(bee), Some(bee / 2)]).collect();
        let shapes = [BarrierShape::Flat, BarrierShape::Node];
        // The limit leaves time enough even where the bees share a CPU.
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
