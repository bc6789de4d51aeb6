//! The scenarios: long scripts with many bees. Their sizes and orders are drawn anew in each execution.

mod end;
mod loops;
mod panics;
mod queen_lock;
mod regions;
mod resizes;
mod tasks;

use shuttle::rand::{Rng, thread_rng};

/// A script, and how many executions it gets under the random scheduler. The scheduler with priorities (PCT) gets a
/// quarter as many.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) executions: usize,
    pub(crate) script: fn(),
}

impl Scenario {
    const fn new(name: &'static str, description: &'static str, executions: usize, script: fn()) -> Self {
        Self { name, description, executions, script }
    }
}

pub(crate) const SCENARIOS: [Scenario; 12] = [
    Scenario::new("regions", "teams of all sizes in a hive of 15 bees", 6_000, regions::of_all_sizes),
    Scenario::new("barriers", "teams of all sizes with barriers", 6_000, regions::with_barriers),
    Scenario::new("hire", "a hive that grows from one bee with its regions", 8_000, regions::growing),
    Scenario::new("panics", "bees panic, or leave a barrier out", 8_000, panics::some_bees),
    Scenario::new(
        "storm",
        "two threads resize and wait until the surplus is parked, while regions run",
        10_000,
        resizes::random_resizes,
    ),
    Scenario::new(
        "queens",
        "four threads want to be queen, and one of them only tries the queen lock",
        10_000,
        queen_lock::contend,
    ),
    Scenario::new(
        "jec",
        "tasks from everywhere, resizes and regions in a hive of 9 bees, with the jobs event counter",
        3_000,
        || tasks::from_everywhere(tasks::JEC),
    ),
    Scenario::new("tickle", "the same with the tickle protocol", 3_000, || tasks::from_everywhere(tasks::TICKLE)),
    Scenario::new("notify", "the same with the notify protocol", 3_000, || tasks::from_everywhere(tasks::NOTIFY)),
    Scenario::new(
        "mutual_wait",
        "as many tasks that wait for one another as there are workers, with each sleep protocol",
        2_000,
        tasks::mutual_wait,
    ),
    Scenario::new(
        "loops",
        "loops shared out and values exchanged in teams of all sizes, round after round",
        12_000,
        loops::of_teams,
    ),
    Scenario::new("end", "a hive ends while its bees do anything but a region", 15_000, end::at_any_time),
];

/// Draws a number from `min` to `max` from the execution's random numbers.
pub(crate) fn random_in(min: u32, max: u32) -> u32 {
    thread_rng().gen_range(min..=max)
}
