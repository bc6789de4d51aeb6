//! How a program asks for a hive: the public [`Builder`], and the validated [`Config`] that comes out of it.
//!
//! For each setting, the value that the program gives to the builder comes first, then the environment variable, then
//! the default. `Hive::build` calls [`Builder::resolve`] once for each hive; from then on everything reads the
//! `Config`.

use std::any::Any;
use std::path::PathBuf;
use std::time::Duration;

use crate::pool::environment::Environment;
use crate::pool::error::{BuildError, BuildProblem};
use crate::pool::handle::Hive;
use crate::pool::hooks::{Hook, Hooks};
use crate::protocol::region::max_bees::MAX_BEES;
use crate::protocol::region::shape::BarrierShape;
use crate::topology::binding_request::{Binding, BindingRequest};
use crate::topology::pin_policy::Pin;
use crate::topology::place_list::PlaceList;
use crate::topology::proc_bind::ProcBind;
use crate::topology::shrink::Shrink;

/// The limit on a hive's bees if the program does not set one with `max_bees`.
const DEFAULT_MAX_BEES: usize = 1024;

/// How long a waiting bee polls before it sleeps, if neither the program nor the environment sets a time.
const DEFAULT_SPIN: Duration = Duration::from_micros(200);

/// What the names of worker threads begin with, if the program does not set a name.
pub(crate) const DEFAULT_THREAD_NAME: &str = "hive-bee";

/// Settings for a hive that is to be built: see [`Hive::builder`].
///
/// A setting that the program does not make here is taken from the environment ([`HIVE_NUM_BEES`, `HIVE_PIN` and so
/// on](crate#environment)). If the environment does not have it either, the default applies that is named with each
/// method.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct Builder {
    // In each field that is an `Option`, None means that the program has not set it.
    pub(crate) bees: Option<usize>,
    pub(crate) max_bees: Option<usize>,
    pub(crate) binding_options: BindingRequest,
    pub(crate) pin_queen: bool,
    barrier_shape: Option<BarrierShape>,
    spin: Option<Duration>,
    pub(crate) thread_name: Option<String>,
    stack_size: Option<usize>,
    sleep: SleepProtocol,
    poll_interval: Option<Duration>,
    watchdog_limit: Option<Duration>,
    trace: Option<PathBuf>,
    hooks: Hooks,
    #[cfg(feature = "rayon")]
    pub(crate) host_rayon: bool,
}

