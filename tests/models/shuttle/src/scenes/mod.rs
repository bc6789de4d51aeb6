//! The scenes: long scripts with many bees, whose sizes and orders are drawn anew in each execution.

mod end;
mod loops;
mod panics;
mod queens;
mod regions;
mod storm;
mod tasks;

use shuttle::rand::{Rng, thread_rng};

/// A script, and how often it is run with random choices of the next thread; a quarter as often with priorities (PCT).
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) executions: usize,
    pub(crate) script: fn(),
}

impl Scene {
    const fn new(name: &'static str, about: &'static str, executions: usize, script: fn()) -> Self {
        Self { name, about, executions, script }
    }
}

pub(crate) const SCENES: [Scene; 12] = [
    Scene::new("regions", "teams of all sizes in a hive of 15 bees", 6_000, regions::of_all_sizes),
    Scene::new("barriers", "teams of all sizes with barriers", 6_000, regions::with_barriers),
    Scene::new("hire", "a hive that grows from one member with its regions", 8_000, regions::growing),
    Scene::new("panics", "members panic, or leave a barrier out", 8_000, panics::of_some),
    Scene::new("storm", "two threads resize and settle while regions run", 10_000, storm::of_resizes),
    Scene::new("queens", "four queens, one of whom only tries", 10_000, queens::in_turns),
    Scene::new("jec", "tasks from everywhere, resizes and regions in a hive of 8 bees, by the counter", 3_000, || {
        tasks::from_everywhere(tasks::JEC)
    }),
    Scene::new("tickle", "the same by tickling", 3_000, || tasks::from_everywhere(tasks::TICKLE)),
    Scene::new("notify", "the same by notifying", 3_000, || tasks::from_everywhere(tasks::NOTIFY)),
    Scene::new(
        "together",
        "as many tasks that wait for one another as there are bees, by each",
        2_000,
        tasks::that_wait_for_one_another,
    ),
    Scene::new("loops", "loops shared out and values shown in teams of up to 8, round after round", 12_000, loops::of_teams),
    Scene::new("end", "a hive ends while its bees do anything but a region", 15_000, end::at_any_time),
];

/// From `least` to `most`, by the execution's random numbers.
pub(crate) fn draw(least: u32, most: u32) -> u32 {
    thread_rng().gen_range(least..=most)
}
