//! The global hive: one for the whole process, built on first use; and the free functions of the crate, each of which
//! calls the method of the same name on the *current* hive: the one that the calling thread works for, or else the
//! global one.

use std::convert::Infallible;
use std::mem::ManuallyDrop;
use std::ops::Range;

use crate::loops::shared_loop::IntoLoop;
use crate::observe::stats::Stats;
use crate::pool::builder::Builder;
use crate::pool::error::Error;
use crate::pool::handle::Hive;
use crate::pool::report::Report;
use crate::reductions::par_scan::Scan;
use crate::reductions::reduction::{Reduction, Reproducibility};
use crate::region::bee::Bee;
use crate::region::nesting;
use crate::sys::process::PerProcess;
use crate::sys::warn_once::warn_once;
use crate::tasks::join;
use crate::tasks::scope::Scope;
use crate::topology::pin_policy::Pin;

/// The global hive of this process, built on first use. It has as many bees as there are CPUs that the process may
/// really use, or as many as the [environment](crate#environment) says. It is never dropped; its bees sleep when there
/// is nothing to do.
///
/// A program that calls this before its first region gets a hive that has measured which cache line regions start
/// fastest through. That takes a millisecond or two, so a hive that the first region itself builds takes any line. On
/// processors whose cores are connected by a mesh, a region that does little work may take half as long again over one
/// line as over another; on others the difference is seldom more than a few percent.
///
/// If the system makes no threads for it, it has one bee, says so in its [report](Hive::report), and grows when that
/// becomes possible.
///
/// A child made by `fork` gets a global hive of its own, built on its first use there. It has the size that the
/// environment says, whatever size its parent's had been given; a reference that the parent has asked for before the
/// fork stays that of the parent's hive.
///
/// ```
/// println!("{}", hive::global().report());
/// ```
#[inline]
#[doc(alias("build_global", "default thread pool"))]
pub fn global() -> &'static Hive {
    GLOBAL.get().unwrap_or_else(|| global_or_build(false))
}

/// The global hive, once this process has built it.
pub(crate) static GLOBAL: PerProcess<Hive> = PerProcess::new();

/// The global hive, which is built if this process has none yet. `is_urgent`: as in [`Builder`]. Kept out of line, so
/// that the usual path through `global` stays short.
#[cold]
#[inline(never)]
fn global_or_build(is_urgent: bool) -> &'static Hive {
    let build = || {
        let built = Builder { is_urgent, ..Hive::builder() }.build();
        Ok(built.unwrap_or_else(|error| build_queen_alone(&error.to_string())))
    };
    GLOBAL.get_or_make(build).unwrap_or_else(|never: Infallible| match never {})
}

/// Builds the global hive with one bee, after building it with the usual settings has failed with `error`.
#[cold]
fn build_queen_alone(error: &str) -> Hive {
    let builder = Hive::builder().bees(1);
    // The environment may ask for CPUs that the process may not use. That must not keep the hive from being built, so
    // the second attempt pins to nothing.
    let hive = builder.clone().build().or_else(|_| builder.pin(Pin::None).build());
    let hive = hive.unwrap_or_else(|second| unreachable!("a hive of one bee needs nothing: {second}"));
    let warning = format!("the hive starts with its queen alone: {error}");
    warn_once(&warning);
    hive.shared.add_warning(warning);
    hive
}

/// Calls a method of the current hive, the one that the calling thread works for as a bee, in a region, a task or an
/// `install`; otherwise of the global one. `current_hive!(resize(bees))` calls `resize(bees)`.
///
/// It is a macro so that the usual case, the global hive, is a pointer and nothing else.
macro_rules! current_hive {
    ($($call:tt)*) => {{
        let borrowed;
        let hive = match crate::global::global_outside_of_hives() {
            Some(hive) => hive,
            None => {
                borrowed = crate::global::borrow_hive();
                borrowed.as_deref().unwrap_or_else(|| crate::global::global_or_build(true))
            }
        };
        hive.$($call)*
    }};
}

