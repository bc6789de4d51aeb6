//! What a hive's handle and its bees' threads share: the crew, the places, and how bees are hired.

use std::cell::LazyCell;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::config::{Config, SleepProtocol};
use crate::crew::{AbortOnUnwind, Crew, Hand, Life, Member, Part, Shape, Sleep, Turned};
use crate::error::{HireCause, HireError, ResizeError, ResizeProblem, SpmdError, SpmdProblem};
use crate::frame;
use crate::habitat::Habitat;
use crate::housing::Housing;
use crate::pin::{self, PinError};
use crate::rehearsal;
use crate::room::Room;
use crate::seats::Seats;
use crate::semaphore::Semaphore;
use crate::shaping::Shaping;
use crate::signal_mask;
use crate::stats::{Counts, Stats};
use crate::tasks;
use crate::topology::Place;
use crate::trace::Tracer;
use crate::wait::WaitPolicy;
use crate::waits::Waits;
use crate::watchdog::Watchdog;

/// As many as a crew has room for at least: the queen, and a bee for the tasks that she cannot run. Where a hive may
/// not grow to two that bee is never a member of a team.
const WITH_A_BEE: u32 = 2;

/// What starts a bee's thread: given its number, and the region that the crew has come to.
type Hire<'h> = dyn FnMut(u32, u64) -> Result<(), HireError> + 'h;

/// The shared part of a hive.
pub(crate) struct Colony {
    pub(crate) crew: Crew,
    pub(crate) config: Config,
    pub(crate) habitat: Habitat,
    pub(crate) housing: Housing,
    pub(crate) shaping: Shaping,
    /// The size asked for from inside the region that is on, which the hive gets when that ends. 0: none. (A region whose team is its
    /// caller alone may be on beside it; its wishes are kept by its member.)
    postponed: AtomicU32,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The hive's handle, and the bees' threads that have not ended.
    inside: AtomicUsize,
    pub(crate) waits: Waits,
    pub(crate) seats: Seats,
    watchdog: Watchdog,
    /// In a hive that is traced.
    tracer: Option<Tracer>,
    /// What went wrong after the hive was built.
    troubles: Mutex<Vec<String>>,
}

impl Colony {
    /// A colony of the queen alone.
    pub(crate) fn new(config: Config, habitat: Habitat, housing: Housing, tracer: Option<Tracer>) -> Arc<Self> {
        let room = config.max_bees.max(WITH_A_BEE);
        let sleep = match config.sleep {
            SleepProtocol::Jec => Sleep::jec(),
            SleepProtocol::Tickle => Sleep::tickle(),
            SleepProtocol::Notify => Sleep::notify(room),
        };
        let policy = WaitPolicy::new(config.spin, config.poll, habitat.usable_cpus(), housing.bees_cpus(config.bees as usize));
        let stage = rehearsal::stage(&housing, config.bees);
        let shaping = Shaping::of(&config, &habitat, &housing);
        let shape = Shape::new(shaping.shape, &housing.addresses(room), room);
        let crew = Crew::new(room, policy, stage, sleep, housing.neighbours(room), shape);
        let crew = if config.watchdog.is_some() { crew.watched() } else { crew };
        Arc::new(Self {
            crew: if tracer.is_some() { crew.traced() } else { crew },
            config,
            habitat,
            housing,
            shaping,
            postponed: AtomicU32::new(0),
            threads: Mutex::new(Vec::new()),
            inside: AtomicUsize::new(1),
            waits: Waits::new(),
            seats: Seats::default(),
            watchdog: Watchdog::new(),
            tracer,
            troubles: Mutex::new(Vec::new()),
        })
    }

    /// Begins to watch the hive, and sees to its trace, if that is asked for.
    pub(crate) fn watch(self: &Arc<Self>) -> io::Result<()> {
        if self.tracer.is_some() {
            Tracer::write_at_exit(self);
        }
        self.config.watchdog.map_or(Ok(()), |limit| self.watchdog.watch(self, limit))
    }

    /// Hires the bees that the hive starts with.
    pub(crate) fn staff(self: &Arc<Self>) -> Result<(), HireError> {
        self.grow_to(self.config.bees)
    }

    /// Runs a region: see [`crate::Hive::try_spmd`].
    #[inline]
    pub(crate) fn spmd<P: Part>(self: &Arc<Self>, members: usize, part: &mut P) -> Result<(), SpmdError> {
        let team = self.team_of(members)?;
        if team == 1 {
            self.alone(part);
            return Ok(());
        }
        if frame::is_inside_any() {
            return self.spmd_inside(team, part);
        }
        self.spmd_in_turn(&mut self.crew.take_turn(), team, part)
    }

