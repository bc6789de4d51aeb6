//! Chooses the cache line that a hive's start line lies in.
//!
//! A round trip between two cores may take half as long again over one cache line as over another. So, when a program
//! builds a hive, two threads on the CPUs of the first two bees run empty regions on each of several lines, and the
//! fastest line is used. A global hive that is built because a call needs it at once has the first line: a calibration
//! takes longer than all else that is done before that call begins. The two sides of such a region are
//! `lead_region` and `follow_region` in `protocol/region/line_choice.rs`; this file has the threads, the places and the
//! clock.

use std::thread;
use std::time::{Duration, Instant};

use crate::protocol::region::barrier_word::BaseCount;
use crate::protocol::region::line_choice::{LineChoice, follow_region, lead_region};
use crate::sys::thread_limits::ThreadReservation;
use crate::sys::{back_off, signal_mask};
use crate::topology::pinning;
use crate::topology::place_assignment::Place;
use crate::topology::place_map::PlaceMap;

/// The number of lines to choose from. About every other line is a fifth slower than the best one.
const LINES: usize = 16;

/// The regions that run on a line before its time counts, and the regions that are timed after them.
const WARM_UP: u32 = 8;
const TIMED: u32 = 32;

/// How many times all lines are tried, one after the other. The least time of each line counts.
const PASSES: u32 = 3;

/// A calibration that takes longer than this is given up, because the CPUs have other things to do. Undisturbed, it
/// takes some 300 us between neighbouring cores.
const TIME_LIMIT: Duration = Duration::from_millis(3);

/// The start line of a hive. If there is time to measure (`may_calibrate`), and each of the first two bees is bound to
/// a CPU of its own, it lies in the line that is fastest for these two; otherwise in any line.
pub(crate) fn choose_start_line(place_map: &PlaceMap, may_calibrate: bool) -> LineChoice {
    let place_of = |bee| place_map.place_of(bee).filter(|place| may_calibrate && !place.is_foreign);
    let calibrated = match (place_of(0), place_of(1)) {
        (Some(queen), Some(worker)) if queen.mask() != worker.mask() => calibrate(queen, worker),
        _ => None,
    };
    calibrated.unwrap_or_else(|| LineChoice::new(1))
}

/// Measures all lines with two threads: the calling one as the queen and a new one as the worker. None: no thread could
/// be made or bound, or it took too long.
fn calibrate(queen: &Place, worker: &Place) -> Option<LineChoice> {
    let _reservation = ThreadReservation::reserve(1, None).ok()?;
    let choice = LineChoice::new(LINES);
    let deadline = Instant::now() + TIME_LIMIT;
    // The worker runs on a thread of its own, with the signals blocked as on the hive's threads. If either side gives
    // up, the other one does so at the deadline.
    let line = thread::scope(|scope| {
        let spawn_follower = || thread::Builder::new().spawn_scoped(scope, || run_follower(&choice, worker, deadline));
        signal_mask::with_signals_blocked(spawn_follower).0.ok()?;
        run_leader(&choice, queen, deadline)
    })?;
    Some(choice.choose(line))
}

/// The queen's side of the calibration. Returns the number of the best line. None: it took too long, or this thread
/// could not be bound.
fn run_leader(choice: &LineChoice, place: &Place, deadline: Instant) -> Option<usize> {
    let _bound = pinning::bind(place).ok()?;
    let mut spinner = DeadlineSpinner { deadline, polls: 0 };
    let mut lines: Vec<_> = choice.lines().iter().map(|line| (line, BaseCount::FIRST, Duration::MAX)).collect();
    for _ in 0..PASSES {
        for (line, base, least) in &mut lines {
            for _ in 0..WARM_UP {
                lead_region(line, base, || spinner.spin_once())?;
            }
            let start = Instant::now();
            for _ in 0..TIMED {
                lead_region(line, base, || spinner.spin_once())?;
            }
            *least = start.elapsed().min(*least);
        }
    }
    (0..lines.len()).min_by_key(|&line| lines[line].2)
}

/// The worker's side: takes part in the same regions on the same lines in the same order as `run_leader`.
fn run_follower(choice: &LineChoice, place: &Place, deadline: Instant) -> Option<()> {
    let _bound = pinning::bind(place).ok()?;
    let mut spinner = DeadlineSpinner { deadline, polls: 0 };
    let mut lines: Vec<_> = choice.lines().iter().map(|line| (line, 0)).collect();
    for _ in 0..PASSES {
        for (line, last_epoch) in &mut lines {
            for _ in 0..WARM_UP + TIMED {
                follow_region(line, last_epoch, || spinner.spin_once())?;
                // A real worker leaves the line alone after each arrival, too.
                back_off::delay_initially();
            }
        }
    }
    Some(())
}

/// Limits how long one side polls for the other.
struct DeadlineSpinner {
    deadline: Instant,
    /// Polls since the clock was last read.
    polls: u32,
}

impl DeadlineSpinner {
    /// Polls between two readings of the clock. At each reading the core is also offered to other threads that need it.
    const POLLS_PER_CLOCK_READ: u32 = 2_000;

    /// Call after each poll that has found nothing. False: the deadline is over.
    fn spin_once(&mut self) -> bool {
        self.polls += 1;
        if self.polls < Self::POLLS_PER_CLOCK_READ {
            return true;
        }
        self.polls = 0;
        thread::yield_now();
        Instant::now() < self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::affinity;
    use crate::sys::cpu_mask::CpuMask;
    use crate::topology;
    use crate::topology::pin_policy::Pin;
    use crate::topology::place_assignment::tests::places_of_pin;
    use crate::topology::shrink::Shrink;

    /// Places on two CPUs. None where the process may use only one.
    fn two_places() -> Option<[Place; 2]> {
        let (machine, _) = topology::read_machine(Some(&affinity::query().unwrap()));
        let cpus: Vec<_> = machine.cpus.iter().map(|cpu| cpu.os_index).take(2).collect();
        let places = places_of_pin(&machine, &Pin::Cpus(cpus.clone()), Shrink::Compact, &CpuMask::new()).unwrap();
        (cpus.len() == 2).then(|| [0, 1].map(|bee| places.place_of(bee).unwrap().clone()))
    }

    #[test]
    fn the_mask_is_as_before_and_the_chosen_line_is_new() {
        let Some([queen, worker]) = two_places() else { return };
        let before = affinity::query().unwrap();
        // The result is None where other tests keep the CPUs busy; there is nothing to check then.
        if let Some(choice) = calibrate(&queen, &worker) {
            assert_eq!((choice.lines().len(), choice.load().epoch()), (LINES, 0));
        }
        assert_eq!(affinity::query().unwrap(), before);
    }

    #[test]
    fn a_calibration_of_one_ends() {
        let Some([queen, worker]) = two_places() else { return };
        let choice = LineChoice::new(LINES);
        let deadline = Instant::now() + TIME_LIMIT;
        assert_eq!(run_leader(&choice, &queen, deadline), None, "nobody follows");
        assert_eq!(run_follower(&choice, &worker, deadline), None, "nobody leads");
    }
}
