//! The parts of the table of compositions. `case`, `select` and `summary` describe, choose and count cases, `driver`
//! and `worker` are the two sides of the processes that run them, `expectation` has the rules, and the others run a
//! case.

pub(crate) mod async_calls;
pub(crate) mod case;
pub(crate) mod driver;
pub(crate) mod expectation;
pub(crate) mod fault;
pub(crate) mod frames;
pub(crate) mod handlers;
pub(crate) mod hive_pool;
pub(crate) mod loops;
pub(crate) mod origin;
pub(crate) mod panic_hook;
pub(crate) mod regions;
pub(crate) mod run;
pub(crate) mod select;
pub(crate) mod sizes;
pub(crate) mod step;
pub(crate) mod summary;
pub(crate) mod surroundings;
pub(crate) mod tasks;
pub(crate) mod threads;
pub(crate) mod worker;