    /// Runs a region of a thread that is inside a region, or runs tasks: as a team of one where it may not have the
    /// turn, and where bees that it needs may be waiting for the calling one.
    #[cold]
    fn spmd_inside<P: Part>(self: &Arc<Self>, team: u32, part: &mut P) -> Result<(), SpmdError> {
        let mut in_turn = |turn: Option<&mut Turned<'_>>| {
            // In this order: what `can_start` has announced is followed by the region.
            let mut run = |turn: &mut Turned<'_>| {
                // Whatever becomes of the region.
                let _announcement = AfterAnnouncement(&self.crew);
                let _among_others = self.crew.among_others();
                self.spmd_in_turn(turn, team, part)
            };
            let mut start = |turn: &mut Turned<'_>| self.can_start(turn, team).then(|| run(turn));
            let ran = turn.and_then(|turn| self.waits.unless_in_a_circle(|| start(turn)).flatten());
            ran.unwrap_or_else(|| {
                self.alone(part);
                Ok(())
            })
        };
        if frame::inside(&self.crew) { in_turn(None) } else { tasks::with_turn(&self.crew, in_turn) }
    }

    /// Whether the calling thread, which has the turn, may start a region of so many. If others may be waiting for it, the region
    /// must not wait for any of them.
    fn can_start(&self, turn: &Turned<'_>, team: u32) -> bool {
        !frame::is_waited_for() || self.crew.announce_region(turn, team)
    }

    #[inline]
    fn spmd_in_turn<P: Part>(self: &Arc<Self>, turn: &mut Turned<'_>, team: u32, part: &mut P) -> Result<(), SpmdError> {
        // Dropped before the turn: another queen's region may have wishes of its own.
        let _resize = AfterRegion(self);
        if team > self.crew.bees() {
            self.grow_to(team).map_err(|error| SpmdError(SpmdProblem::Hire(error)))?;
        }
        self.crew.region(turn, team, part);
        Ok(())
    }

    /// Runs a region whose team is the caller alone.
    #[inline]
    pub(crate) fn alone<P: Part>(self: &Arc<Self>, part: &P) {
        let alone = Alone { colony: self, member: Member::alone(&self.crew) };
        part.run(&alone.member);
        if alone.member.has_ended_plainly() { std::mem::forget(alone) } else { alone.end() }
    }

    #[inline]
    fn team_of(&self, members: usize) -> Result<u32, SpmdError> {
        let max_bees = self.config.max_bees;
        if members.wrapping_sub(1) < max_bees as usize && !self.is_forked() {
            return Ok(members as u32);
        }
        Err(SpmdError(match members {
            0 => SpmdProblem::NoMembers,
            _ if members > max_bees as usize => SpmdProblem::TooMany { asked: members, max_bees: max_bees as usize },
            _ => SpmdProblem::Forked,
        }))
    }

    #[cold]
    fn grow_to(self: &Arc<Self>, team: u32) -> Result<(), HireError> {
        self.hiring(team, |hire| self.crew.grow_to(team, hire))
    }

    /// Sees that there is a bee to run tasks.
    ///
    /// # Panics
    /// If the system makes no more threads, or in a forked child.
    pub(crate) fn have_a_bee(self: &Arc<Self>) {
        self.assert_has_threads();
        if !self.crew.has_bee() {
            self.hiring(WITH_A_BEE, |hire| self.crew.hire(WITH_A_BEE, hire))
                .unwrap_or_else(|error| panic!("no bee to run tasks: {error}"));
        }
    }

    /// Resizes: see [`crate::Hive::resize`].
    pub(crate) fn resize(self: &Arc<Self>, bees: usize) -> Result<(), ResizeError> {
        let max_bees = self.config.max_bees as usize;
        let bees = match bees {
            0 => return Err(ResizeError(ResizeProblem::NoMembers)),
            _ if bees > max_bees => return Err(ResizeError(ResizeProblem::TooMany { asked: bees, max_bees })),
            _ if self.is_forked() => return Err(ResizeError(ResizeProblem::Forked)),
            _ => bees as u32,
        };
        let resized = frame::with_outermost(&self.crew, |member| self.resize_later(bees, member));
        let resized = resized.unwrap_or_else(|| self.resize_now(bees));
        resized.map_err(|error| ResizeError(ResizeProblem::Hire(error)))
    }

    fn resize_now(self: &Arc<Self>, bees: u32) -> Result<(), HireError> {
        self.hiring(bees, |hire| self.crew.resize(bees, hire))
    }

    /// Resizes when the region that `member` is in has ended. What may fail is done now, while there is somebody to tell.
    fn resize_later(self: &Arc<Self>, bees: u32, member: &Member<'_>) -> Result<(), HireError> {
        self.hiring(bees, |hire| self.crew.hire(bees, hire))?;
        if member.team() == 1 {
            member.make_wish(bees);
        } else {
            // Relaxed: the member's arrival publishes it to the queen.
            self.postponed.store(bees, Ordering::Relaxed);
        }
        Ok(())
    }

    #[cold]
    fn grant(self: &Arc<Self>, bees: u32) {
        if self.is_forked() {
            return;
        }
        if let Err(error) = self.resize_now(bees) {
            self.report_trouble(error.to_string());
        }
    }

    /// Waits until surplus bees are off their cores: see [`crate::Hive::settle`].
    pub(crate) fn settle(&self) {
        // From inside a region there is nothing to wait for: its bees cannot go before it ends.
        if self.is_forked() || frame::inside(&self.crew) {
            return;
        }
        if !frame::is_waited_for() {
            return self.crew.settle();
        }
        // A surplus bee that is in the middle of something may be waiting for this thread, or be on it: in a task, or in a region.
        // No region is on while this thread has the turn.
        let has_turn = frame::with_hand(&self.crew, |hand| hand.is_some_and(|hand| hand.id() == 0));
        let turn = if has_turn { None } else { self.crew.try_take_turn() };
        self.crew.settle_idle(has_turn || turn.is_some());
    }

    /// Makes a change for which bees may have to be hired, and returns when those hired are living: what they are bound to is then known, and
    /// a fork after this finds none of them holding a lock of the thread library.
    fn hiring<R>(self: &Arc<Self>, wanted: u32, change: impl FnOnce(&mut Hire<'_>) -> R) -> R {
        let begun = LazyCell::new(|| Arc::new(Semaphore::new()));
        let mut hired = 0;
        // For all of them, before the first one is made, and until they live.
        let mut room = None;
        let changed = change(&mut |member, epoch| {
            if room.is_none() {
                room = Some(room_for(member, wanted, self.config.stack_size)?);
            }
            self.hire(member, epoch, wanted, Arc::clone(&begun))?;
            hired += 1;
            Ok(())
        });
        (0..hired).for_each(|_| begun.wait());
        changed
    }

    /// Starts the thread of bee `member`, the crew having come to region `epoch`. The thread posts `begun`.
    fn hire(self: &Arc<Self>, member: u32, epoch: u64, wanted: u32, begun: Arc<Semaphore>) -> Result<(), HireError> {
        let inside = Inside::new(self);
        let place = self.housing.move_in(member as usize).cloned();
        let mut thread = thread::Builder::new().name(format!("{}-{member}", self.config.thread_name));
        if let Some(bytes) = self.config.stack_size {
            thread = thread.stack_size(bytes);
        }
        // A bee inherits the hiring thread's mask, which may be one core of another hive.
        let _unpinned = pin::unpin();
        let life = self.seats.seated(member, move || inside.colony().live(member, epoch, place.as_ref(), &begun));
        let (spawned, blocked) = signal_mask::with_signals_blocked(|| thread.spawn(life));
        if let Err(error) = blocked {
            self.report_trouble(format!(
                "bees handle the program's signals as other threads do: pthread_sigmask failed: {error}"
            ));
        }
        let thread = spawned.map_err(|cause| HireError { member, wanted: wanted as usize, cause: HireCause::System(cause) })?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// What a bee's thread does.
    fn live(&self, member: u32, epoch: u64, place: Option<&Place>, begun: &Semaphore) {
        let intact = AbortOnUnwind::new("in the life of a bee");
        self.waits.enlist();
        let _counted = self.crew.policy().on_core();
        // The thread that hired this one may have been bound by its program.
        if let Some(mask) = &self.habitat.mask {
            self.report_failure(member, pin::adopt(mask));
        }
        let bound = place.and_then(|place| self.report_failure(member, pin::bind(place)));
        if place.is_some() && bound.is_none() {
            self.housing.move_out(member as usize);
        }
        let home = self.crew.policy();
        let hand = Hand::new(&self.crew, member);
        tasks::within(&hand, || {
            if self.config.handlers.start.is_none() {
                begun.post();
            } else {
                hand.while_busy(|| {
                    begun.post();
                    self.config.handlers.started(member);
                });
            }
            // A child that was forked in a handler goes no further.
            home.assert_at_home();
            Life::new(&hand, epoch).live();
            self.config.handlers.exits(member);
        });
        home.assert_at_home();
        frame::end_of_bee();
        intact.disarm();
    }

    fn report_failure<T>(&self, member: u32, bound: Result<T, PinError>) -> Option<T> {
        bound.map_err(|error| self.report_trouble(format!("member {member} is not bound as it should be: {error}"))).ok()
    }

    /// Ends all bees. Waits for their threads, except the calling one's if it is one of them, and except where they may
    /// be waiting for the calling one.
    pub(crate) fn end(&self) {
        if self.is_forked() {
            return;
        }
        self.watchdog.end();
        self.crew.dismiss_all();
        self.seats.clear();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if !self.waits.is_own() {
            self.waits.unless_in_a_circle(|| join(threads));
        } else if !self.is_host() {
            join(threads);
            // Not left to the calling thread's end: what it is in the middle of may be waiting for some of it.
            self.crew.finish_tasks();
        }
        self.leave();
    }

    /// Whether the bees may be waiting for one another in what a guest has them run.
    fn is_host(&self) -> bool {
        #[cfg(feature = "rayon")]
        return self.config.host_rayon;
        #[cfg(not(feature = "rayon"))]
        return false;
    }

    /// The last one out does what is left to do when all bees have ended.
    fn leave(&self) {
        // AcqRel: who is last has seen what all others did.
        if self.inside.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.crew.finish_tasks();
            self.finish_trace();
        }
    }

    pub(crate) fn tracer(&self) -> Option<&Tracer> {
        self.tracer.as_ref()
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats::new(self.crew.tallies().map(Counts::of).collect())
    }

    /// What comes again and again is told once. In a forked child nobody is told: a thread of the parent's may have the lock.
    pub(crate) fn report_trouble(&self, trouble: String) {
        if self.is_forked() {
            return;
        }
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        if !troubles.contains(&trouble) {
            troubles.push(trouble);
        }
    }

    pub(crate) fn troubles(&self) -> Vec<String> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// # Panics
    /// In a forked child.
    pub(crate) fn assert_has_threads(&self) {
        assert!(!self.is_forked(), "this process is a forked child: the hive's threads are its parent's");
    }

    /// Whether the calling process is a forked child of the one that made this colony.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.crew.policy().is_forked()
    }
}

