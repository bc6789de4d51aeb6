//! Parallel regions that cost as little as cache coherence allows, on a team of threads that can be resized while it
//! runs.
//!
//! ```
//! let x: Vec<f64> = (0..10_000).map(f64::from).collect();
//! let norms = hive::spmd_map(4, |bee| x[bee.split(0..x.len())].iter().map(|v| v * v).sum::<f64>());
//! let norm = norms.iter().sum::<f64>().sqrt();
//! assert!((norm - 577_306.967_744_9).abs() < 1e-3);
//! ```
//!
//! The package is `hive-spmd`, the crate `hive`: in a program `use hive::...`.
//!
//! A hive is a team of threads. Each of them is a *bee*: bee 0, the *queen*, is the calling thread; the others are
//! *workers*, threads that the hive has made.
//!
//! - [`spmd`] runs a closure once on each of n bees of a team, including the calling thread, and returns when all of
//!   them are done. This is a *region*. [`spmd_all`] takes all bees that there are.
//! - [`Bee::barrier`] makes the bees of a region wait for each other; [`Bee::split`] says which part of a range belongs
//!   to a bee.
//! - [`resize`] parks surplus workers, so that their cores are free for other programs, and brings them back;
//!   [`wait_until_parked`] waits until those cores are free.
//! - [`par_for`], [`par_for_mut`], [`par_reduce`] and [`par_scan`] are a region and a loop in one, with OpenMP's
//!   [schedules](Schedule). Shorter for what they are for are [`par_map`], [`par_items`], [`par_sum`], [`par_dot`],
//!   [`par_min_max`], [`par_argmin`] and [`par_find`]; [`par_zip_mut`] and [`par_tiles_mut`] write to several slices
//!   and to tiles; [`par_for_until`] ends early. [`guides::recipes`] has a table; inside regions there are
//!   [`Bee::for_range`], [`Bee::all_reduce`], [`Bee::single`] and so on. The type of a [`Reduction`] says how
//!   reproducible its result is.
//! - [`Parts`] lends each bee its own part of a slice for writing, and the parts of the other bees for reading;
//!   [`PerBee`] holds one value for each bee; a [`SharedSlice`] is written to at any index by any bee.
//! - [`Bee::signal`] and [`Bee::wait_for`] are for sweeps and pipelines, in which a bee waits for one other bee.
//! - [`run_async`] and [`spawn_async`] are for async code: [`guides::async_code`].
//! - [`Hive::alloc`] places memory on NUMA nodes. A [`Plan`] says which bee owns which part of it, for memory and loops
//!   alike: [`crate::guides::memory`].
//! - A [`HiveSet`] is several hives, one for each NUMA node or package, with one team over all of them:
//!   [`crate::guides::hive_sets`].
//! - [`keep_spinning`] keeps the bees polling through a section of the program, [`stop_spinning`] sends them to sleep
//!   at once.
//! - Between regions the same bees run tasks by work stealing: [`join`], [`scope`], [`spawn`], [`spawn_on`],
//!   [`broadcast`], [`install`].
//! - [`Hive`] is a team that a program builds for itself; [`Hive::builder`] says how it waits and where its bees are
//!   bound; [`report()`] says which settings are in effect, [`Hive::stats`] what the bees have done.
//!
//! # Which hive
//! The free functions act on the *current* hive: the one that the calling thread works for, as a bee in a
//! [region](spmd), in a task or in [`install`]; and everywhere else on the [global](global()) one. So a library that
//! calls [`par_for`] or [`join`] uses the hive that its caller has chosen by [`Hive::install`]. Inside of several hives
//! it is the innermost one; in [`HiveSet::on_each`] it is the hive of the set that the closure is called for.
//! [`current`] says which that is, and [`guides::composition`] has all the rules.
//!
//! ```
//! let pair = hive::Hive::new(2)?;
//! assert_eq!(pair.install(|| hive::bees()), 2);
//! assert_eq!(hive::bees(), hive::global().bees());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Environment
//! - `HIVE_NUM_BEES`: the number of bees that a hive starts with if the program does not set one.
//! - `HIVE_PIN`: `none`, `core`, `cluster`, `node`, `package` or a list of CPUs such as `0,2,4-7`, of which hive uses
//!   those that the process is allowed to use; see [`Pin`]. With `core` a second hive cannot be built if the first
//!   ones have all CPUs; by default it is built, and its bees are bound to none.
//! - `HIVE_PLACES`: places in OpenMP's grammar, such as `cores(4)` or `{0:4},{8:4}`; see [`PlaceList`]. It takes
//!   precedence over `HIVE_PIN`.
//! - `HIVE_PROC_BIND`: `false`, `true`, `primary`, `close` or `spread`; see [`ProcBind`].
//! - `HIVE_SHRINK`: `compact`, `spread` or `keep_nodes`: which places a shrinking hive gives up; see [`Shrink`].
//! - `HIVE_BARRIER`: `flat`, `cluster`, `node` or `auto`: the groups in which bees start and meet; see
//!   [`BarrierShape`].
//! - `HIVE_SPIN`: how long a waiting bee polls before it sleeps, such as `200us`, `1ms`, `0` or `inf`. Default: up to
//!   200 us, and less where that does not pay; 50 us in the pools of the drop-in `rayon-core`. With `0` a bee sleeps at
//!   once; with any other value it polls for at least about a microsecond. See [`Builder::spin`].
//! - `HIVE_POOL_THREADS` and `HIVE_POOL_PARTS`: how many of its threads a pool of the drop-in `rayon-core` uses, and
//!   into how many parts it divides work, for results that are the same bits on any number of threads; see
//!   `docs/rayon-core.md`.
//! - `HIVE_TRACE`: a file to which the hive writes a timeline of what its bees have done, when it is dropped or the
//!   process ends; `%p` in its name stands for the process id; see [`Builder::trace`].
//!
//! If hive cannot read a value, it ignores it and adds a warning to [`Hive::report`]. In a program that runs with more
//! rights than the user who has started it (set-uid, set-gid or file capabilities on Linux), it ignores `HIVE_TRACE`,
//! which names a file.
//!
//! # Coming from OpenMP or Rayon
//! [`guides`] shows the constructs of OpenMP and of Rayon next to those of hive, and describes where bees run.
//!
//! # How it works
//! The pages in [`protocols`] (in the repository: `docs/`) describe and prove how a region starts, how its bees meet,
//! how the hive is resized while it runs, how bees without work sleep, how bees share out the iterations of a loop, and
//! how they exchange values.

