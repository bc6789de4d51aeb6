//! Which models are likely to reject a mutant. Only speed depends on it.

use crate::models::{self, Model};
use crate::mutation::Mutant;

/// Parts of mutants' names, and what the models begin with that are to be tried first.
const HINTS: [(&str, &[&str]); 32] = [
    ("share.rs", &["share"]),
    ("queue.rs", &["loop_queue"]),
    ("board.rs", &["loop_regions"]),
    ("single.rs", &["first"]),
    ("work.rs", &["task_inside_hot"]),
    ("nested.rs", &["task_nested_start"]),
    ("signal.rs:store#1=mask", &["start_sizes", "sleep_two"]),
    ("signal.rs", &["start_hot"]),
    ("bee.rs:fence#2", &["shrink", "grow"]),
    ("bee.rs:fence", &["sleep_one"]),
    ("queen.rs:fence", &["sleep_one", "shrink"]),
    ("untucked.rs", &["settle"]),
    ("blind-1", &["sleep", "shrink"]),
    ("blind-0-1", &["end", "shrink"]),
    ("blind-4", &["shrink_grow", "grow", "shrink"]),
    ("blind", &["settle", "resizers", "end", "shrink"]),
    ("slot.rs:compare_exchange#1=", &["settle_work", "region_after_resize"]),
    ("slot.rs", &["region_after_resize", "sleep_one", "shrink", "grow"]),
    (
        "attendance.rs",
        &[
            "mail_after_hire",
            "region_after_hire",
            "sleep_one",
            "sleep_beside",
            "shrink_beside",
            "region_after_resize",
            "shrink",
            "settle_overlap",
        ],
    ),
    ("poison.rs", &["panic_wait", "panic_bee", "relay_panic_far"]),
    ("muster.rs:fetch_update#2=relaxed", &["split_panic_outer"]),
    ("muster.rs:fence", &["panic_bee", "relay_panic"]),
    ("muster.rs", &["barrier", "start_hot", "panic", "desert", "sleep_one"]),
    ("turn.rs", &["turn"]),
    ("counters.rs", &["task"]),
    ("tickle.rs:fetch_update#2", &["tickle_together"]),
    ("tickle.rs", &["tickle"]),
    ("notify.rs", &["notify"]),
    ("rest.rs:fence#5", &["task_together", "notify_together"]),
    ("rest.rs", &["sleep_one", "task"]),
    ("latch.rs", &["task_latch"]),
    ("resize.rs:fence", &["task_shrink"]),
];

/// All models, the likeliest to reject `mutant` first.
pub(super) fn in_order(mutant: &Mutant) -> Vec<Model> {
    let first = HINTS.iter().find(|(part, _)| mutant.name.contains(part)).map_or(&[][..], |(_, first)| first);
    let mut models = models::all();
    // Stable: the rest stays in order.
    models.sort_by_key(|model| first.iter().position(|start| model.name.starts_with(start)).unwrap_or(first.len()));
    models
}
