//! Longer guides, one module for each page: the constructs of OpenMP and of Rayon next to those of hive; where bees run
//! and where memory lies; several hives; which call is allowed inside which; async code; and timelines.
//!
//! These modules exist in the documentation only. Each shows a page of `docs/`, followed by links to the items that the
//! page names; `cargo test --doc` runs the examples of the pages.

#[doc = include_str!("../docs/from-openmp.md")]
///
/// # Items named on this page
/// [`spmd`](crate::spmd), [`spmd_map`](crate::spmd_map), [`spmd_reduce`](crate::spmd_reduce),
/// [`try_spmd`](crate::try_spmd), [`bees`](crate::bees),
/// [`Bee`](crate::Bee), [`par_for`](crate::par_for), [`Loop`](crate::Loop), [`Schedule`](crate::Schedule),
/// [`Tiles`](crate::Tiles), [`par_for_mut`](crate::par_for_mut), [`par_rows_mut`](crate::par_rows_mut),
/// [`Parts`](crate::Parts), [`Ordered`](crate::Ordered), [`par_reduce`](crate::par_reduce),
/// [`Reduction`](crate::Reduction), [`par_scan`](crate::par_scan). The second half is [`from_openmp_tasks`].
#[doc(alias("critical", "omp critical", "atomic", "private", "firstprivate", "lastprivate"))]
pub mod from_openmp {}

#[doc = include_str!("../docs/places.md")]
///
/// # Items named on this page
/// [`PlaceList`](crate::PlaceList), [`ProcBind`](crate::ProcBind), [`Shrink`](crate::Shrink), [`Pin`](crate::Pin),
/// [`Builder`](crate::Builder), [`Report`](crate::Report).
pub mod places {}

#[doc = include_str!("../docs/from-openmp-tasks.md")]
///
/// # Items named on this page
/// [`PerBee`](crate::PerBee), [`Reduction`](crate::Reduction), [`join`](crate::join()), [`scope`](crate::scope()),
/// [`spawn`](crate::spawn()), [`install`](crate::install), [`yield_now`](crate::yield_now), [`Hive`](crate::Hive),
/// [`Builder`](crate::Builder), [`Pin`](crate::Pin), [`Report`](crate::Report), [`resize`](crate::resize),
/// [`wait_until_parked`](crate::wait_until_parked), [`keep_spinning`](crate::keep_spinning),
/// [`stop_spinning`](crate::stop_spinning), [`bees`](crate::bees), [`current`](crate::current),
/// [`CurrentBee`](crate::CurrentBee), [`Bee::unpinned`](crate::Bee::unpinned), [`Parts`](crate::Parts),
/// [`Stats`](crate::Stats). The first half is [`from_openmp`].
pub mod from_openmp_tasks {}

#[doc = include_str!("../docs/from-rayon.md")]
///
/// # Items named on this page
/// [`par_reduce`](crate::par_reduce), [`Reduction`](crate::Reduction), [`par_for`](crate::par_for),
/// [`Loop`](crate::Loop), [`Schedule`](crate::Schedule), [`bees`](crate::bees), [`CurrentBee`](crate::CurrentBee),
/// [`par_for_mut`](crate::par_for_mut), [`par_rows_mut`](crate::par_rows_mut), [`Parts`](crate::Parts),
/// [`PerBee`](crate::PerBee), [`join`](crate::join()), [`scope`](crate::scope()), [`spawn`](crate::spawn()),
/// [`spawn_on`](crate::spawn_on), [`broadcast`](crate::broadcast()), [`install`](crate::install),
/// [`yield_now`](crate::yield_now), [`current`](crate::current), [`spmd`](crate::spmd), [`spmd_map`](crate::spmd_map),
/// [`Hive`](crate::Hive), [`Builder`](crate::Builder), [`Bee::all_reduce`](crate::Bee::all_reduce),
/// [`resize`](crate::resize), [`stop_spinning`](crate::stop_spinning).
#[doc(alias("rayon", "par_iter"))]
pub mod from_rayon {}