/// How bees without tasks go to sleep, and which of them are woken for new tasks. See `docs/sleep.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SleepProtocol {
    /// A counter of job events decides: as many sleepers are woken as there are new tasks for. The default.
    #[default]
    Jec,
    /// At most one bee at a time is about to fall asleep, and new tasks wake all sleepers at once.
    Tickle,
    /// For each new task one sleeping bee is woken and told where the task is.
    Notify,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The number of bees to start with, including the queen: at least 1.
    ///
    /// Default: the number of CPUs that this process may really use, by its affinity mask and its cgroup quota (rounded
    /// down).
    pub fn bees(mut self, bees: usize) -> Self {
        self.bees = Some(bees);
        self
    }

    /// The number of bees that the hive may grow to: from 1 to 65,535. Default: 1,024, or the default of
    /// [`bees`](Self::bees) where that is more.
    ///
    /// With 1 the queen runs all regions alone. Even such a hive hires one worker when there are tasks that the queen
    /// cannot run: tasks that are [spawned](Hive::spawn), and the joins, scopes and [`install`](Hive::install)s of
    /// threads that find the queen's place taken. That worker is not a bee of any team: it takes part in no region,
    /// counts neither in [`Hive::bees`] nor in this limit, gets no [`broadcast`](Hive::broadcast), and stays parked
    /// while there are no such tasks.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(1).max_bees(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// hive.spawn(move || sender.send(6 * 7).unwrap());
    /// assert_eq!((receiver.recv(), hive.bees()), (Ok(42), 1));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn max_bees(mut self, max_bees: usize) -> Self {
        self.max_bees = Some(max_bees);
        self
    }

    /// What bees are bound to. Default: [`Pin::Core`] as long as each bee can have a CPU of its own that no other hive
    /// of the process has. In a hive that is built with more bees than that, no bee is bound. In a hive that grows
    /// beyond that number later, the additional bees are not bound.
    ///
    /// This is the short form of [`places`](Self::places) and [`proc_bind`](Self::proc_bind) and excludes both: it is
    /// an error to give a builder `pin` and one of them.
    pub fn pin(mut self, pin: Pin) -> Self {
        self.binding_options.pin = Some(pin);
        self
    }

    /// The places that bees are bound to, in OpenMP's grammar. Default: no places, so that [`pin`](Self::pin) decides;
    /// if there is a [`proc_bind`](Self::proc_bind), the places are the `cores`. See
    /// [`guides::places`](crate::guides::places).
    ///
    /// ```
    /// use hive::{Hive, ProcBind};
    ///
    /// let hive = Hive::builder().bees(2).places("threads".parse()?).proc_bind(ProcBind::Spread).build()?;
    /// assert!(hive.report().to_string().contains("places threads, bound by spread"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn places(mut self, places: PlaceList) -> Self {
        self.binding_options.places = Some(places);
        self
    }

    /// The OpenMP policy by which bees are bound to the places. Default: [`ProcBind::True`], hive's own order.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).proc_bind(hive::ProcBind::Primary).build()?;
    /// assert_eq!(hive.places()[0], hive.places()[1]);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn proc_bind(mut self, bind: ProcBind) -> Self {
        self.binding_options.proc_bind = Some(bind);
        self
    }

    /// Which places the hive gives up when it shrinks; in other words, the order in which bees get their places.
    /// Default: [`Shrink::Compact`], which gives up whole clusters first, then whole nodes. Excludes
    /// [`ProcBind::Primary`], `Close` and `Spread`, because these policies set an order of their own.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).shrink(hive::Shrink::Spread).build()?;
    /// assert!(hive.report().to_string().contains("spread"));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn shrink(mut self, shrink: Shrink) -> Self {
        self.binding_options.shrink = Some(shrink);
        self
    }

    /// Whether to bind the thread that calls [`build`](Self::build) as well: to the place of bee 0, until the hive is
    /// dropped. Default: false; the queen's thread belongs to the program, and hive leaves its affinity alone.
    ///
    /// The thread gets its old mask back when the hive is dropped on that thread. If the hive is dropped on another
    /// thread, the first thread stays bound. If the hive is built in the destructor of a thread-local, the thread may
    /// stay unbound.
    pub fn pin_queen(mut self, pin_queen: bool) -> Self {
        self.pin_queen = pin_queen;
        self
    }

    /// The groups in which bees start and meet. Default: [`BarrierShape::Auto`].
    pub fn barrier(mut self, shape: BarrierShape) -> Self {
        self.barrier_shape = Some(shape);
        self
    }

    /// How long a waiting bee polls before it yields its core for a moment and then sleeps. `Duration::MAX` means for
    /// ever. Default: 200 us.
    ///
    /// A bee polls for at least about a microsecond. While more bees are awake than there are CPUs, it does not poll at
    /// all.
    pub fn spin(mut self, spin: Duration) -> Self {
        self.spin = Some(spin);
        self
    }

    /// How bees without tasks go to sleep, and which of them are woken for new tasks. Default: [`SleepProtocol::Jec`].
    pub fn sleep(mut self, sleep: SleepProtocol) -> Self {
        self.sleep = sleep;
        self
    }

    /// How often sleeping bees wake up by themselves and look for work, in addition to being woken for it. Default:
    /// None, never.
    ///
    /// Correctness does not depend on it. It is a safety net against a fault in hive itself: a lost wake-up then shows
    /// in [`Counts::rescues`](crate::Counts::rescues) instead of in a program that hangs.
    pub fn poll(mut self, every: Option<Duration>) -> Self {
        self.poll_interval = every;
        self
    }

    /// How long a bee may wait at a barrier, or the queen at the end of a region, before the hive reports it on
    /// standard error. Default: None, never.
    ///
    /// The report comes from a thread of the hive's own. It says which bees are missing and what each of them is doing:
    /// it runs its part of the region, is in a task, is asleep, or has not arrived at the region yet. The hive reports
    /// again each time the wait has lasted twice as long. This is for finding out why a program stands still. The bees
    /// of such a hive record what they are doing, which takes a nanosecond or two for each barrier.
    pub fn deadlock_watchdog(mut self, limit: Option<Duration>) -> Self {
        self.watchdog_limit = limit;
        self
    }

    /// A file to which the hive writes a timeline when it is dropped, or when the process ends while the hive still
    /// exists. [`Hive::write_trace`] writes it at once. Default: none.
    ///
    /// The timeline shows when each bee ran its part of a region, waited at a barrier, ran, searched for or stole a
    /// task, slept, and was parked. It is in Chrome's trace event format (JSON), which <https://ui.perfetto.dev>
    /// displays. `docs/tracing.md` explains the names in the file.
    ///
    /// If another hive of the process already has the same file, this one gets a file with a number before the
    /// extension. If the file cannot be made, nothing is traced and [`Hive::report`] has a warning. The log of each bee
    /// ends after a million events, and the file says so if that happens; each event takes some 40 ns and 16 bytes.
    ///
    /// ```
    /// let file = std::env::temp_dir().join(format!("hive-{}.json", std::process::id()));
    /// let hive = hive::Hive::builder().bees(2).trace(&file).build()?;
    /// hive.spmd(2, |bee| bee.barrier());
    /// drop(hive);
    /// assert!(std::fs::read_to_string(&file)?.contains("\"barrier\""));
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Self {
        self.trace = Some(file.into());
        self
    }

    /// A function that gets the panic of a task that nobody waits for ([`Hive::spawn`], [`Hive::spawn_on`]), and of the
    /// other two handlers. Default: the process ends after the panic hook's message.
    ///
    /// If the handler itself panics, the process ends. That includes a panic in the drop of the payload, if the handler
    /// drops it.
    ///
    /// ```
    /// use std::sync::{Mutex, mpsc};
    ///
    /// let (sender, receiver) = mpsc::channel();
    /// let sender = Mutex::new(sender);
    /// let handler = move |panic| sender.lock().unwrap().send(panic).unwrap();
    /// let hive = hive::Hive::builder().bees(2).panic_handler(handler).build()?;
    /// hive.spawn(|| panic!("nobody waits for this"));
    /// assert_eq!(receiver.recv().unwrap().downcast_ref(), Some(&"nobody waits for this"));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn panic_handler(mut self, handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static) -> Self {
        self.hooks.panic = Some(Hook::new(handler));
        self
    }

    /// A function that each worker calls with its number when its thread begins, before it takes part in anything.
    ///
    /// The handler runs as a task of the worker and may use any hive as a task may, including its own. There, a region
    /// is a team of one; joins and scopes use the worker's queues, so that the worker may run other tasks inside them;
    /// and [`Hive::broadcast`] panics. The handler can reach its hive through a static or a [`Weak`](std::sync::Weak)
    /// that is filled when the hive has been built: building a hive, [`Hive::resize`] and [`Hive::spawn`] do not wait
    /// for handlers. But a region whose team includes the worker does wait for its handler, and so does a task that
    /// only this worker may run. The handler must not wait for one of these in turn.
    ///
    /// ```
    /// use std::sync::{Arc, OnceLock, Weak};
    ///
    /// let place = Arc::new(OnceLock::<Weak<hive::Hive>>::new());
    /// let (found, (sender, receiver)) = (place.clone(), std::sync::mpsc::channel());
    /// let sender = std::sync::Mutex::new(sender);
    /// let hive = Arc::new(hive::Hive::builder().bees(2).start_handler(move |bee| {
    ///     let Some(hive) = found.wait().upgrade() else { return };
    ///     let counts = hive.spmd_map(2, |bee| bee.bees());
    ///     sender.lock().unwrap().send((bee, counts)).unwrap();
    /// }).build()?);
    /// place.set(Arc::downgrade(&hive)).expect("set once");
    /// assert_eq!(receiver.recv(), Ok((1, vec![1])));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// A panic of the handler goes to the [`panic_handler`](Self::panic_handler), and the worker goes on.
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.start = Some(Hook::new(handler));
        self
    }

    /// A function that each worker calls with its number when its thread is about to end, after everything else.
    ///
    /// The handler runs on the worker's thread and may use other hives as a task may, as the
    /// [`start_handler`](Self::start_handler) does. Its own hive is being dropped by then and can no longer be reached.
    ///
    /// # Panics
    /// A panic of the handler goes to the [`panic_handler`](Self::panic_handler), and the worker ends all the same.
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.exit = Some(Hook::new(handler));
        self
    }

    /// Whether the hive's bees are also the workers of a rayon pool, so that [`Hive::rayon`] can run parallel iterators
    /// on them. Default: false.
    ///
    /// The pool has as many workers as the hive has bees when it is built. The thread that calls [`build`](Self::build)
    /// remains one of the pool's workers for good: see [`adapters::rayon`](crate::adapters::rayon).
    #[cfg(feature = "rayon")]
    pub fn host_rayon(mut self, host_rayon: bool) -> Self {
        self.host_rayon = host_rayon;
        self
    }

    /// What the names of the worker threads begin with; the worker's number follows: "NAME-3". Default: "hive-bee".
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.thread_name = Some(name.into());
        self
    }

    /// The size of the workers' stacks in bytes. Default: that of `std::thread`, 2 MiB or `RUST_MIN_STACK`.
    ///
    /// The stack has to hold what closures put on the stack, not what they capture. What a task captures lies on the
    /// heap, and the body of a region stays with the caller, however large it is. A result of
    /// [`spmd_map`](crate::spmd_map) or [`broadcast`](crate::broadcast()) is copied once on the stack of the bee that
    /// returns it.
    ///
    /// The two halves of a [`join`](crate::join()) with their results, and the values that bees combine (in reductions,
    /// scans and other collective operations), are copied several times; in a build without optimisation, some tens of
    /// times. Box such values if they are larger than a 64th of the stack, which is 32 KiB of 2 MiB. All this applies
    /// to the stack of the calling thread as well. In a build without optimisation that stack also needs room for some
    /// copies of what the caller's closure captures.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Builds the hive and starts its workers, which park or sleep until they are needed.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let hive = hive::Hive::builder().bees(2).spin(Duration::from_millis(1)).thread_name("solver").build()?;
    /// assert_eq!(hive.bees(), 2);
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// - A number is out of range.
    /// - A list of CPUs to pin to contains one that the process may not use, or no place of a list of places has a CPU
    ///   that it may use, or other hives of the process have claimed all cores.
    /// - Two settings exclude one another.
    /// - There is no room for so many threads, or the system makes no more of them. The error says which limit it is.
    ///   The threads made so far have then ended.
    ///
    /// It is no error if a thread cannot be bound: [`Hive::report`] has a warning.
    pub fn build(self) -> Result<Hive, BuildError> {
        Hive::build(&self)
    }

    /// Combines this builder with `environment`, for a machine with `cpus` usable CPUs, and checks the result.
    pub(crate) fn resolve(&self, environment: &Environment, cpus: usize) -> Result<Config, BuildError> {
        let default_bees = environment.bees.unwrap_or(cpus);
        let max_bees = self.max_bees.unwrap_or(DEFAULT_MAX_BEES.max(default_bees));
        // If the environment or the machine asks for more bees than the program's `max_bees`, the hive is cut to that
        // limit; only a number that the program itself has set too high is an error.
        let bees = self.bees.unwrap_or(default_bees.min(max_bees));
        check_bees(bees, max_bees)?;
        let name = self.thread_name.clone().unwrap_or_else(|| DEFAULT_THREAD_NAME.to_owned());
        if name.contains('\0') {
            return Err(BuildError(BuildProblem::ThreadName(name)));
        }
        if self.poll_interval == Some(Duration::ZERO) {
            return Err(BuildError(BuildProblem::ZeroPollInterval));
        }
        if self.watchdog_limit == Some(Duration::ZERO) {
            return Err(BuildError(BuildProblem::ZeroWatchdogLimit));
        }
        let contradiction_error = |contradiction| BuildError(BuildProblem::Contradiction(contradiction));
        let resolved = self.binding_options.resolve(&environment.binding_options).map_err(contradiction_error)?;
        Ok(Config {
            bees: bees as u32,
            max_bees: max_bees as u32,
            binding: resolved.binding,
            is_from_environment: resolved.is_from_environment,
            shrink: resolved.shrink,
            warnings: resolved.warnings,
            pin_queen: self.pin_queen,
            barrier_shape: self.barrier_shape.or(environment.barrier_shape).unwrap_or_default(),
            spin: self.spin.or(environment.spin).unwrap_or(DEFAULT_SPIN),
            sleep: self.sleep,
            poll_interval: self.poll_interval,
            watchdog_limit: self.watchdog_limit,
            trace: self.trace.clone().or_else(|| environment.trace.clone()),
            hooks: self.hooks.clone(),
            thread_name: name,
            stack_size: self.stack_size,
            #[cfg(feature = "rayon")]
            host_rayon: self.host_rayon,
        })
    }
}

