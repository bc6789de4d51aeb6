//! How a hive is asked for: the builder, over the environment, over the defaults; and the one validated result.

use std::any::Any;
use std::path::PathBuf;
use std::time::Duration;

use crate::pool::environment::Environment;
use crate::pool::error::{BuildError, BuildProblem};
use crate::pool::handle::Hive;
use crate::pool::hooks::{Hook, Hooks};
use crate::protocol::region::shape::BarrierShape;
use crate::protocol::region::start_line::MAX_BEES;
use crate::topology::binding_request::{Binding, BindingRequest};
use crate::topology::pin_policy::Pin;
use crate::topology::place_list::PlaceList;
use crate::topology::proc_bind::ProcBind;
use crate::topology::shrink::Shrink;

/// The limit on a hive's bees if the builder does not set another.
const DEFAULT_MAX_BEES: usize = 1024;

/// How long a waiting bee polls before it sleeps, if nobody says otherwise.
const DEFAULT_SPIN: Duration = Duration::from_micros(200);

/// What threads are called if nobody says otherwise.
pub(crate) const DEFAULT_THREAD_NAME: &str = "hive-bee";

/// Asks for a hive: see [`Hive::builder`].
///
/// What is not set here is taken from the environment ([`HIVE_NUM_BEES`, `HIVE_PIN` and so on](crate#environment)), and what is not set
/// there has the default named with each method.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct Builder {
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

