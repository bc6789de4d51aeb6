//! The handle: what a program holds of a hive.

use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

use crate::observe::stats::Stats;
use crate::observe::trace::Tracer;
use crate::pool::config::Builder;
use crate::pool::environment::Environment;
use crate::pool::error::{BuildError, BuildProblem, ResizeError, SpmdError};
use crate::pool::report::Report;
use crate::pool::shared::Shared;
use crate::region::bee::{Bee, UserBody};
use crate::region::results;
use crate::sys::{process, stderr};
use crate::tasks::heap_job::is_large;
use crate::topology::affinity_guard::AffinityGuard;
use crate::topology::machine_info::MachineInfo;
use crate::topology::place_assignment::Place;
use crate::topology::place_map::PlaceMap;

/// A set of threads for numeric code: a queen, who is whichever thread calls, and bees, who run regions with her.
///
/// Most programs use the global one, through the free functions of this crate: [`spmd`](crate::pool::global::spmd), [`resize`](crate::pool::global::resize) and
/// so on. A hive of its own is for a program part with its own size, places or waiting.
///
/// # Waiting
/// A bee that waits for a region polls for the [`spin`](Builder::spin) time (200 us by default), yields its core a few times, and then
/// sleeps until a region needs it. The queen at the end of a region, and bees at a barrier, do the same. While more bees
/// are awake in the process than it has CPUs, nobody polls.
///
/// # Signals
/// Bees block all signals, so handlers run on the program's own threads; but for those of faults, and SIGPROF and SIGVTALRM, by which profilers interrupt whoever uses CPU time: these stay as
/// the thread has them that makes the bee. A thread spawned from a bee inherits this.
///
/// A signal handler must call nothing of hive: not one function is made for that, and most take a lock which the interrupted thread may have.
///
/// # Fork
/// A child made by `fork` has none of the bees. Each region of a hive from before the fork is an error there; the child may build a hive of its
/// own. One that is forked inside a region or a task may do that, too, and must leave from there, by `exec` or `_exit`: where it comes back or waits for other bees it is
/// aborted. Other threads must not be starting or ending threads while one forks, which the standard library does not bear. What a child may do, and why, is in
/// `docs/fork.md`.
///
/// # The end of a thread
/// Everything works in the destructor of a thread-local and in an `atexit` handler, too, on any thread, whatever has become of hive's own thread-locals by then. Only
/// [`pin_queen`](Builder::pin_queen) may bind nobody there.
///
/// # Drop
/// Dropping a hive ends its bees, after what is queued for them, and waits for their threads. It cannot happen while a
/// region runs, which borrows the hive.
///
/// Dropped on a bee of its own, it waits for the others (not if it hosts rayon, whose jobs these may be waiting for).
/// Dropped on a bee of another hive for which this one's bees may be waiting, directly or over further hives, it does
/// not wait, since nobody could go on: two hives, each dropped by a task of the other, both end. The bees then run what
/// is queued and end by themselves, and the last of them writes the [timeline](Builder::trace). What hive cannot see is
/// a wait by other means, such as a channel or a thread that a task joins.
pub struct Hive {
    pub(crate) shared: Arc<Shared>,
    /// What the building thread is bound by, with `pin_queen(true)`.
    _queen_affinity: Option<AffinityGuard>,
    #[cfg(feature = "rayon")]
    pub(crate) rayon_pool: Option<crate::adapters::rayon::RayonPool>,
}

