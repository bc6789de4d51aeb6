//! The protocol of the bees between regions: the slot and state of each bee, the main loop of a worker, how bees are
//! woken, how the hive is resized, and what is recorded of who is asleep, parked or still on a core. The protocol of
//! regions is in `protocol/region/`, that of tasks in `protocol/tasks/`.
//!
//! See `docs/resize.md`.

pub(crate) mod availability;
pub(crate) mod lost_cpu;
pub(crate) mod main_loop;
pub(crate) mod nearest_sleepers;
pub(crate) mod occupancy;
pub(crate) mod own_cpu;
pub(crate) mod pending_parks;
pub(crate) mod ran_part;
pub(crate) mod resize;
pub(crate) mod slot;
pub(crate) mod slot_table;
pub(crate) mod snapshot;
pub(crate) mod wake;
pub(crate) mod wake_for_tasks;
pub(crate) mod wake_range;
