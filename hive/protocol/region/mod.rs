//! The protocol of a region, from the call to the return: the queen takes the queen lock, the start line tells the
//! workers what to run, the bees meet at barriers, and the leaders of groups collect their exits.
//!
//! `queen.rs` is the queen's side of a region, and `worker/main_loop.rs` the workers' side. The pages are
//! `docs/start.md`, `queen-lock.md`, `barrier.md`, `shape.md` and `collectives.md`.

pub(crate) mod announcement;
pub(crate) mod barrier;
pub(crate) mod barrier_word;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod closure_cell;
pub(crate) mod deadlock;
pub(crate) mod exchange;
pub(crate) mod exchange_slots;
pub(crate) mod group_part;
pub(crate) mod groups;
pub(crate) mod late_start;
pub(crate) mod led_groups;
pub(crate) mod line_choice;
pub(crate) mod max_bees;
pub(crate) mod panics;
pub(crate) mod parts_in_turn;
pub(crate) mod queen;
pub(crate) mod queen_lock;
pub(crate) mod region_context;
pub(crate) mod region_mode;
pub(crate) mod shape;
pub(crate) mod signal;
pub(crate) mod single;
pub(crate) mod stand_in;
pub(crate) mod start_line;
pub(crate) mod wait_queue;
