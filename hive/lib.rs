//! Parallel regions as cheap as cache coherence allows, on a team of threads that can be resized while it runs.
//!
//! ```
//! let x: Vec<f64> = (0..10_000).map(f64::from).collect();
//! let norms = crate::pool::handle::spmd_map(4, |bee| x[bee.split(0..x.len())].iter().map(|v| v * v).sum::<f64>());
//! let norm = norms.iter().sum::<f64>().sqrt();
//! assert!((norm - 577_306.967_744_9).abs() < 1e-3);
//! ```
//!
//! - [`spmd`] runs a closure once on each of n bees of a team, the calling thread among them, and returns when all are done.
//! - [`Bee::barrier_shape`] lets them wait for each other; [`Bee::split`] says which part of a range is whose.
//! - [`resize`] parks surplus bees, so that their cores are free for others, and brings them back; [`settle`] waits until
//!   those cores are free.
//! - [`par_for`], [`par_for_mut`], [`par_reduce`] and [`par_scan`] are a region and a loop in one, by OpenMP's [schedules](Schedule); inside regions there are [`Bee::for_each`],
//!   [`Bee::all_reduce`], [`Bee::single_claim`] and so on. A [`Reduction`] says in its type how reproducible its result is.
//! - [`Parts`] lends each bee its part of a slice, to write to, and those of others to read; [`PerBee`] has a value for each.
//! - [`Hive::alloc`] places memory on NUMA nodes, and a [`Plan`] says who owns what of it, for memory and loops alike: [`crate::guides::memory`].
//! - [`HiveSet`] are several, one for each NUMA node or package, and one team over all of them: [`crate::guides::hive_sets`].
//! - [`keep_spinning`] keeps the bees polling through a section of the program, [`stop_spinning`] sends them to sleep at once.
//! - Between regions the same bees run tasks by work stealing: [`join`], [`scope`], [`spawn`], [`spawn_on`], [`broadcast`], [`install`].
//! - [`Hive`] is a team of a program's own; [`Hive::builder`] says how it waits and where its bees are bound;
//!   [`Hive::report`] says what is in effect, [`Hive::stats`] what has been done.
//!
//! # Environment
//! - `HIVE_NUM_BEES`: the number of bees a hive starts with, where the program does not say.
//! - `HIVE_PIN`: `none`, `core`, `cluster`, `node`, `package` or a list of CPUs such as `0,2,4-7`, of which
//!   those are used that the process may use; see [`Binding`].
//! - `HIVE_PLACES`: places by OpenMP's grammar, such as `by_core(4)` or `{0:4},{8:4}`; see [`PlaceList`]. It goes before `HIVE_PIN`.
//! - `HIVE_PROC_BIND`: `false`, `true`, `primary`, `close` or `spread_order`; see [`ProcBind`].
//! - `HIVE_SHRINK`: `compact`, `spread_order` or `keep_nodes`: which places a shrinking hive gives up; see [`Shrink`].
//! - `HIVE_BARRIER`: `flat`, `cluster`, `node` or `auto`: in which groups bees start and meet; see [`BarrierShape`].
//! - `HIVE_CACHE`: a directory for what `auto` has measured, by default `hive` in the user's cache directory; `off` or
//!   empty: none.
//! - `HIVE_SPIN`: how long a waiting bee polls before it sleeps, such as `200us`, `1ms`, `0` or `inf`.
//! - `HIVE_TRACE`: a file to which the hive writes a timeline of what its bees have done, when it is dropped or the process ends; `%p` in its name stands
//!   for the number of the process; see [`Builder::trace`].
//!
//! A value that cannot be read is a warning in [`Hive::report`].
//!
//! # From elsewhere
//! [`guides`] has the constructs of OpenMP and of Rayon beside those of hive, and what can be said of where bees run.
//!
//! # How it works
//! How a region starts, how its bees meet, how the hive is resized while it runs, how bees without work sleep, how they share out loops and show one another values is described, and proved, in `protocols`
//! (the pages in `docs/` of the repository).

#[cfg(any(feature = "paralight", feature = "orx-parallel", feature = "rayon"))]
pub mod adapters;
#[cfg(doc)]
pub mod guides;
mod hives;
mod loops;
mod memory;
mod observe;
mod pool;
mod protocol;
#[cfg(doc)]
pub mod protocols;
mod reductions;
mod region;
mod slices;
mod sync;
mod sys;
mod tasks;
mod topology;
mod tuning;

pub use crate::hives::bee::HiveSetBee;
pub use crate::hives::builder::HiveSetBuilder;
pub use crate::hives::hive_set::HiveSet;
pub use crate::loops::schedule::Schedule;
pub use crate::loops::shared_loop::Loop;
pub use crate::loops::tiles::Tiles;
pub use crate::memory::mapping::node_of;
pub use crate::memory::moves::{Move, Moves, Owner};
pub use crate::memory::nodes::memory_nodes;
pub use crate::memory::numa_vec::NumaVec;
pub use crate::memory::placement::Placement;
pub use crate::memory::plan::Plan;
pub use crate::observe::build_info::{BuildInfo, build_info};
pub use crate::observe::stats::{Counts, Stats, Steals};
pub use crate::pool::config::{Builder, SleepProtocol};
pub use crate::pool::error::{BuildError, ResizeError, SpmdError};
pub use crate::pool::global::{
    broadcast, global, install, join, keep_spinning, par_for, par_for_mut, par_loop, par_reduce, par_rows_mut,
    par_scan, resize, scope, spawn, spawn_on, spmd, spmd_map, stats, stop_spinning, try_spmd, wait_until_parked,
};
pub use crate::pool::handle::Hive;
pub use crate::pool::report::Report;
pub use crate::protocol::region::shape::{BarrierShape, ParseShapeError};
pub use crate::reductions::par_scan::Scan;
pub use crate::reductions::reduction::Reduction;
pub use crate::reductions::reproducibility::{Deterministic, PerTeamSize, Reproducibility, Unordered};
pub use crate::region::bee::Bee;
pub use crate::region::collective::ordered::Ordered;
pub use crate::slices::parts::{PartMut, PartRef, Parts};
pub use crate::slices::per_bee::{PerBee, PerBeeMut};
pub use crate::tasks::caller::{current, yield_now};
pub use crate::tasks::scope::Scope;
pub use crate::topology::pin_policy::{ParsePinError, ParsePolicyError, Pin};
pub use crate::topology::place_assignment::Place;
pub use crate::topology::place_list::{ParsePlacesError, PlaceList, PlaceUnit};
pub use crate::topology::proc_bind::ProcBind;
pub use crate::topology::shrink::Shrink;
