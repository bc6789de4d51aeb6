//! The public [`Builder`], by which a program asks for a hive with settings of its own.
//!
//! This file has the settings and their documentation. `build.rs` makes a hive of them.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::pool::handlers::Handlers;
use crate::pool::thread_host::StartGuest;
use crate::protocol::region::shape::BarrierShape;
use crate::topology::binding_request::BindingRequest;
use crate::topology::pin_policy::Pin;
use crate::topology::place_list::PlaceList;
use crate::topology::proc_bind::ProcBind;
use crate::topology::shrink::Shrink;

/// How bees without tasks go to sleep, and which of them are woken for new tasks. See `docs/sleep.md`.
///
/// ```
/// use hive::{Hive, SleepProtocol};
///
/// for protocol in [SleepProtocol::Jec, SleepProtocol::Tickle, SleepProtocol::Notify] {
///     let hive = Hive::builder().bees(2).sleep(protocol).build()?;
///     hive.scope(|scope| (0..100).for_each(|_| scope.spawn(|_| ())));
///     println!("{protocol:?}: {} wakes", hive.stats().total().wakes);
/// }
/// # Ok::<(), hive::Error>(())
/// ```
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

/// Settings for a hive that is to be built: see [`Hive::builder`](crate::Hive::builder).
///
/// A setting that the program does not make here is taken from the environment ([`HIVE_NUM_BEES`, `HIVE_PIN` and so
/// on](crate#environment)). If the environment does not have it either, the default applies that is named with each
/// method.
///
/// ```
/// let builder = hive::Hive::builder().bees(2).max_bees(16);
/// let fluid = builder.clone().thread_name("fluid").build()?;
/// let solid = builder.thread_name("solid").build()?;
/// assert_eq!((fluid.bees() + solid.bees(), solid.max_bees()), (4, 16));
/// # Ok::<(), hive::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() is called"]
#[doc(alias = "ThreadPoolBuilder")]
pub struct Builder {
    // In each field that is an `Option`, None means that the program has not set it.
    pub(crate) bees: Option<usize>,
    pub(crate) max_bees: Option<usize>,
    pub(crate) binding_options: BindingRequest,
    pub(crate) pin_queen: bool,
    pub(crate) barrier_shape: Option<BarrierShape>,
    pub(crate) spin: Option<Duration>,
    pub(crate) thread_name: Option<String>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) sleep: SleepProtocol,
    pub(crate) poll_interval: Option<Duration>,
    pub(crate) watchdog_limit: Option<Duration>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) handlers: Handlers,
    pub(crate) guest: Option<StartGuest>,
    /// Whether a call waits for the hive, so that building it leaves out what takes long and can be left out.
    pub(crate) is_urgent: bool,
}

