//! Which models are likely to reject a mutant. Only the speed of a run depends on these hints, because each mutant that
//! is not rejected by them is tried on all other models too. A hint that counts for no mutant fails the run.

use crate::models::{self, Model};
use crate::mutation::Mutant;

/// For a part of a mutant's name: the beginnings of the names of the models to try first. The first entry that matches
/// counts.
const HINTS: [(&str, &[&str]); 48] = [
    ("availability.rs", &["late"]),
    ("stand_in.rs", &["late"]),
    ("work_range.rs", &["range"]),
    ("unit_queue.rs", &["loop_queue"]),
    ("loop_state.rs:store#1", &["loop_queue"]),
    ("loop_state.rs:load#4", &["loop_queue"]),
    ("loop_state.rs", &["loop_regions"]),
    ("single.rs", &["single"]),
    ("deque_marks.rs", &["task_inside_spin"]),
    ("demand.rs", &["ask"]),
    ("lone_queen.rs", &["task_lone"]),
    ("announcement.rs", &["task_nested_start"]),
    ("start_line.rs:store#1=mask", &["start_sizes", "sleep_two"]),
    ("start_line.rs", &["calibration"]),
    ("wake.rs:fence#1", &["sleep_one", "shrink"]),
    ("wake_for_tasks.rs:fence#2", &["task_mutual_wait", "notify_mutual_wait"]),
    ("wake_for_tasks.rs", &["sleep_one", "task"]),
    ("pending_parks.rs", &["wait_parked"]),
    ("blind-1", &["sleep", "shrink"]),
    ("blind-0-1", &["end", "shrink"]),
    ("blind-4", &["shrink_grow", "grow", "shrink"]),
    ("blind", &["wait_parked", "resize_two_threads", "end", "shrink"]),
    ("slot.rs:compare_exchange#1=relaxed", &["task_shrink"]),
    ("slot.rs:compare_exchange#1=acquire", &["task_shrink"]),
    ("slot.rs:compare_exchange#1=", &["wait_parked_busy", "region_after_resize"]),
    (
        "occupancy.rs",
        &[
            "mailbox_after_worker_start",
            "region_after_worker_start",
            "sleep_one",
            "sleep_bees_not_needed",
            "shrink_bees_not_needed",
            "region_after_resize",
            "shrink",
            "wait_parked_overlap",
        ],
    ),
    ("panics.rs", &["panic_wait", "panic_bee", "forward_panic_far"]),
    ("deadlock.rs", &["deadlock_alternating"]),
    ("signal.rs", &["signal"]),
    ("slot_table.rs:load", &["worker_busy_starter"]),
    ("slot_table.rs", &["worker_for_tasks", "worker_two_late"]),
    ("waiting_hive.rs", &["waits_two"]),
    ("barrier.rs:load#4", &["deadlock_alternating"]),
    ("barrier.rs:fetch_update#2=relaxed", &["two_groups_panic_outer"]),
    ("barrier.rs:fence", &["panic_bee", "forward_panic"]),
    ("barrier.rs", &["barrier", "start_spin", "panic", "mismatch", "sleep_one"]),
    ("queen_lock.rs", &["lock"]),
    ("wait_queue.rs", &["lock"]),
    ("jec.rs:fetch_add", &["asks"]),
    ("jec.rs", &["task"]),
    ("tickle.rs:fetch_update#2", &["tickle_mutual_wait"]),
    ("tickle.rs", &["tickle"]),
    ("notify.rs", &["notify"]),
    ("idle.rs", &["sleep_one", "task"]),
    ("caller_latch.rs", &["caller_latch"]),
    ("latch.rs", &["task_latch"]),
    ("scope_count.rs", &["scope"]),
    ("resize.rs:fence", &["task_shrink"]),
];

/// Returns all models, starting with those most likely to reject `mutant`.
pub(super) fn in_order(mutant: &Mutant) -> Vec<Model> {
    let first = hint_for(mutant).map_or(&[][..], |hint| HINTS[hint].1);
    let mut models = models::all();
    // The sort is stable, so all other models keep their order.
    models.sort_by_key(|model| first.iter().position(|start| model.name.starts_with(start)).unwrap_or(first.len()));
    models
}

/// The number of the hint that counts for `mutant`.
fn hint_for(mutant: &Mutant) -> Option<usize> {
    HINTS.iter().position(|(part, _)| mutant.name.contains(part))
}

/// The hints that count for no mutant, and the beginnings of names that no model has. Both are left over from code that
/// has changed.
pub(super) fn stale(mutants: &[Mutant]) -> Vec<String> {
    let used: Vec<_> = mutants.iter().filter_map(hint_for).collect();
    let unused = HINTS.iter().enumerate().filter(|(number, _)| !used.contains(number));
    let mut stale: Vec<_> = unused.map(|(_, (part, _))| format!("the hint {part:?} counts for no mutant")).collect();
    let models = models::all();
    for (part, starts) in &HINTS {
        let unknown = starts.iter().filter(|start| !models.iter().any(|model| model.name.starts_with(**start)));
        stale.extend(unknown.map(|start| format!("the hint {part:?}: no model's name begins with {start:?}")));
    }
    stale
}