impl Drop for Colony {
    fn drop(&mut self) {
        if self.is_forked() {
            // As in `forget_thread`.
            std::mem::take(self.threads.get_mut().unwrap_or_else(PoisonError::into_inner)).into_iter().for_each(std::mem::forget);
            self.watchdog.forget_thread();
        }
    }
}

/// Room for the threads of the bees from `member` on, of a hive that is to have `wanted` members.
fn room_for(member: u32, wanted: u32, stack: Option<usize>) -> Result<Room, HireError> {
    let room = Room::take(u64::from(wanted.saturating_sub(member)), stack);
    room.map_err(|shortage| HireError { member, wanted: wanted as usize, cause: HireCause::Room(shortage) })
}

/// Waits for the end of these threads, but not for the calling one's.
fn join(threads: Vec<JoinHandle<()>>) {
    let own = thread::current().id();
    let others = threads.into_iter().filter(|thread| thread.thread().id() != own);
    others.for_each(|thread| thread.join().expect("a bee catches the panics of what it runs"));
}

/// A bee's thread, from before it is made until all that it does has ended.
struct Inside(Arc<Colony>);

impl Inside {
    fn new(colony: &Arc<Colony>) -> Self {
        // Relaxed: whoever calls this is inside.
        colony.inside.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(colony))
    }

    fn colony(&self) -> &Colony {
        &self.0
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Applies, after a region however it ends, the resize that was asked for inside.
pub(crate) struct AfterRegion<'c>(pub(crate) &'c Arc<Colony>);

