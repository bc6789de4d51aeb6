//! Where bees run and where memory is; what may be called where; and for those who come from elsewhere: construct by construct, both sides. (In the documentation only; `cargo test --doc` runs
//! what the pages show.)

#[doc = include_str!("../docs/from-openmp.md")]
///
/// # What this page names
/// [`spmd`](crate::pool::global::spmd), [`spmd_map`](crate::pool::global::spmd_map), [`try_spmd`](crate::pool::global::try_spmd), [`Bee`](crate::region::bee::Bee), [`par_for`](crate::pool::global::par_for), [`par_loop`](crate::pool::global::par_loop),
/// [`Loop`](crate::loops::shared_loop::Loop), [`Schedule`](crate::loops::schedule::Schedule), [`Tiles`](crate::loops::tiles::Tiles), [`par_for_mut`](crate::pool::global::par_for_mut), [`par_rows_mut`](crate::pool::global::par_rows_mut), [`Parts`](crate::slices::parts::Parts), [`Ordered`](crate::region::collective::ordered::Ordered), [`par_reduce`](crate::pool::global::par_reduce),
/// [`Reduction`](crate::reductions::reduction::Reduction), [`par_scan`](crate::pool::global::par_scan). The second half is [`from_openmp_tasks`].
pub mod from_openmp {}

#[doc = include_str!("../docs/places.md")]
///
/// # What this page names
/// [`PlaceList`](crate::topology::place_list::PlaceList), [`ProcBind`](crate::topology::proc_bind::ProcBind), [`Shrink`](crate::topology::shrink::Shrink), [`Binding`](crate::topology::pin_policy::Pin), [`Builder`](crate::pool::config::Builder), [`Report`](crate::pool::report::Report).
pub mod places {}

#[doc = include_str!("../docs/from-openmp-tasks.md")]
///
/// # What this page names
/// [`PerBee`](crate::slices::per_bee::PerBee), [`Reduction`](crate::reductions::reduction::Reduction), [`join`](crate::pool::global::join()), [`scope`](crate::pool::global::scope()), [`spawn`](crate::pool::global::spawn()), [`install`](crate::pool::global::install),
/// [`yield_now`](crate::tasks::caller::yield_now), [`Hive`](crate::pool::handle::Hive), [`Builder`](crate::pool::config::Builder), [`Binding`](crate::topology::pin_policy::Pin), [`Report`](crate::pool::report::Report), [`resize`](crate::pool::global::resize),
/// [`settle`](crate::settle), [`keep_spinning`](crate::hot), [`stop_spinning`](crate::relax), [`current`](crate::tasks::caller::current), [`Bee::unpinned`](crate::region::bee::Bee::unpinned), [`Parts`](crate::slices::parts::Parts),
/// [`Stats`](crate::observe::stats::Stats). The first half is [`from_openmp`].
pub mod from_openmp_tasks {}

#[doc = include_str!("../docs/from-rayon.md")]
///
/// # What this page names
/// [`par_reduce`](crate::pool::global::par_reduce), [`Reduction`](crate::reductions::reduction::Reduction), [`par_for`](crate::pool::global::par_for), [`par_loop`](crate::pool::global::par_loop), [`Loop`](crate::loops::shared_loop::Loop), [`Schedule`](crate::loops::schedule::Schedule),
/// [`par_for_mut`](crate::pool::global::par_for_mut), [`par_rows_mut`](crate::pool::global::par_rows_mut), [`Parts`](crate::slices::parts::Parts), [`PerBee`](crate::slices::per_bee::PerBee), [`join`](crate::pool::global::join()), [`scope`](crate::pool::global::scope()), [`spawn`](crate::pool::global::spawn()), [`spawn_on`](crate::pool::global::spawn_on),
/// [`broadcast`](crate::pool::global::broadcast()), [`install`](crate::pool::global::install), [`yield_now`](crate::tasks::caller::yield_now), [`current`](crate::tasks::caller::current), [`spmd`](crate::pool::global::spmd), [`spmd_map`](crate::pool::global::spmd_map),
/// [`Hive`](crate::pool::handle::Hive), [`Builder`](crate::pool::config::Builder), [`Bee::all_reduce`](crate::region::bee::Bee::all_reduce), [`resize`](crate::pool::global::resize), [`stop_spinning`](crate::relax).
pub mod from_rayon {}

#[doc = include_str!("../docs/memory.md")]
///
/// # What this page names
/// [`Plan`](crate::memory::plan::Plan), [`Placement`](crate::memory::placement::Placement), [`NumaVec`](crate::memory::numa_vec::NumaVec), [`Moves`](crate::memory::moves::Moves), [`Hive::alloc`](crate::pool::handle::Hive::alloc), [`Hive::migrate`](crate::pool::handle::Hive::migrate),
/// [`Hive::par_for_plan`](crate::pool::handle::Hive::par_for_plan), [`Hive::par_reduce_plan`](crate::pool::handle::Hive::par_reduce_plan), [`Bee::for_plan`](crate::region::bee::Bee::for_plan), [`Parts::by_plan`](crate::slices::parts::Parts::by_plan),
/// [`Hive::memory_node`](crate::pool::handle::Hive::memory_node), [`memory_nodes`](crate::memory::nodes::memory_nodes), [`node_of`](crate::memory::mapping::node_of), [`Place::node`](crate::topology::place_assignment::Place::node), [`Schedule`](crate::loops::schedule::Schedule).
pub mod memory {}

#[doc = include_str!("../docs/hive-sets.md")]
///
/// # What this page names
/// [`HiveSet`](crate::Hives), [`HiveSetBuilder`](crate::hives::builder::HiveSetBuilder), [`HiveSetBee`](crate::hives::bee::HiveSetBee), [`Hive`](crate::pool::handle::Hive), [`Plan`](crate::memory::plan::Plan), [`Placement`](crate::memory::placement::Placement), [`Bee`](crate::region::bee::Bee), [`PlaceUnit`](crate::topology::place_list::PlaceUnit).
pub mod several_hives {}

#[doc = include_str!("../docs/composition.md")]
///
/// # What this page names
/// [`spmd`](crate::pool::global::spmd), [`par_for`](crate::pool::global::par_for), [`par_reduce`](crate::pool::global::par_reduce), [`install`](crate::pool::global::install), [`join`](crate::pool::global::join()), [`scope`](crate::pool::global::scope()),
/// [`spawn`](crate::pool::global::spawn()), [`spawn_on`](crate::pool::global::spawn_on), [`broadcast`](crate::pool::global::broadcast()), [`resize`](crate::pool::global::resize), [`settle`](crate::settle), [`keep_spinning`](crate::hot),
/// [`yield_now`](crate::tasks::caller::yield_now), [`current`](crate::tasks::caller::current), [`Hive`](crate::pool::handle::Hive), [`Builder`](crate::pool::config::Builder), [`Bee::barrier_shape`](crate::region::bee::Bee::barrier),
/// [`Bee::ordered`](crate::region::bee::Bee::ordered), [`Loop`](crate::loops::shared_loop::Loop), [`PerBee`](crate::slices::per_bee::PerBee), [`Parts`](crate::slices::parts::Parts).
pub mod composition {}