/// Checks that `1 <= bees <= max_bees <= MAX_BEES`.
fn check_bees(bees: usize, max_bees: usize) -> Result<(), BuildError> {
    let limit = MAX_BEES as usize;
    let problem = if bees == 0 {
        BuildProblem::NoBees
    } else if !(1..=limit).contains(&max_bees) {
        BuildProblem::MaxBees { requested: max_bees, limit }
    } else if bees > max_bees {
        BuildProblem::BeesAboveMax { bees, max_bees }
    } else {
        return Ok(());
    };
    Err(BuildError(problem))
}

/// A complete and validated description of a hive that is to be built. Never changes afterwards.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The number of bees to start with, including the queen; at least 1 and at most `max_bees`.
    pub(crate) bees: u32,
    /// The number of bees that the hive may grow to; at most [`MAX_BEES`].
    pub(crate) max_bees: u32,
    /// What bees are bound to. None: neither the program nor the environment says, and the number of bees decides.
    pub(crate) binding: Option<Binding>,
    /// Whether a list of CPUs or places in `binding` comes from the environment. CPUs in such a list that the process
    /// may not use are a warning and no error, because the person who sets a variable may not know the machine.
    pub(crate) is_from_environment: bool,
    /// The order in which a shrinking hive gives up its places.
    pub(crate) shrink: Shrink,
    /// Settings that have no effect because others take precedence over them.
    pub(crate) warnings: Vec<String>,
    /// Whether the building thread is bound to the place of bee 0.
    pub(crate) pin_queen: bool,
    /// The groups in which bees start and meet.
    pub(crate) barrier_shape: BarrierShape,
    /// How long a waiting bee polls before it sleeps. `Duration::MAX`: for ever.
    pub(crate) spin: Duration,
    /// How bees without tasks go to sleep and are woken.
    pub(crate) sleep: SleepProtocol,
    /// How often sleeping bees wake up by themselves. None: never. Not zero.
    pub(crate) poll_interval: Option<Duration>,
    /// How long a bee may wait before the watchdog reports it. None: there is no watchdog. Not zero.
    pub(crate) watchdog_limit: Option<Duration>,
    /// The file for the timeline. None: the hive is not traced.
    pub(crate) trace: Option<PathBuf>,
    /// The program's functions for the beginning and end of workers, and for panics that nobody waits for.
    pub(crate) hooks: Hooks,
    /// What the names of worker threads begin with; without NUL bytes.
    pub(crate) thread_name: String,
    /// The size of a worker's stack in bytes. None: the standard library's default.
    pub(crate) stack_size: Option<usize>,
    /// Whether the bees are also the workers of a rayon pool.
    #[cfg(feature = "rayon")]
    pub(crate) host_rayon: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(builder: &Builder, environment: &Environment) -> Result<Config, String> {
        builder.resolve(environment, 4).map_err(|error| error.to_string())
    }

    #[test]
    fn the_builder_goes_before_the_environment_and_that_before_the_defaults() {
        let environment = Environment {
            bees: Some(3),
            binding_options: BindingRequest { pin: Some(Pin::Node), ..BindingRequest::default() },
            spin: Some(Duration::from_micros(7)),
            trace: Some("e".into()),
            ..Environment::default()
        };
        let pinned = |pin| Some(Binding::Pin(pin));
        let config = resolve(&Builder::new(), &Environment::default()).unwrap();
        assert_eq!((config.bees, config.max_bees, config.binding, config.spin), (4, 1024, None, DEFAULT_SPIN));
        let config = resolve(&Builder::new(), &environment).unwrap();
        assert_eq!((config.bees, config.binding, config.spin), (3, pinned(Pin::Node), Duration::from_micros(7)));
        assert_eq!(config.trace, Some("e".into()));
        let builder = Builder::new().bees(2).pin(Pin::None).spin(Duration::ZERO).trace("b");
        let config = resolve(&builder, &environment).unwrap();
        assert_eq!((config.bees, config.binding, config.spin), (2, pinned(Pin::None), Duration::ZERO));
        assert_eq!(config.trace, Some("b".into()));
    }

    #[test]
    fn sizes_out_of_range_are_refused_with_the_numbers() {
        let none = Environment::default();
        assert!(resolve(&Builder::new().bees(0), &none).unwrap_err().contains("0 bees"));
        let above = resolve(&Builder::new().bees(9).max_bees(8), &none).unwrap_err();
        assert!(above.contains("9 bees") && above.contains("max_bees, 8"), "{above}");
        let absurd = resolve(&Builder::new().bees(1).max_bees(1 << 40), &none).unwrap_err();
        assert!(absurd.contains("1099511627776") && absurd.contains("65535"), "{absurd}");
        assert!(resolve(&Builder::new().bees(usize::MAX), &none).is_err());
        assert!(resolve(&Builder::new().thread_name("a\0b"), &none).unwrap_err().contains("NUL"));
    }

    #[test]
    fn a_machine_or_environment_above_the_program_s_limit_is_cut_to_it() {
        assert_eq!(resolve(&Builder::new().max_bees(2), &Environment::default()).unwrap().bees, 2);
        let many = Environment { bees: Some(2000), ..Environment::default() };
        let config = resolve(&Builder::new(), &many).unwrap();
        assert_eq!((config.bees, config.max_bees), (2000, 2000));
    }
}