/// How bees without tasks go to sleep, and who is woken for new ones. See `docs/sleep.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SleepProtocol {
    /// By the jobs event counter: as many are woken as there are tasks for. The default.
    #[default]
    Jec,
    /// One sleepy bee at a time, and all are woken at once.
    Tickle,
    /// One bee is told of each task, and where it is.
    Notify,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The number of bees to start with, the queen among them: at least 1.
    ///
    /// Default: the CPUs that this process may really use, by affinity mask and cgroup quota (rounded down).
    pub fn bees(mut self, bees: usize) -> Self {
        self.bees = Some(bees);
        self
    }

    /// The number of bees that the hive may grow to: from 1 to 65,535. Default: 1,024, or `bees` by default where that is more.
    ///
    /// With 1 the queen runs all regions alone. Such a hive, too, hires a bee when there are tasks that she cannot run:
    /// what is [spawned](Hive::spawn), and the joins, scopes and [`install`](Hive::install)s of threads that find her
    /// place taken. That bee is no bee: it takes part in no region, counts neither in [`Hive::bees`] nor in this
    /// limit, gets no [`broadcast`](Hive::broadcast), and lies parked while there are no such tasks.
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

    /// What bees are bound to. Default: [`Binding::Core`] as long as each bee gets a CPU of its own that no other hive of the process
    /// has; bees beyond that, and all of them in a hive that is built larger, are not bound.
    ///
    /// This is the short form of [`places`](Self::places) and [`proc_bind`](Self::proc_bind), and excludes them: a builder that has been given both is an error.
    pub fn pin(mut self, pin: Pin) -> Self {
        self.binding_options.pin = Some(pin);
        self
    }

    /// The places that bees are bound to, by OpenMP's grammar. Default: none, what [`pin_request`](Self::pin) says; `by_core` if there is a
    /// [`proc_bind`](Self::proc_bind). See [`guides::places`](crate::guides::places).
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

    /// By which of OpenMP's policies bees are bound to the places. Default: [`ProcBind::True`], hive's own order.
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

    /// Which places the hive gives up when it shrinks: the order in which bees get them. Default: [`Shrink::Compact`], whole clusters, then
    /// whole nodes. Excludes [`ProcBind::Primary`], `Close` and `Spread`, which are orders themselves.
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

    /// Whether to bind the thread that calls [`build`](Self::build), too: to the place of bee 0, until the hive is
    /// dropped. Default: false; the queen is the caller's thread, and is left alone.
    ///
    /// The thread gets its mask back when the hive is dropped on it. Dropped on another thread, the hive leaves it bound. In the destructor of a thread-local the thread may stay unbound.
    pub fn pin_queen(mut self, pin_queen: bool) -> Self {
        self.pin_queen = pin_queen;
        self
    }

    /// In which groups bees start and meet. Default: [`BarrierShape::Auto`].
    pub fn barrier(mut self, shape: BarrierShape) -> Self {
        self.barrier_shape = Some(shape);
        self
    }

    /// How long a waiting bee polls before it yields its core for a moment and then sleeps. `Duration::MAX`: for ever. At
    /// least about a microsecond; not at all while more bees are awake than there are CPUs. Default: 200 us.
    pub fn spin(mut self, spin: Duration) -> Self {
        self.spin = Some(spin);
        self
    }

    /// How bees without tasks go to sleep, and who is woken for new ones. Default: [`SleepProtocol::Jec`].
    pub fn sleep(mut self, sleep: SleepProtocol) -> Self {
        self.sleep = sleep;
        self
    }

    /// How often sleeping bees wake by themselves and look for something to do, beside being woken for it. Default: None, never.
    ///
    /// Nothing depends on it. It is for those who would rather find a fault of hive's in [`Counts::rescues`](crate::observe::stats::Counts::rescues) than in a program that hangs.
    pub fn poll(mut self, every: Option<Duration>) -> Self {
        self.poll_interval = every;
        self
    }

    /// How long a bee may wait at a barrier, or the queen at the end of a region, until a thread of the hive's own says on standard error who is missing, and what
    /// each of these is doing: in its part, in a task, asleep, not yet come. It says so again when the wait has lasted twice as long. Default: None, never.
    ///
    /// For finding out why a program stands still. Bees of such a hive write down what they are doing, which takes a nanosecond or two a barrier.
    pub fn deadlock_watchdog(mut self, limit: Option<Duration>) -> Self {
        self.watchdog_limit = limit;
        self
    }

    /// A file to which the hive writes a timeline when it is dropped, or when the process ends and the hive still lives: when each bee ran its part of a region,
    /// waited at a barrier, ran, searched for or stole a task, slept, lay parked. It is in Chrome's trace event format (JSON), for <https://ui.perfetto.dev>.
    /// [`Hive::write_trace`] writes it at once. Default: none.
    ///
    /// Another hive of the process that has the same file by then gets one with a number before the extension. If the file cannot be made, nothing is traced, and
    /// [`Hive::report`] has a warning. The log of each bee ends after a million events, and the file says so; each takes some 40 ns and 16 bytes. What the
    /// names in the file mean is in `docs/tracing.md`.
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

    /// What gets the panic of a task that nobody waits for ([`Hive::spawn`], [`Hive::spawn_on`]), and of the other handlers. If it panics itself, the process
    /// ends, as it does if the handler drops a payload whose drop panics. Default: the process ends, after the panic hook's message.
    ///
    /// ```
    /// use std::sync::{Mutex, mpsc};
    ///
    /// let (sender, receiver) = mpsc::channel();
    /// let sender = Mutex::new(sender);
    /// let hive = hive::Hive::builder().bees(2).panic_handler(move |panic| sender.lock().unwrap().send(panic).unwrap()).build()?;
    /// hive.spawn(|| panic!("nobody waits for this"));
    /// assert_eq!(receiver.recv().unwrap().downcast_ref(), Some(&"nobody waits for this"));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    pub fn panic_handler(mut self, handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static) -> Self {
        self.hooks.panic = Some(Hook::new(handler));
        self
    }

    /// What each bee calls with its number when its thread begins, before it takes part in anything.
    ///
    /// The handler runs as the bee, and may use any hive as a task may, its own, too: there a region is a team of one,
    /// joins and scopes use the bee's queues, so that it may run tasks of others in them, and [`Hive::broadcast`]
    /// panics. (Hives are reached through a static or a [`Weak`](std::sync::Weak) that is filled when they are built:
    /// building, [`Hive::resize`] and [`Hive::spawn`] do not wait for handlers.) A region that the bee is to take part
    /// in does wait for it, and so does a task that only this bee may run; the handler must not wait for such a one in
    /// turn.
    ///
    /// ```
    /// use std::sync::{Arc, OnceLock, Weak};
    ///
    /// let place = Arc::new(OnceLock::<Weak<hive::Hive>>::new());
    /// let (found, (sender, receiver)) = (place.clone(), std::sync::mpsc::channel());
    /// let sender = std::sync::Mutex::new(sender);
    /// let hive = Arc::new(hive::Hive::builder().bees(2).start_handler(move |bee| {
    ///     let Some(hive) = found.wait().upgrade() else { return };
    ///     let counts = hive.spmd_map(2, |bee| bee.count());
    ///     sender.lock().unwrap().send((bee, counts)).unwrap();
    /// }).build()?);
    /// place.set(Arc::downgrade(&hive)).expect("set once");
    /// assert_eq!(receiver.recv(), Ok((1, vec![1])));
    /// # Ok::<(), hive::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// A panic of the handler goes to the [`panic_handler`](Self::panic_handler), and the bee lives on.
    pub fn start_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.start = Some(Hook::new(handler));
        self
    }

    /// What each bee calls with its number when its thread is about to end, after all else.
    ///
    /// The handler runs as the bee, as the [`start_handler`](Self::start_handler) does. Its own hive is being dropped
    /// by then, and cannot be reached any more; other hives may be used as in a task.
    ///
    /// # Panics
    /// A panic of the handler goes to the [`panic_handler`](Self::panic_handler), and the bee ends all the same.
    pub fn exit_handler(mut self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.exit = Some(Hook::new(handler));
        self
    }

    /// Whether the hive's bees are the workers of a rayon pool, too, so that [`Hive::rayon`] can run parallel iterators on them. Default: false.
    ///
    /// The pool is as large as the hive at first, and the thread that calls [`build`](Self::build) is one of its workers for good: see [`adapters::rayon`](crate::adapters::rayon).
    #[cfg(feature = "rayon")]
    pub fn host_rayon(mut self, host_rayon: bool) -> Self {
        self.host_rayon = host_rayon;
        self
    }

    /// The bees' threads are called this and their number: "NAME-3". Default: "hive-bee".
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.thread_name = Some(name.into());
        self
    }

    /// The size of the bees' stacks in bytes. Default: that of `std::thread`, 2 MiB or `RUST_MIN_STACK`.
    ///
    /// That is for what closures have on the stack, not for what they capture: what a task captures lies on the heap, and what a region's body does stays with the caller, however large. A result of
    /// [`spmd_map`](crate::pool::global::spmd_map) or [`broadcast`](crate::pool::global::broadcast()) is copied once on the stack of the bee that returns it. The two halves of a [`join`](crate::pool::global::join()) with their results, and values
    /// that are combined (by reductions, scans and what else bees compute together), are copied several times, and some tens of times in a build without optimisation: box those that are larger than
    /// the 64th part of the stack, 32 KiB of 2 MiB. All this is so on the stack of the thread that calls as well, which in such a build needs room for some copies of what its closure captures, too.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Builds the hive and starts its bees, which park or sleep until they are needed.
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
    /// If a number is out of range, a list of CPUs to pin to is not allowed, no CPU of a list of places is, two things
    /// that were asked for exclude one another, or there is no room for so many threads or the system makes no more;
    /// those made so far have then ended. The error says which limit it is. That a thread cannot be bound is no error:
    /// it is in [`Hive::report`].
    pub fn build(self) -> Result<Hive, BuildError> {
        Hive::build(&self)
    }

    /// What this builder and `environment` ask for on a machine of `cpus` usable CPUs.
    pub(crate) fn resolve(&self, environment: &Environment, cpus: usize) -> Result<Config, BuildError> {
        let default_bees = environment.bees.unwrap_or(cpus);
        let max_bees = self.max_bees.unwrap_or(DEFAULT_MAX_BEES.max(default_bees));
        // An environment or a machine that asks for more than the program allows is no reason not to run.
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

/// What a hive is to be like: complete and in range.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) bees: u32,
    pub(crate) max_bees: u32,
    /// None: as fits the number of bees.
    pub(crate) binding: Option<Binding>,
    /// Whether a list of CPUs or places in it is the environment's: those who set that may not know the machine.
    pub(crate) is_from_environment: bool,
    pub(crate) shrink: Shrink,
    /// What was asked for and is not heard.
    pub(crate) warnings: Vec<String>,
    pub(crate) pin_queen: bool,
    pub(crate) barrier_shape: BarrierShape,
    pub(crate) spin: Duration,
    pub(crate) sleep: SleepProtocol,
    pub(crate) poll_interval: Option<Duration>,
    pub(crate) watchdog_limit: Option<Duration>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) hooks: Hooks,
    pub(crate) thread_name: String,
    pub(crate) stack_size: Option<usize>,
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
