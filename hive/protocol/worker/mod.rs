//! The protocol of a worker: its slot and state, its main loop, how the hive is resized, and how a waiting worker is
//! parked and woken.

pub(crate) mod hired;
pub(crate) mod main_loop;
pub(crate) mod occupancy;
pub(crate) mod pending_parks;
pub(crate) mod resize;
pub(crate) mod slot;
pub(crate) mod slot_table;
pub(crate) mod snapshot;
pub(crate) mod wake_range;
