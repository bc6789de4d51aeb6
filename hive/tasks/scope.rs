//! Tasks that borrow from outside of the scope that waits for them.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::first_panic::FirstPanic;
use super::heap_job::{HeapJob, is_large};
use super::on_the_spot::{self, Spot};
use super::pointer::Pointer;
use crate::crew::{AbortOnUnwind, Crew, Hand, Latch, Task, go_on};
use crate::frame;

/// Spawns tasks that may borrow what lives longer than the scope: see [`Hive::scope`](crate::Hive::scope).
pub struct Scope<'scope> {
    place: Place,
    /// The member that waits.
    owner: u32,
    /// The tasks that have not ended; and `BODY`, until the scope's own body has.
    open: AtomicUsize,
    /// Those that the body's thread has spawned so far, which are not in `open` before the body has ended. Only that thread touches it.
    spawned: Cell<usize>,
    latch: Latch,
    panic: FirstPanic,
    /// Invariant: the scope must not be taken for one with another lifetime.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// Where a scope's tasks go. Either outlives the scope.
#[derive(Clone, Copy)]
enum Place {
    /// To the members of this hive.
    Crew(*const Crew),
    /// To the calling thread alone.
    Spot(*const Spot),
}

// SAFETY: all that tasks use of it, on whichever thread, is made for that, but for `spawned`, which is the owner's.
unsafe impl Sync for Scope<'_> {}

/// More than there can be tasks.
const BODY: usize = 1 << (usize::BITS - 2);

/// Runs `body`, then tasks, until all that `body` and they have spawned have ended.
pub(super) fn scope<'scope, R>(hand: Option<&Hand<'_>>, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    match hand {
        Some(hand) => run_at(Place::Crew(hand.crew()), hand.id(), body, |scope| hand.work_until(&scope.latch)),
        None => on_the_spot::with(|spot| {
            // Acquire: pairs with the AcqRel in `end`, as the latch does elsewhere.
            let has_ended = |scope: &Scope<'_>| scope.open.load(Ordering::Acquire) == 0;
            run_at(Place::Spot(spot), 0, body, |scope| spot.run_until(|| has_ended(scope)))
        }),
    }
}

/// Runs `body` as that of a scope of member `owner`, whose tasks go to `place`, and what `wait` runs until all have ended.
#[inline(always)]
fn run_at<'scope, R>(place: Place, owner: u32, body: impl FnOnce(&Scope<'scope>) -> R, wait: impl FnOnce(&Scope<'scope>)) -> R {
    let scope = Scope {
        place,
        owner,
        open: AtomicUsize::new(BODY),
        spawned: Cell::new(0),
        latch: Latch::new(),
        panic: FirstPanic::default(),
        borrows: PhantomData,
    };
    let intact = AbortOnUnwind::new("in a scope");
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    // SAFETY: the body has ended, and what it has spawned is counted from here on.
    unsafe { Scope::end(&raw const scope, BODY - scope.spawned.take()) };
    wait(&scope);
    intact.disarm();
    match (result, scope.panic.into_inner()) {
        (Ok(result), None) => result,
        // The body's own goes before: it was what the caller wrote first.
        (Err(panic), other) => go_on(panic, other),
        (result, Some(panic)) => go_on(panic, result),
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a task, which some member of the hive runs at some time before the scope ends. It may spawn more.
    ///
    /// If it panics, the scope ends with that panic when all tasks have ended; of several the first counts.
    pub fn spawn(&self, task: impl FnOnce(&Self) + Send + 'scope) {
        if is_large(&task) { self.queue(Box::new(task) as Box<dyn FnOnce(&Self) + Send + 'scope>) } else { self.queue(task) }
    }

    fn queue(&self, task: impl FnOnce(&Self) + Send + 'scope) {
        let crew = match self.place() {
            Ok(crew) => crew,
            Err(spot) => {
                self.count(None);
                return spot.push(self.prepare(task));
            }
        };
        frame::with_hand(crew, |hand| {
            self.count(hand);
            let task = self.prepare(task);
            match hand {
                Some(hand) => hand.push(task),
                None => crew.inject(task),
            }
        });
    }

    /// Spawns a task that only bee `bee`, which has been hired, runs.
    pub(super) fn spawn_on(&self, bee: u32, task: impl FnOnce(&Self) + Send + 'scope) {
        self.count(None);
        let task = self.prepare(task);
        match self.place() {
            Ok(crew) => crew.send(bee, task),
            Err(spot) => spot.push(task),
        }
    }

    /// Counts a task that is about to be spawned by the member whose hand it is. The body's thread does so without an atomic operation.
    #[inline(always)]
    fn count(&self, hand: Option<&Hand<'_>>) {
        // Relaxed: only the body's thread reads that it has ended, and that thread has made it so.
        if hand.is_some_and(|hand| hand.id() == self.owner) && self.open.load(Ordering::Relaxed) >= BODY / 2 {
            self.spawned.set(self.spawned.get() + 1);
        } else {
            // Relaxed: the one who spawns is counted itself, so the count is not zero.
            self.open.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn place(&self) -> Result<&Crew, &Spot> {
        match self.place {
            // SAFETY: the crew outlives the scope.
            Place::Crew(crew) => Ok(unsafe { &*crew }),
            // SAFETY: as does the spot.
            Place::Spot(spot) => Err(unsafe { &*spot }),
        }
    }

    fn prepare(&self, task: impl FnOnce(&Self) + Send + 'scope) -> Task {
        let [scope, ended] = [Pointer(std::ptr::from_ref(self)); 2];
        // SAFETY: the scope waits for this task, which is counted until it has ended.
        let work = move || unsafe { scope.get() }.run(task);
        // SAFETY: as above.
        let end = move || unsafe { Self::end(ended.raw(), 1) };
        // SAFETY: what the task borrows outlives the scope, which waits for it.
        unsafe { HeapJob::task(work, end) }
    }

    fn run(&self, task: impl FnOnce(&Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(self))) {
            self.panic.keep(panic);
        }
    }

    /// So many of what is counted in a scope have ended.
    ///
    /// Takes its address: as soon as they are counted off, others may end the scope, while this still runs.
    ///
    /// # Safety
    /// They are counted, each once.
    unsafe fn end(scope: *const Self, count: usize) {
        // SAFETY: the scope waits for what is counted.
        let scope = unsafe { &*scope };
        let (place, owner, latch) = (scope.place, scope.owner, &raw const scope.latch);
        // AcqRel: who ends last has seen what all others did, and hands it on by the latch.
        let is_last = scope.open.fetch_sub(count, Ordering::AcqRel) == count;
        // On the spot the thread that waits is the calling one, and looks at the count.
        if let Place::Crew(crew) = place
            && is_last
        {
            // SAFETY: the crew outlives its members, of which the calling thread is one.
            let crew = unsafe { &*crew };
            // SAFETY: this is the last, so the scope waits for the latch; it is not touched from here on.
            unsafe { crew.set_latch(latch, owner) };
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("owner", &self.owner).finish_non_exhaustive()
    }
}
