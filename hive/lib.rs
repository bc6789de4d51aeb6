//! Parallel regions as cheap as cache coherence allows, on a team of threads that can be resized while it runs.
//!
//! ```
//! let x: Vec<f64> = (0..10_000).map(f64::from).collect();
//! let norms = hive::spmd_map(4, |bee| x[bee.split(0..x.len())].iter().map(|v| v * v).sum::<f64>());
//! let norm = norms.iter().sum::<f64>().sqrt();
//! assert!((norm - 577_306.967_744_9).abs() < 1e-3);
//! ```
//!
//! - [`spmd`] runs a closure once on each of n members of a team, the calling thread among them, and returns when all are done.
//! - [`Bee::barrier`] lets them wait for each other; [`Bee::split`] says which part of a range is whose.
//! - [`resize`] parks surplus members, so that their cores are free for others, and brings them back; [`settle`] waits until
//!   those cores are free.
//! - [`par_for`], [`par_for_mut`], [`par_reduce`] and [`par_scan`] are a region and a loop in one, by OpenMP's [schedules](Schedule); inside regions there are [`Bee::for_each`],
//!   [`Bee::all_reduce`], [`Bee::single`] and so on. A [`Reduction`] says in its type how reproducible its result is.
//! - [`Parts`] lends each member its part of a slice, to write to, and those of others to read; [`PerBee`] has a value for each.
//! - [`Hive::alloc`] places memory on NUMA nodes, and a [`Plan`] says who owns what of it, for memory and loops alike: [`guides::memory`].
//! - [`Hives`] are several, one for each NUMA node or package, and one team over all of them: [`guides::several_hives`].
//! - [`hot`] keeps the members polling through a section of the program, [`relax`] sends them to sleep at once.
//! - Between regions the same members run tasks by work stealing: [`join`], [`scope`], [`spawn`], [`spawn_on`], [`broadcast`], [`install`].
//! - [`Hive`] is a team of a program's own; [`Hive::builder`] says how it waits and where its members are bound;
//!   [`Hive::report`] says what is in effect, [`Hive::stats`] what has been done.
//!
//! # Environment
//! - `HIVE_NUM_BEES`: the number of members a hive starts with, where the program does not say.
//! - `HIVE_PIN`: `none`, `core`, `cluster`, `node`, `package` or a list of CPUs such as `0,2,4-7`, of which
//!   those are used that the process may use; see [`Pin`].
//! - `HIVE_PLACES`: places by OpenMP's grammar, such as `cores(4)` or `{0:4},{8:4}`; see [`PlaceList`]. It goes before `HIVE_PIN`.
//! - `HIVE_PROC_BIND`: `false`, `true`, `primary`, `close` or `spread`; see [`ProcBind`].
//! - `HIVE_SHRINK`: `compact`, `spread` or `keep_nodes`: which places a shrinking hive gives up; see [`Shrink`].
//! - `HIVE_BARRIER`: `flat`, `cluster`, `node` or `auto`: in which groups members start and meet; see [`BarrierShape`].
//! - `HIVE_CACHE`: a directory for what `auto` has measured, by default `hive` in the user's cache directory; `off` or
//!   empty: none.
//! - `HIVE_SPIN`: how long a waiting member polls before it sleeps, such as `200us`, `1ms`, `0` or `inf`.
//! - `HIVE_TRACE`: a file to which the hive writes a timeline of what its members have done, when it is dropped or the process ends; `%p` in its name stands
//!   for the number of the process; see [`Builder::trace`].
//!
//! A value that cannot be read is a warning in [`Hive::report`].
//!
//! # From elsewhere
//! [`guides`] has the constructs of OpenMP and of Rayon beside those of hive, and what can be said of where members run.
//!
//! # How it works
//! How a region starts, how its members meet, how the hive is resized while it runs, how members without work sleep, how they share out loops and show one another values is described, and proved, in `protocols`
//! (the pages in `docs/` of the repository).

mod abort;
#[cfg(any(feature = "paralight", feature = "orx-parallel", feature = "rayon"))]
pub mod adapters;
mod asymmetric_fence;
mod bond;
mod build_info;
mod collective;
mod colony;
mod config;
mod crew;
mod doing;
mod environment;
mod error;
mod fork;
mod frame;
mod global;
#[cfg(doc)]
pub mod guides;
mod habitat;
mod handlers;
mod hive;
mod hives;
mod hold;
mod housing;
mod loops;
mod memory;
mod pin;
mod posts;
mod process;
#[cfg(doc)]
pub mod protocols;
mod quiet;
mod reductions;
mod region;
mod rehearsal;
mod report;
mod results;
mod room;
mod say;
mod seats;
mod semaphore;
mod shaping;
mod signal_mask;
mod slices;
mod split;
mod stats;
mod sync;
mod tally;
mod tasks;
mod thread_token;
mod time_in_words;
mod topology;
mod trace;
mod wait;
mod waits;
mod watchdog;

pub use build_info::{BuildInfo, build_info};
pub use collective::Ordered;
pub use config::{Builder, SleepProtocol};
pub use crew::{BarrierShape, ParseShapeError};
pub use error::{BuildError, ResizeError, SpmdError};
pub use global::{
    broadcast, global, hot, install, join, par_for, par_for_mut, par_loop, par_reduce, par_rows_mut, par_scan, relax, resize,
    scope, settle, spawn, spawn_on, spmd, spmd_map, stats, try_spmd,
};
pub use hive::Hive;
pub use hives::{Hives, HivesBee, HivesBuilder};
pub use loops::{Loop, Schedule, Tiles};
pub use memory::{Move, Moves, NumaVec, Owner, Placement, Plan, memory_nodes, node_of};
pub use reductions::{Fast, Fixed, Level, PerTeam, Reduction, Scan};
pub use region::Bee;
pub use report::Report;
pub use slices::{PartMut, PartRef, Parts, PerBee, PerBeeMut};
pub use stats::{Counts, Stats, Steals};
pub use tasks::{Scope, current, yield_now};
pub use topology::{ParsePinError, ParsePlacesError, ParsePolicyError, Pin, Place, PlaceList, PlaceUnit, ProcBind, Shrink};