#[doc = include_str!("../docs/memory.md")]
///
/// # Items named on this page
/// [`Plan`](crate::Plan), [`Loop`](crate::Loop), [`Placement`](crate::Placement), [`NumaVec`](crate::NumaVec),
/// [`Moves`](crate::Moves),
/// [`Hive::alloc`](crate::Hive::alloc), [`Hive::migrate`](crate::Hive::migrate),
/// [`Hive::par_for`](crate::Hive::par_for), [`Hive::par_reduce`](crate::Hive::par_reduce),
/// [`Bee::for_each`](crate::Bee::for_each), [`Parts::by_plan`](crate::Parts::by_plan),
/// [`Hive::memory_node`](crate::Hive::memory_node), [`memory_nodes`](crate::memory_nodes), [`node_of`](crate::node_of),
/// [`Place::node`](crate::Place::node), [`Schedule`](crate::Schedule).
pub mod memory {}

#[doc = include_str!("../docs/tracing.md")]
///
/// # Items named on this page
/// [`Builder::trace`](crate::Builder::trace), [`Report`](crate::Report).
pub mod tracing {}

#[doc = include_str!("../docs/hive-sets.md")]
///
/// # Items named on this page
/// [`HiveSet`](crate::HiveSet), [`HiveSetBuilder`](crate::HiveSetBuilder), [`HiveSetBee`](crate::HiveSetBee),
/// [`Hive`](crate::Hive), [`Plan`](crate::Plan), [`Placement`](crate::Placement), [`Bee`](crate::Bee),
/// [`PlaceUnit`](crate::PlaceUnit).
pub mod hive_sets {}

#[doc = include_str!("../docs/composition.md")]
///
/// # Items named on this page
/// [`spmd`](crate::spmd), [`par_for`](crate::par_for), [`par_reduce`](crate::par_reduce), [`install`](crate::install),
/// [`join`](crate::join()), [`scope`](crate::scope()), [`spawn`](crate::spawn()), [`spawn_on`](crate::spawn_on),
/// [`broadcast`](crate::broadcast()), [`resize`](crate::resize), [`wait_until_parked`](crate::wait_until_parked),
/// [`keep_spinning`](crate::keep_spinning), [`yield_now`](crate::yield_now), [`current`](crate::current),
/// [`bees`](crate::bees), [`global`](crate::global()), [`HiveSet::on_each`](crate::HiveSet::on_each),
/// [`Hive`](crate::Hive), [`Builder`](crate::Builder), [`Bee::barrier`](crate::Bee::barrier),
/// [`Bee::ordered`](crate::Bee::ordered), [`Loop`](crate::Loop), [`PerBee`](crate::PerBee), [`Parts`](crate::Parts).
pub mod composition {}

#[doc = include_str!("../docs/async.md")]
///
/// # Items named on this page
/// [`run_async`](crate::run_async), [`spawn_async`](crate::spawn_async), [`AsyncTask`](crate::AsyncTask),
/// [`Hive::run_async`](crate::Hive::run_async), [`Hive::spawn_async`](crate::Hive::spawn_async),
/// [`Hive`](crate::Hive), [`spawn`](crate::spawn()), [`par_for`](crate::par_for).
#[doc(alias("tokio", "await", "executor"))]
pub mod async_code {}

#[doc = include_str!("../docs/recipes.md")]
///
/// # Items named on this page
/// [`par_for`](crate::par_for), [`par_for_mut`](crate::par_for_mut), [`par_zip_mut`](crate::par_zip_mut),
/// [`Rows`](crate::Rows), [`par_rows_mut`](crate::par_rows_mut), [`par_tiles_mut`](crate::par_tiles_mut),
/// [`par_map`](crate::par_map), [`par_items`](crate::par_items), [`par_sum`](crate::par_sum),
/// [`par_dot`](crate::par_dot), [`par_min_max`](crate::par_min_max), [`par_argmin`](crate::par_argmin),
/// [`par_reduce`](crate::par_reduce), [`Reduction`](crate::Reduction), [`par_find`](crate::par_find),
/// [`par_for_until`](crate::par_for_until), [`Stop`](crate::Stop), [`par_scan`](crate::par_scan),
/// [`SharedSlice`](crate::SharedSlice), [`PerBee`](crate::PerBee), [`Parts`](crate::Parts),
/// [`Bee::signal`](crate::Bee::signal), [`Bee::wait_for`](crate::Bee::wait_for), [`join`](crate::join()),
/// [`scope`](crate::scope()), [`run_async`](crate::run_async), [`stop_spinning`](crate::stop_spinning),
/// [`keep_spinning`](crate::keep_spinning), [`resize`](crate::resize), [`Loop`](crate::Loop).
#[doc(alias("ndarray", "faer", "candle", "blas", "real time", "audio", "cookbook"))]
pub mod recipes {}