impl Hive {
    /// A hive of `bees` bees, the queen among them; the rest as [`builder`](Self::builder) has it.
    ///
    /// ```
    /// let hive = hive::Hive::new(3)?;
    /// assert_eq!(hive.spmd_map(3, |bee| bee.id()), [0, 1, 2]);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new(bees: usize) -> Result<Self, BuildError> {
        Self::builder().bees(bees).build()
    }

    /// Asks for a hive with other than the usual properties.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn build(builder: &Builder) -> Result<Self, BuildError> {
        process::initialize_libraries();
        let mut machine_info = MachineInfo::detect();
        let environment = Environment::read();
        let config = builder.resolve(&environment, machine_info.usable_cpus())?;
        machine_info.warnings.extend(environment.warnings);
        machine_info.warnings.extend_from_slice(&config.warnings);
        let place_map = PlaceMap::build(&config, &machine_info)?;
        if let Some(warning) = &place_map.warning {
            machine_info.warnings.push(warning.clone());
            // Who sets a variable seldom sees the report.
            if config.is_from_environment {
                stderr::warn_once(warning);
            }
        }
        let tracer = config.trace.as_deref().map(Tracer::open).transpose();
        let tracer = tracer.unwrap_or_else(|warning| {
            machine_info.warnings.push(warning);
            None
        });
        let mut hive = Self {
            shared: Shared::new(config, machine_info, place_map, tracer),
            _queen_affinity: None,
            #[cfg(feature = "rayon")]
            rayon_pool: None,
        };
        hive.bind_queen();
        #[cfg(feature = "rayon")]
        if hive.shared.config.host_rayon {
            hive.start_rayon_pool()?;
        }
        // On an error the hive is dropped, and with it the bees hired so far.
        hive.shared.start_initial_workers().map_err(|error| BuildError(BuildProblem::Threads(error)))?;
        hive.shared.start_observers().map_err(|error| BuildError(BuildProblem::WatchdogThread(error)))?;
        Ok(hive)
    }

    fn bind_queen(&mut self) {
        let place = self.shared.place_map.place_of(0).filter(|_| self.shared.config.pin_queen);
        if let Some(place) = place {
            match AffinityGuard::bind(place) {
                Ok(guard) => self._queen_affinity = guard,
                Err(error) => self.shared.add_warning(format!("the queen is not bound: {error}")),
            }
        }
    }

    /// Runs `body` once on each of `n` bees: a region. Returns when all are done.
    ///
    /// The calling thread is bee 0. The others are bees, truly running at the same time, so that they may wait for
    /// one another at [`Bee::barrier_shape`]. `body` may borrow from the caller. If the hive has fewer than `n` bees it grows first;
    /// if it has more, the others stay as they are: a change of team size costs nothing.
    ///
    /// A region started inside a region, a task or a join of the same hive runs at once as a team of one ([`Bee::count`] is 1); in the body of
    /// [`install`](Self::install) or of a [`scope`](Self::scope) in the queen's place it is a real team. Inside a region or a task of another
    /// hive it is a real team if this hive is free, and a team of one if it is busy: if another region is on, or one of the bees is in
    /// the middle of a task. So nesting hives in one another does not deadlock. From outside,
    /// a second queen waits for her turn; turns go in order of arrival. (A region's body must therefore not wait for
    /// a thread that waits for its turn on the same hive.)
    ///
    /// ```
    /// let mut data = vec![1.0; 1000];
    /// let chunks: Vec<_> = data.chunks_mut(250).map(std::sync::Mutex::new).collect();
    /// hive::spmd(4, |bee| {
    ///     for x in chunks[bee.id()].lock().unwrap().iter_mut() {
    ///         *x += bee.id() as f64;
    ///     }
    /// });
    /// assert_eq!(data[999], 4.0);
    /// ```
    ///
    /// # Panics
    /// If `n` is 0 or above [`max_bees`](Self::max_bees), if the system makes no more threads, or in a forked child; [`try_spmd`](Self::try_spmd)
    /// returns these as errors. And with the panic of the lowest bee whose `body` panicked: the others are let go from
    /// their barriers, all are waited for, and the hive is as good as before.
    ///
    /// It returns only if each bee's `body` has. One may catch its own panic, though others have been let go from their barriers because of it: then the region panics by itself, with
    /// a message that says who was cut short. What a bee is let go with is meant for its own region; caught there and resumed in another region or a task, it is a panic like any
    /// other, and says what has happened.
    #[inline]
    #[track_caller]
    pub fn spmd<F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) {
        if is_large(&body) { self.spmd_boxed(bees, body) } else { self.spmd_inline(bees, body) }
    }

    /// What is refused panics while `body` is there, so that the panic of its drop does not take the place of the reason.
    #[inline]
    #[track_caller]
    fn spmd_inline<F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) {
        let mut body = UserBody::new(body);
        if let Err(error) = self.shared.spmd(bees, &mut body) {
            panic_no_region(bees, &error);
        }
    }

    /// For a body that is so large that each move of it counts: without optimisation it lies in each frame on its way.
    #[cold]
    #[track_caller]
    fn spmd_boxed<F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) {
        let body = Box::new(body);
        self.spmd_inline(bees, move |bee: &Bee<'_>| body(bee));
    }

    /// As [`spmd`](Self::spmd), with an error where that panics because no region can start.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(1).max_bees(8).build()?;
    /// let error = hive.try_spmd(9, |_| ()).unwrap_err();
    /// assert!(error.to_string().contains("9 bees were asked for, and this hive's limit is 8"));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If `n` is 0 or above [`max_bees`](Self::max_bees), if the system makes no more threads, or in a forked child. `body` has then not
    /// run at all.
    ///
    /// # Panics
    /// With the panic of the lowest bee whose `body` panicked; see [`spmd`](Self::spmd).
    #[inline]
    pub fn try_spmd<F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) -> Result<(), SpmdError> {
        if is_large(&body) { self.try_spmd_boxed(bees, body) } else { self.shared.spmd(bees, &mut UserBody::new(body)) }
    }

    /// As [`spmd_boxed`](Self::spmd_boxed).
    #[cold]
    fn try_spmd_boxed<F: Fn(&Bee<'_>) + Sync>(&self, bees: usize, body: F) -> Result<(), SpmdError> {
        let body = Box::new(body);
        self.shared.spmd(bees, &mut UserBody::new(move |bee: &Bee<'_>| body(bee)))
    }

    /// Runs a region and returns what `body` returned, in order of the bees.
    ///
    /// The length is `n`, or 1 in a nested region.
    ///
    /// ```
    /// let parts = hive::spmd_map(4, |bee| bee.split(0..1000).sum::<usize>());
    /// assert_eq!(parts.len(), 4);
    /// assert_eq!(parts.iter().sum::<usize>(), 499_500);
    /// ```
    ///
    /// # Panics
    /// As [`spmd`](Self::spmd). Results that the other bees have returned by then are dropped, and if that panics, too, nobody hears of it.
    #[track_caller]
    #[expect(unsafe_code, reason = "each bee writes its own result without a lock")]
    pub fn spmd_map<R: Send, F: Fn(&Bee<'_>) -> R + Sync>(&self, bees: usize, body: F) -> Vec<R> {
        // No more than there can be bees: a region of `n` may be refused.
        results::collect_results(bees.min(self.max_bees()), |slots| {
            self.spmd(bees, move |bee| {
                // SAFETY: a region has one bee of each number, and ends before this does.
                unsafe { slots.write_with(bee.id(), bee.bees(), || body(bee)) };
            });
        })
    }

    /// Makes the hive `n` bees large, the queen among them. May be called by any thread at any time, and never waits.
    ///
    /// Shrinking makes bees surplus: each parks on its semaphore when it has nothing left to run, and costs nothing from then on;
    /// one that sleeps is not even woken. [`settle`](Self::settle) waits for them. Growing brings parked bees back, and keeps those
    /// that have not parked yet. From inside a region of this hive it takes effect when the region ends. A region that asks for more bees
    /// than there are grows the hive again.
    ///
    /// ```
    /// let hive = hive::Hive::new(4)?;
    /// hive.resize(1)?;
    /// hive.settle();
    /// assert_eq!((hive.bees(), hive.bees_not_yet_tucked_in()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If `n` is 0 or above [`max_bees`](Self::max_bees), if the system makes no more threads, or in a forked child. The size is then as before.
    pub fn resize(&self, bees: usize) -> Result<(), ResizeError> {
        self.shared.resize(bees)
    }

    /// Returns when no surplus bee is on a core, that is, when [`bees_not_yet_tucked_in`](Self::bees_not_yet_tucked_in) is 0: the cores are then
    /// free for others. Inside a region of this hive it returns at once. Inside a region or a task of any hive it does not wait for
    /// surplus bees that are in the middle of a task or a region themselves: they may be waiting for the caller, or be the caller. While
    /// another thread has the turn, those of the last region's team are taken to be in it still.
    pub fn wait_until_parked(&self) {
        self.shared.wait_until_parked();
    }

    /// Keeps all bees polling while `part` runs, however long they have nothing to do, so that each region in it starts as fast as the hardware can: for the steps of a
    /// simulation that have gaps in between, a token of an inference. Afterwards they wait as always.
    ///
    /// Bees that sleep are woken first. While more bees are awake in the process than it has CPUs, nobody polls even so. Sections may overlap and nest.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// let steps = hive.hot(|| {
    ///     (0..3).map(|step| {
    ///         std::thread::sleep(std::time::Duration::from_millis(1)); // output, a graphics card, ...
    ///         hive.spmd_map(2, |bee| step * bee.id()).into_iter().sum::<usize>()
    ///     }).collect::<Vec<_>>()
    /// });
    /// assert_eq!(steps, [0, 1, 2]);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn keep_spinning<R>(&self, section: impl FnOnce() -> R) -> R {
        let _spin_section = self.shared.team.policy().keep_spinning();
        // Wakes them. That no region can start is for those in the section to be told.
        let _ = self.try_spmd(self.bees(), |_| ());
        section()
    }

    /// Sends bees that wait for a region to sleep at once, instead of after the time they poll: for a program that knows that it will be busy with something else for a
    /// while. The next region or task wakes them as always. Never waits.
    ///
    /// ```
    /// let hive = hive::Hive::new(2)?;
    /// hive.spmd(2, |_| ());
    /// hive.relax(); // the next step is the disk's
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn stop_spinning(&self) {
        self.shared.team.policy().stop_spinning();
    }

    /// The number of bees, the queen among them; surplus bees are not.
    pub fn bees(&self) -> usize {
        self.shared.team.bees() as usize
    }

    /// The number of bees that the hive may grow to.
    pub fn max_bees(&self) -> usize {
        self.shared.config.max_bees as usize
    }

    /// The number of surplus bees that are still on a core: never too low, so that 0 means that the cores are free; while bees are being resized or called it may be one or two
    /// too high for a moment.
    pub fn bees_not_yet_tucked_in(&self) -> usize {
        self.shared.team.pending_parks() as usize
    }

    /// The places of the bees, in their order; None: not bound. Bee 0's is used only with [`pin_queen`](Builder::pin_queen).
    pub fn places(&self) -> Vec<Option<Place>> {
        (0..self.bees()).map(|bee| self.shared.place_map.place_of(bee).cloned()).collect()
    }

    /// What the bees have done so far: regions, tasks, steals, sleeps. Always counted, each bee's by itself; bees may be counting on while this reads.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Writes the timeline of a hive that is traced (see [`Builder::trace`]) as it is so far, and returns the file's name. It is written again, whole, when the hive is dropped or
    /// the process ends.
    ///
    /// May be called at any time, by any thread. Bees go on meanwhile; what they are in the middle of ends in the file with the moment of writing.
    ///
    /// ```
    /// let error = hive::Hive::new(1)?.write_trace().unwrap_err();
    /// assert!(error.to_string().contains("this hive is not traced"));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the hive is not traced, if the file cannot be written, or in a forked child.
    pub fn write_trace(&self) -> io::Result<PathBuf> {
        self.shared.write_trace()
    }

    /// What is in effect: bees, places, mask, quota, spin, how the machine was read, and every warning. Print it.
    pub fn report(&self) -> Report {
        Report::of(&self.shared)
    }

    pub(crate) fn add_warning(&self, warning: String) {
        self.shared.add_warning(warning);
    }
}

#[cold]
#[track_caller]
pub(crate) fn panic_no_region(bees: usize, error: &SpmdError) -> ! {
    panic!("no region of {bees}: {error}. (try_spmd returns this as an error.)")
}

impl Drop for Hive {
    fn drop(&mut self) {
        #[cfg(feature = "rayon")]
        self.release_rayon_pool();
        self.shared.shut_down();
    }
}

impl fmt::Debug for Hive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hive")
            .field("bees", &self.bees())
            .field("max_bees", &self.max_bees())
            .field("bees_not_yet_tucked_in", &self.bees_not_yet_tucked_in())
            .finish()
    }
}