pub mod adapters;
mod global;
#[cfg(doc)]
pub mod guides;
mod hives;
mod loops;
mod memory;
mod observe;
mod on_drop;
mod pool;
mod protocol;
#[cfg(doc)]
pub mod protocols;
/// The examples of the README, for the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
mod reductions;
mod region;
mod slices;
mod sync;
mod sys;
mod tasks;
mod topology;
mod tuning;

pub use crate::global::{
    bees, broadcast, global, install, join, keep_spinning, par_argmin, par_dot, par_find, par_for, par_for_mut,
    par_for_until, par_items, par_map, par_min_max, par_reduce, par_rows_mut, par_scan, par_sum, par_tiles_mut,
    par_zip_mut, report, resize, run_async, scope, spawn, spawn_async, spawn_on, spmd, spmd_all, spmd_all_map,
    spmd_map, spmd_reduce, stats, stop_spinning, try_spmd, wait_until_parked,
};
pub use crate::hives::bee::HiveSetBee;
pub use crate::hives::builder::HiveSetBuilder;
pub use crate::hives::hive_set::HiveSet;
pub use crate::loops::schedule::Schedule;
pub use crate::loops::shared_loop::{IntoLoop, Loop};
pub use crate::loops::slice_schedule::SliceSchedule;
pub use crate::loops::stop::Stop;
pub use crate::loops::tiles::Tiles;
pub use crate::memory::moves::{Move, Moves};
pub use crate::memory::nodes::memory_nodes;
pub use crate::memory::numa_vec::NumaVec;
pub use crate::memory::pages::node_of;
pub use crate::memory::placement::Placement;
pub use crate::memory::plan::{Owner, Plan};
pub use crate::observe::build_info::{BuildInfo, build_info};
pub use crate::observe::stats::{Counts, Stats, Steals};
pub use crate::pool::builder::{Builder, SleepProtocol};
pub use crate::pool::error::{Error, ErrorKind};
pub use crate::pool::handle::Hive;
pub use crate::pool::report::Report;
pub use crate::protocol::region::shape::BarrierShape;
pub use crate::reductions::par_scan::Scan;
pub use crate::reductions::reduction::{Deterministic, PerTeamSize, Reduction, Reproducibility, Unordered};
pub use crate::region::bee::Bee;
pub use crate::region::collective::ByCopy;
pub use crate::region::collective::ordered::Ordered;
pub use crate::slices::guard::{Guard, PartMut, PartRef, PerBeeMut, PerBeeRef};
pub use crate::slices::par_mut::{MutSlices, Rows};
pub use crate::slices::parts::Parts;
pub use crate::slices::per_bee::PerBee;
pub use crate::slices::shared_slice::{SharedSlice, Word};
pub use crate::slices::tiles_mut::TileMut;
pub use crate::sys::parse_error::{ParseError, ParseErrorKind};
pub use crate::tasks::async_task::AsyncTask;
pub use crate::tasks::caller::{CurrentBee, current, yield_now};
pub use crate::tasks::scope::Scope;
pub use crate::topology::machine::PlaceUnit;
pub use crate::topology::pin_policy::Pin;
pub use crate::topology::place_assignment::Place;
pub use crate::topology::place_list::PlaceList;
pub use crate::topology::proc_bind::ProcBind;
pub use crate::topology::shrink::Shrink;
