//! What a hive is built with: the validated [`Config`], plain data that everything else in this folder reads.
//!
//! `build.rs` makes it from what the program gives to the `Builder`, from the environment and from the defaults.

use std::path::PathBuf;
use std::time::Duration;

use crate::pool::handlers::Handlers;
use crate::pool::thread_host::StartGuest;
use crate::protocol::region::shape::BarrierShape;
use crate::topology::binding_request::ResolvedBinding;

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

/// A complete and validated description of a hive that is to be built. Never changes afterwards.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The number of bees to start with, including the queen; at least 1 and at most `max_bees`.
    pub(crate) bees: u32,
    /// The number of bees that the hive may grow to; at most [`MAX_BEES`](crate::protocol::region::max_bees::MAX_BEES).
    pub(crate) max_bees: u32,
    /// What bees are bound to, and in which order a shrinking hive gives up its places.
    pub(crate) places: ResolvedBinding,
    /// Whether the building thread is bound to the place of bee 0.
    pub(crate) pin_queen: bool,
    /// The groups in which bees start and meet.
    pub(crate) barrier_shape: BarrierShape,
    /// How long a waiting bee polls before it sleeps. `Duration::MAX`: for ever.
    pub(crate) spin: Duration,
    /// Whether the program has not chosen that time, so that workers learn how much of it to use.
    pub(crate) learns_to_poll: bool,
    /// How bees without tasks go to sleep and are woken.
    pub(crate) sleep: SleepProtocol,
    /// How often sleeping bees wake up by themselves. None: never. Not zero.
    pub(crate) poll_interval: Option<Duration>,
    /// How long a bee may wait before the watchdog reports it. None: there is no watchdog. Not zero.
    pub(crate) watchdog_limit: Option<Duration>,
    /// The file for the timeline. None: the hive is not traced.
    pub(crate) trace: Option<PathBuf>,
    /// The program's functions for the beginning and end of workers, and for panics that nobody waits for.
    pub(crate) handlers: Handlers,
    /// What the names of worker threads begin with; without NUL bytes.
    pub(crate) thread_name: String,
    /// The size of a worker's stack in bytes. None: the standard library's default.
    pub(crate) stack_size: Option<usize>,
    /// Starts a guest library on the hive's threads. None: the hive has no guest.
    pub(crate) guest: Option<StartGuest>,
    /// Whether the start line is chosen by measuring, which takes longer than all else that is done for a hive.
    pub(crate) calibrates_line: bool,
}