impl Drop for AfterRegion<'_> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: stored by a member before its arrival, which the queen has seen.
        let bees = self.0.postponed.load(Ordering::Relaxed);
        if bees > 0 {
            self.0.postponed.store(0, Ordering::Relaxed);
            self.0.grant(bees);
        }
    }
}

/// Takes back, after a region however it ends or fails to begin, that it was announced.
struct AfterAnnouncement<'c>(&'c Crew);

impl Drop for AfterAnnouncement<'_> {
    fn drop(&mut self) {
        self.0.give_up_region();
    }
}

/// As `AfterRegion`, for a team of one.
struct Alone<'c> {
    colony: &'c Arc<Colony>,
    member: Member<'c>,
}

impl Alone<'_> {
    /// Ends a region in which there was something to note.
    ///
    /// # Panics
    /// If its member has returned, and has gone on without what it could not have.
    #[cold]
    fn end(self) {
        let is_amiss = self.member.has_gone_without();
        drop(self);
        assert!(
            !is_amiss,
            "the only member of a region has gone on without what it could not have, in a destructor, where a panic would have ended the process: the region \
             cannot return as if nothing had been"
        );
    }
}

impl Drop for Alone<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(bees) = self.member.wish() {
            self.colony.grant(bees);
        }
    }
}