impl Builder {
    /// The number of bees to start with, including the queen: at least 1.
    ///
    /// Default: the number of CPUs that this process may really use, by its affinity mask and its cgroup quota (rounded
    /// down).
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(3).build()?;
    /// let sums = hive.spmd_map(hive.bees(), |bee| bee.split(0..300).sum::<usize>());
    /// assert_eq!(sums.iter().sum::<usize>(), 44_850);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn bees(self, bees: usize) -> Self {
        Self { bees: Some(bees), ..self }
    }

    /// The number of bees that the hive may grow to: from 1 to 65,535. Default: 1,024, or the default of
    /// [`bees`](Self::bees) where that is more.
    ///
    /// With 1 the queen runs all regions alone. Even such a hive hires one worker when there are tasks that the queen
    /// cannot run: tasks that are [spawned](crate::Hive::spawn), and the joins, scopes and
    /// [`install`](crate::Hive::install)s of threads that find the queen's place taken. That worker is not a bee of any
    /// team: it takes part in no region, counts neither in [`Hive::bees`](crate::Hive::bees) nor in this limit, gets no
    /// [`broadcast`](crate::Hive::broadcast), and stays parked while there are no such tasks.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(1).max_bees(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// hive.spawn(move || sender.send(6 * 7).unwrap());
    /// assert_eq!((receiver.recv(), hive.bees()), (Ok(42), 1));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn max_bees(self, max_bees: usize) -> Self {
        Self { max_bees: Some(max_bees), ..self }
    }

    /// What bees are bound to. Default: [`Pin::Core`] as long as each bee can have a CPU of its own that no other hive
    /// has, of this process or of another. In a hive that is built with more bees than that, no bee is bound. In a hive
    /// that grows beyond that number later, the additional bees are not bound.
    ///
    /// This is the short form of [`places`](Self::places) and [`proc_bind`](Self::proc_bind) and excludes both: it is
    /// an error to give a builder `pin` and one of them.
    ///
    /// ```
    /// use hive::{Hive, Pin};
    ///
    /// let solver = Hive::builder().bees(2).pin(Pin::Node).build()?; // a bee may move within a NUMA node
    /// let output = Hive::builder().bees(2).pin(Pin::None).build()?; // a bee may move anywhere
    /// assert_eq!(output.places(), [None, None]);
    /// println!("{}", solver.report());
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn pin(self, pin: Pin) -> Self {
        Self { binding_options: BindingRequest { pin: Some(pin), ..self.binding_options }, ..self }
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
    pub fn places(self, places: PlaceList) -> Self {
        Self { binding_options: BindingRequest { places: Some(places), ..self.binding_options }, ..self }
    }

    /// The OpenMP policy by which bees are bound to the places. Default: [`ProcBind::True`], hive's own order.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).proc_bind(hive::ProcBind::Primary).build()?;
    /// assert_eq!(hive.places()[0], hive.places()[1]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn proc_bind(self, bind: ProcBind) -> Self {
        Self { binding_options: BindingRequest { proc_bind: Some(bind), ..self.binding_options }, ..self }
    }

    /// Which places the hive gives up when it shrinks; in other words, the order in which bees get their places.
    /// Default: [`Shrink::Compact`], which gives up whole clusters first, then whole nodes. Excludes
    /// [`ProcBind::Primary`], `Close` and `Spread`, because these policies set an order of their own.
    ///
    /// ```
    /// use hive::{Hive, Pin, Shrink};
    ///
    /// let hive = Hive::builder().bees(2).pin(Pin::Core).shrink(Shrink::Spread).build()?;
    /// assert!(hive.report().to_string().contains("spread"));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn shrink(self, shrink: Shrink) -> Self {
        Self { binding_options: BindingRequest { shrink: Some(shrink), ..self.binding_options }, ..self }
    }

    /// Whether to bind the thread that calls [`build`](Self::build) as well: to the place of bee 0, until the hive is
    /// dropped. Default: false; the queen's thread belongs to the program, and hive leaves its affinity alone, but for
    /// a moment when it makes threads, and some milliseconds in `build` in which it measures.
    ///
    /// A queen that is not bound may be where the system has put her on the CPU of a worker that was asleep. A thread
    /// whose affinity is hive's to change moves away when it wakes that worker; others yield there, and both are slow
    /// until the system moves one of them, which may take some milliseconds. With `pin_queen(true)` this does not
    /// happen, also for other threads that start regions of this hive.
    ///
    /// The thread gets its old mask back when the hive is dropped on that thread. If the hive is dropped on another
    /// thread, the first thread stays bound. If the hive is built in the destructor of a thread-local, the thread may
    /// stay unbound.
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).pin_queen(true).build()?;
    /// let places = hive.spmd_map(2, |bee| bee.place());
    /// assert_eq!(places, hive.places()); // the queen's, too
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn pin_queen(self, pin_queen: bool) -> Self {
        Self { pin_queen, ..self }
    }

    /// The groups in which bees start and meet. Default: [`BarrierShape::Auto`].
    ///
    /// ```
    /// use hive::{BarrierShape, Hive};
    ///
    /// let hive = Hive::builder().bees(2).barrier(BarrierShape::Flat).build()?;
    /// hive.spmd(2, |bee| (0..100).for_each(|_| bee.barrier()));
    /// assert!(hive.report().to_string().contains("flat"));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn barrier(self, shape: BarrierShape) -> Self {
        Self { barrier_shape: Some(shape), ..self }
    }

    /// How long a waiting bee polls before it yields its core for a moment and then sleeps. `Duration::MAX` means for
    /// ever. Default: up to 200 us; then workers also learn from the gaps between regions, and poll for less where it
    /// has not paid. See [`protocols::lone_loops`](crate::protocols::lone_loops).
    ///
    /// In waits where nobody would wake the bee, it yields for a while, also with a time of zero, and then takes short
    /// naps and polls in between: for its turn in [`ordered`](crate::Bee::ordered), and for the last indices of a loop
    /// that another bee is running.
    ///
    /// With `Duration::ZERO` a bee that waits for a region, at a barrier or at the end of a region sleeps at once: it
    /// neither polls nor yields. With any other time it polls for at least about a microsecond, unless there are fewer
    /// CPUs than bees that are awake, or that are in the region. Then it only yields its core some times, as long as
    /// other bees get it: where a busy thread of the program takes it for a time slice, bees sleep without yielding for
    /// a while. If the process loses or gets CPUs while it runs, workers notice that by their own masks, after some
    /// tenths of a second.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// // There is up to 1 ms of sequential work between two regions of this program.
    /// let hive = hive::Hive::builder().bees(2).spin(Duration::from_millis(1)).build()?;
    /// assert!(hive.report().to_string().contains("polls for 1ms, then sleeps"));
    /// # Ok::<(), hive::Error>(())
    /// ```
    #[doc(alias("KMP_BLOCKTIME", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"))]
    pub fn spin(self, spin: Duration) -> Self {
        Self { spin: Some(spin), ..self }
    }

    /// How bees without tasks go to sleep, and which of them are woken for new tasks. Default: [`SleepProtocol::Jec`].
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).sleep(hive::SleepProtocol::Notify).build()?;
    /// let (low, high) = hive.join(|| (1..=50).sum::<u64>(), || (51..=100).sum::<u64>());
    /// assert_eq!(low + high, 5050);
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn sleep(self, sleep: SleepProtocol) -> Self {
        Self { sleep, ..self }
    }

    /// How often sleeping bees wake up by themselves and look for work, in addition to being woken for it. Default:
    /// None, never.
    ///
    /// Correctness does not depend on it. It is a safety net against a fault in hive itself: a lost wake-up then shows
    /// in [`Counts::rescues`](crate::Counts::rescues) instead of in a program that hangs.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let hive = hive::Hive::builder().bees(2).poll(Some(Duration::from_millis(100))).build()?;
    /// hive.scope(|scope| (0..100).for_each(|_| scope.spawn(|_| ())));
    /// assert_eq!(hive.stats().total().rescues, 0, "hive has lost a wake-up");
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn poll(self, every: Option<Duration>) -> Self {
        Self { poll_interval: every, ..self }
    }

    /// How long a bee may wait at a barrier, or the queen at the end of a region, before the hive reports it on
    /// standard error. Default: None, never.
    ///
    /// The report comes from a thread of the hive's own. It says which bees are missing and what each of them is doing:
    /// it runs its part of the region, is in a task, is asleep, or has not arrived at the region yet. The hive reports
    /// again each time the wait has lasted twice as long. This is for finding out why a program stands still. The bees
    /// of such a hive record what they are doing, which takes a nanosecond or two for each barrier. The hive's drop
    /// waits for the thread to end, unless the thread is writing a report that nobody reads: then it lives on until
    /// somebody has read that.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let hive = hive::Hive::builder().bees(2).deadlock_watchdog(Some(Duration::from_secs(10))).build()?;
    /// hive.spmd(2, |bee| bee.barrier()); // a bee that does not arrive here is reported after ten seconds
    /// assert!(hive.report().to_string().contains("no progress for 10s are reported"));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn deadlock_watchdog(self, limit: Option<Duration>) -> Self {
        Self { watchdog_limit: limit, ..self }
    }

    /// A file to which the hive writes a timeline when it is dropped, or when the process ends while the hive still
    /// exists. [`Hive::write_trace`](crate::Hive::write_trace) writes it at once. Default: none.
    ///
    /// The timeline shows when each bee ran its part of a region, waited at a barrier, ran, searched for or stole a
    /// task, slept, and was parked. It is in Chrome's trace event format (JSON), which <https://ui.perfetto.dev>
    /// displays. `docs/tracing.md` explains the names in the file.
    ///
    /// If another hive of the process already has the same file, this one gets a file with a number before the
    /// extension. If the file cannot be made, nothing is traced and [`Hive::report`](crate::Hive::report) has a
    /// warning. The log of each bee ends after a million events, and the file says so if that happens; each event takes
    /// some 40 ns and 16 bytes.
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
    pub fn trace(self, file: impl Into<PathBuf>) -> Self {
        Self { trace: Some(file.into()), ..self }
    }

    /// A function that gets the panic of a task that nobody waits for ([`Hive::spawn`](crate::Hive::spawn),
    /// [`Hive::spawn_on`](crate::Hive::spawn_on)), and of the other two handlers. Default: the process ends after the
    /// panic hook's message.
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
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn panic_handler(self, handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static) -> Self {
        Self { handlers: Handlers { panic: Some(Arc::new(handler)), ..self.handlers }, ..self }
    }

    /// A function that each worker calls with its number when its thread begins, before it takes part in anything.
    ///
    /// The handler runs as a task of the worker and may use any hive as a task may, including its own. There, a region
    /// is a team of one; joins and scopes use the worker's queues, so that the worker may run other tasks inside them;
    /// and [`Hive::broadcast`](crate::Hive::broadcast) panics. The handler can reach its hive through a static or a
    /// [`Weak`](std::sync::Weak) that is filled when the hive has been built: building a hive,
    /// [`Hive::resize`](crate::Hive::resize) and [`Hive::spawn`](crate::Hive::spawn) do not wait for handlers. But a
    /// region whose team includes the worker does wait for its handler, and so does a task that only this worker may
    /// run. The handler must not wait for one of these in turn. A floating-point mode that it sets lasts as long as the
    /// handler.
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
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// A panic of the handler goes to the [`panic_handler`](Self::panic_handler), and the worker goes on.
    pub fn start_handler(self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Self { handlers: Handlers { start: Some(Arc::new(handler)), ..self.handlers }, ..self }
    }

    /// A function that each worker calls with its number when its thread is about to end, after everything else.
    ///
    /// The handler runs on the worker's thread and may use other hives as a task may, as the
    /// [`start_handler`](Self::start_handler) does. Its own hive is being dropped by then and can no longer be reached.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// static ENDED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    /// let hive = hive::Hive::builder().bees(2).exit_handler(|bee| ENDED.lock().unwrap().push(bee)).build()?;
    /// drop(hive); // waits until the workers have ended
    /// assert_eq!(*ENDED.lock().unwrap(), [1]);
    /// # Ok::<(), hive::Error>(())
    /// ```
    ///
    /// # Panics
    /// A panic of the handler goes to the [`panic_handler`](Self::panic_handler), and the worker ends all the same.
    pub fn exit_handler(self, handler: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Self { handlers: Handlers { exit: Some(Arc::new(handler)), ..self.handlers }, ..self }
    }

    /// What the names of the worker threads begin with; the worker's number follows: "NAME-3". Default: "hive-bee".
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).thread_name("solver").build()?;
    /// let names = hive.spmd_map(2, |_| std::thread::current().name().map(str::to_owned));
    /// assert_eq!(names[1].as_deref(), Some("solver-1")); // as debuggers and `top -H` show it
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn thread_name(self, name: impl Into<String>) -> Self {
        Self { thread_name: Some(name.into()), ..self }
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
    ///
    /// ```
    /// let hive = hive::Hive::builder().bees(2).stack_size(32 << 20).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// hive.spawn(move || {
    ///     let matrix = [[1.0; 1000]; 1000]; // 8 MB on a worker's stack
    ///     sender.send(matrix.as_flattened().iter().sum::<f64>()).unwrap();
    /// });
    /// assert_eq!(receiver.recv(), Ok(1e6));
    /// # Ok::<(), hive::Error>(())
    /// ```
    pub fn stack_size(self, bytes: usize) -> Self {
        Self { stack_size: Some(bytes), ..self }
    }
}