/// Free functions that call the method of their name of the current hive. A function is written without its body, and
/// the bounds of its type parameters stand in brackets after `where`.
macro_rules! of_current_hive {
    ($(
        $(#[$attribute:meta])*
        pub fn $name:ident $(<$($generic:tt),*>)? ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?
        $(where [$($bounds:tt)*])?;
    )*) => {$(
        $(#[$attribute])*
        pub fn $name $(<$($generic),*>)? ($($argument: $type),*) $(-> $result)? $(where $($bounds)*)? {
            current_hive!($name($($argument),*))
        }
    )*};
}

mod async_calls;
// After the macros, which they use.
mod loops;
mod regions;

pub use async_calls::{run_async, spawn_async};
pub use loops::{
    par_argmin, par_dot, par_find, par_for_until, par_items, par_map, par_min_max, par_sum, par_tiles_mut,
};
pub use regions::{
    par_for_mut, par_rows_mut, par_zip_mut, spmd, spmd_all, spmd_all_map, spmd_map, spmd_reduce, try_spmd,
};

/// The global hive, if it exists and the calling thread is inside of no hive.
#[inline(always)]
fn global_outside_of_hives() -> Option<&'static Hive> {
    GLOBAL.get().filter(|_| !nesting::is_inside_any())
}

/// The hive that the calling thread works for; None if it works for none. Kept out of line, because the usual case does
/// not come here.
#[cold]
#[inline(never)]
#[expect(unsafe_code, reason = "borrows a hive for one call")]
fn borrow_hive() -> Option<ManuallyDrop<Hive>> {
    // SAFETY: only `current_hive!` calls this. The function in which it stands has been called inside of the region or
    // task, and the macro does not use the result after that function has returned.
    unsafe { Hive::of_calling_thread() }
}

/// Runs two closures, perhaps at the same time, on the [current](crate#which-hive) hive. See [`Hive::join`].
///
/// ```
/// assert_eq!(hive::join(|| 1, || 2), (1, 2));
/// ```
///
/// # Panics
/// As [`Hive::join`].
#[inline]
#[doc(alias("sections", "omp sections", "fork-join"))]
pub fn join<A: FnOnce() -> RA + Send, B: FnOnce() -> RB + Send, RA: Send, RB: Send>(a: A, b: B) -> (RA, RB) {
    nesting::with_innermost_tasks_of_any(|context| match context {
        Some(context) => join::join::<false, _, _, _, _>(context, a, |_| b()),
        None => join_elsewhere(a, b),
    })
}

/// `join` on a thread that does not run tasks, or is inside of something else further in.
#[cold]
#[inline(never)]
fn join_elsewhere<RA: Send, RB: Send>(a: impl FnOnce() -> RA + Send, b: impl FnOnce() -> RB + Send) -> (RA, RB) {
    current_hive!(join(a, b))
}

of_current_hive! {
    /// The number of bees of the [current](crate#which-hive) hive, including the queen. See [`Hive::bees`].
    ///
    /// A region or a loop that starts outside of the hive's own regions and tasks has so many. Inside of these it is a
    /// team of one ([`Bee::bees`] is 1), and if the hive grows or shrinks meanwhile, the number is another one the next
    /// time.
    ///
    /// ```
    /// let x = vec![1.0; 1 << 20];
    /// let sums = hive::spmd_all_map(|bee| x[bee.split(0..x.len())].iter().sum::<f64>());
    /// assert_eq!(sums.len(), hive::bees());
    /// assert_eq!(sums.iter().sum::<f64>(), x.len() as f64);
    /// ```
    #[doc(alias("num_threads", "omp_get_max_threads", "current_num_threads", "available_parallelism"))]
    pub fn bees() -> usize;

    /// Runs a loop on the [current](crate#which-hive) hive: a region and a loop in one. See [`Hive::par_for`].
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let sum = AtomicUsize::new(0);
    /// hive::par_for((0..1000, hive::Schedule::Dynamic(16)), |range, _| {
    ///     sum.fetch_add(range.sum(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 499_500);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_for`].
    #[inline]
    #[track_caller]
    #[doc(alias("parallel for", "parallel_for", "omp for", "for_each", "par_iter", "omp parallel for", "taskloop"))]
    pub fn par_for<F>(work: impl IntoLoop, body: F) where [F: Fn(Range<usize>, &Bee<'_>) + Sync];

    /// Combines what `map` returns for parts of `range`, on the [current](crate#which-hive) hive. See
    /// [`Hive::par_reduce`].
    ///
    /// ```
    /// use hive::{Reduction, Schedule};
    ///
    /// let next = |n: usize| if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
    /// let steps = |start: usize| std::iter::successors(Some(start), |n| (*n > 1).then(|| next(*n))).count();
    /// let max = Reduction::unordered((0, 0), std::cmp::max);
    /// let longest = hive::par_reduce((1..10_000, Schedule::Dynamic(64)), &max, |range| {
    ///     range.map(|start| (steps(start), start)).max().unwrap()
    /// });
    /// assert_eq!(longest, (262, 6171));
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_reduce`].
    #[track_caller]
    #[doc(alias("reduction", "sum", "fold", "par_iter", "omp reduction"))]
    pub fn par_reduce<L, T, F, M>(work: impl IntoLoop, reduction: &Reduction<L, T, F>, map: M) -> T
    where [L: Reproducibility, T: Clone + Send, F: Fn(T, T) -> T + Sync, M: Fn(Range<usize>) -> T + Sync];

    /// Replaces each element of `data` by its prefix sum, on the [current](crate#which-hive) hive. See
    /// [`Hive::par_scan`].
    ///
    /// ```
    /// use hive::{Reduction, Scan};
    ///
    /// // A distribution from the probabilities of its values.
    /// let mut p = vec![0.25; 4];
    /// hive::par_scan(&mut p, &Reduction::deterministic(0.0, |a, b| a + b), Scan::Inclusive);
    /// assert_eq!(p, [0.25, 0.5, 0.75, 1.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::par_scan`].
    #[track_caller]
    #[doc(alias("prefix sum", "cumsum", "inscan", "scan"))]
    pub fn par_scan<L, T, F>(data: &mut [T], reduction: &Reduction<L, T, F>, scan: Scan)
    where [L: Reproducibility, T: Copy + Send + Sync + 'static, F: Fn(T, T) -> T + Sync];

    /// Runs `body` and the tasks that it spawns on the [current](crate#which-hive) hive. See [`Hive::scope`].
    ///
    /// ```
    /// let mut sum = 0;
    /// hive::scope(|scope| scope.spawn(|_| sum = 1 + 2));
    /// assert_eq!(sum, 3);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::scope`].
    #[doc(alias("taskgroup", "omp taskgroup"))]
    pub fn scope<'scope, R>(body: impl FnOnce(&Scope<'scope>) -> R + Send) -> R where [R: Send];

    /// Queues a task on the [current](crate#which-hive) hive. See [`Hive::spawn`].
    ///
    /// ```
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let field = vec![0.5; 1000];
    /// hive::spawn(move || sender.send(field.iter().sum::<f64>()).unwrap());
    /// // The caller may go on with something else meanwhile.
    /// assert_eq!(receiver.recv()?, 500.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`Hive::spawn`].
    #[doc(alias = "omp task")]
    pub fn spawn(task: impl FnOnce() + Send + 'static);

    /// Queues a task that only one bee of the [current](crate#which-hive) hive runs. See [`Hive::spawn_on`].
    ///
    /// ```
    /// let solver = hive::Hive::new(2)?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// solver.install(|| hive::spawn_on(1, move || sender.send(hive::current()).unwrap()));
    /// assert_eq!(receiver.recv()?.map(|bee| bee.id), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`Hive::spawn_on`].
    pub fn spawn_on(bee: usize, task: impl FnOnce() + Send + 'static);

    /// What the bees of the [current](crate#which-hive) hive have done so far. See [`Hive::stats`].
    ///
    /// ```
    /// println!("{}", hive::stats());
    /// ```
    pub fn stats() -> Stats;

    /// Which settings of the [current](crate#which-hive) hive are in effect, and why. See [`Hive::report`].
    ///
    /// ```
    /// println!("{}", hive::report());
    /// ```
    pub fn report() -> Report;

    /// Runs `work` once on each worker of the [current](crate#which-hive) hive, not on its queen. See
    /// [`Hive::broadcast`].
    ///
    /// ```
    /// // Something that each worker's thread needs once, such as a library's state of its own.
    /// let workers = hive::broadcast(|bee| bee);
    /// assert!(workers.into_iter().eq(1..hive::bees()));
    /// ```
    ///
    /// # Panics
    /// As [`Hive::broadcast`].
    pub fn broadcast<R>(work: impl Fn(usize) -> R + Sync) -> Vec<R> where [R: Send];

    /// Runs `work` as a bee of the [current](crate#which-hive) hive. See [`Hive::install`].
    ///
    /// ```
    /// assert_eq!(hive::install(|| 42), 42);
    /// ```
    ///
    /// # Panics
    /// As [`Hive::install`].
    #[doc(alias = "ThreadPool::install")]
    pub fn install<R>(work: impl FnOnce() -> R + Send) -> R where [R: Send];

    /// Changes the size of the [current](crate#which-hive) hive to `bees` bees. See [`Hive::resize`].
    ///
    /// ```
    /// hive::resize(1)?; // this process needs no more than one core from here on
    /// hive::wait_until_parked();
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hive::resize`].
    #[doc(alias("omp_set_num_threads", "num_threads"))]
    pub fn resize(bees: usize) -> Result<(), Error>;

    /// Keeps the bees of the [current](crate#which-hive) hive polling while `section` runs. See
    /// [`Hive::keep_spinning`].
    ///
    /// ```
    /// let mut x = vec![1.0_f64; 10_000];
    /// hive::keep_spinning(|| {
    ///     for _step in 0..10 {
    ///         hive::par_for_mut(&mut x, hive::Schedule::Static, |_, x, _| x.iter_mut().for_each(|x| *x = x.cos()));
    ///         x[0] = x[9_999]; // however long this takes, the next loop finds the bees awake
    ///     }
    /// });
    /// ```
    #[doc(alias("OMP_WAIT_POLICY", "busy wait"))]
    pub fn keep_spinning<R>(section: impl FnOnce() -> R) -> R;

    /// Sends the bees of the [current](crate#which-hive) hive to sleep at once. See [`Hive::stop_spinning`].
    ///
    /// ```
    /// hive::par_for(0..1000, |range, _| drop(range));
    /// hive::stop_spinning(); // a library with threads of its own comes next
    /// ```
    pub fn stop_spinning();

    /// Waits until no surplus worker of the [current](crate#which-hive) hive is on a core. See
    /// [`Hive::wait_until_parked`].
    ///
    /// ```
    /// hive::resize(1)?;
    /// hive::wait_until_parked();
    /// assert_eq!(hive::global().bees_not_yet_tucked_in(), 0); // one core is in use from here on
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_until_parked();
}
