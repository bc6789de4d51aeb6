//! Binds the calling thread to a place, and restores the mask that it had before.
//!
//! Workers bind themselves when they start ([`adopt_mask`], then [`bind`]), and [`unbind`] is for threads that are
//! about to spawn others or read the machine.
//!
//! An [`AffinityGuard`] binds a queen's thread for as long as a hive lives that was built with `pin_queen(true)`:
//! `Builder::build` makes it and the hive drops it. A thread may build several hives and drop them in any order, also
//! on other threads, so the guards of a thread are kept in a list, and a mask is restored only when the masks of all
//! later guards have been restored.
//!
//! hive remembers the original mask of each thread that it has bound, because a hive that is built on such a thread
//! must see the CPUs of the process and not the one core of the bee. If the system refuses to bind a thread, the
//! functions return an error; the caller reports it as a warning, and the thread runs unbound.

#[cfg(all(test, target_os = "linux"))]
pub(crate) mod tests;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sys::affinity::{self, CallError};
use crate::sys::cpu_mask::CpuMask;
use crate::topology;
use crate::topology::machine::Machine;
use crate::topology::place_assignment::Place;

thread_local! {
    /// How hive has bound this thread; `None` if it has not. The value has no destructor, so that it can be used for as
    /// long as the thread runs, even in the destructors of other thread-local values. It leaks nothing: the first guard
    /// of a thread is the last one to be dropped, and sets the value back to `None`.
    static CURRENT_BINDING: RefCell<ManuallyDrop<Option<ThreadBinding>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
    /// The guards of this thread, in the order in which they were made.
    static ACTIVE_GUARDS: RefCell<Vec<ActiveBinding>> = const { RefCell::new(Vec::new()) };
}

/// How a thread is bound by hive.
#[derive(Clone)]
struct ThreadBinding {
    /// The mask that the thread had before hive bound it for the first time.
    original_mask: CpuMask,
    /// The place that the thread is bound to now; `None` while it is unbound for a moment by [`unbind`].
    place: Option<Place>,
}

/// The CPUs that the calling thread could run on if hive had not bound it.
pub(crate) fn original_mask() -> Result<CpuMask, CallError> {
    saved_mask().map_or_else(affinity::query, Ok)
}

/// The place that hive has bound the calling thread to, if it has.
pub(crate) fn bound_place() -> Option<Place> {
    CURRENT_BINDING.with_borrow(|binding| binding.as_ref()?.place.clone())
}

/// The original mask of the calling thread, if hive has bound it.
fn saved_mask() -> Option<CpuMask> {
    CURRENT_BINDING.with_borrow(|binding| Some(binding.as_ref()?.original_mask.clone()))
}

/// The machine with the CPUs in the calling thread's original mask, and warnings: see [`topology::read_machine`].
pub(crate) fn read_machine_unpinned() -> (Machine, Vec<String>) {
    // The thread is unbound meanwhile, so that no reader takes the mask of its place for that of the process.
    let _unpinned = unbind().ok();
    match original_mask() {
        Ok(mask) => topology::read_machine(Some(&mask)),
        Err(error) => {
            let (machine, mut warnings) = topology::read_machine(None);
            warnings.push(format!("{error}; all CPUs of the machine are taken to be allowed"));
            (machine, warnings)
        }
    }
}

/// Binds the calling thread to a place for as long as the guard lives. Does nothing if the place is on another machine
/// than this one: see [`Machine::is_foreign`].
pub(crate) fn bind(place: &Place) -> Result<Option<RestoreBinding>, BindError> {
    (!place.is_foreign).then(|| change_binding(&place.mask(), Some(place.clone()))).transpose()
}

/// Gives the calling thread, which is one of hive's own, the mask that the hive was built with. There is no guard,
/// because the thread keeps this mask until it ends.
pub(crate) fn adopt_mask(mask: &CpuMask) -> Result<(), BindError> {
    if affinity::query().is_ok_and(|current| current == *mask) { Ok(()) } else { set_mask(mask) }
}

/// Gives the calling thread its original mask for as long as the guard lives. This is for a thread that is about to
/// spawn others, because a new thread inherits the mask of the thread that spawns it. Does nothing on a thread that
/// hive has not bound.
pub(crate) fn unbind() -> Result<Option<RestoreBinding>, BindError> {
    saved_mask().map(|original| change_binding(&original, None)).transpose()
}

/// Gives the calling thread another mask, and notes the place that this means; `None` means unbound. The guard restores
/// both.
fn change_binding(mask: &CpuMask, place: Option<Place>) -> Result<RestoreBinding, BindError> {
    let previous = affinity::query().map_err(|error| refusal(mask, &error))?;
    set_mask(mask)?;
    // Only the first binding of a thread saves its mask: a later one keeps what that one has saved.
    let original_mask = saved_mask().unwrap_or_else(|| previous.clone());
    let binding = set_binding(Some(ThreadBinding { original_mask, place }));
    Ok(RestoreBinding { mask: previous, binding, not_send: PhantomData })
}

/// Notes how the calling thread is bound now. Returns how it was bound before.
fn set_binding(binding: Option<ThreadBinding>) -> Option<ThreadBinding> {
    ManuallyDrop::into_inner(CURRENT_BINDING.replace(ManuallyDrop::new(binding)))
}

/// Sets the calling thread's mask and nothing else.
fn set_mask(mask: &CpuMask) -> Result<(), BindError> {
    affinity::apply(mask).map_err(|error| refusal(mask, &error))
}

/// A guard that, when dropped, restores the mask and the binding that the calling thread had before. The guards of one
/// thread must be dropped in the reverse of the order in which they were made.
#[must_use = "the previous mask comes back when this is dropped"]
pub(crate) struct RestoreBinding {
    /// The mask that the thread had.
    mask: CpuMask,
    /// What hive had noted about it; `None` if hive had not bound it.
    binding: Option<ThreadBinding>,
    /// Keeps the guard on its thread, whose mask it restores.
    not_send: PhantomData<*const ()>,
}

impl Drop for RestoreBinding {
    fn drop(&mut self) {
        // This fails if the system has meanwhile taken those CPUs away from the process: then it has chosen others
        // itself. It also fails in a sandbox that has come since (`affinity::apply`): then the thread stays bound.
        let _ = affinity::apply(&self.mask);
        set_binding(self.binding.take());
    }
}

/// What one guard has done to this thread.
struct ActiveBinding {
    /// The number of the guard: [`AffinityGuard::id`].
    guard_id: u64,
    /// Whether the guard has been dropped. The entry stays until all guards that were made after it have been dropped,
    /// too.
    is_released: bool,
    /// Restores the mask that the thread had before this guard when the entry is dropped.
    _restore: Option<RestoreBinding>,
}

/// Binds one thread to one place while it exists. Dropping it on that thread restores the thread's mask, once all later
/// guards have been dropped. Dropping it on another thread does nothing.
pub(crate) struct AffinityGuard {
    /// The number of the guard, which no other guard of the process has.
    id: u64,
}

impl AffinityGuard {
    /// Binds the calling thread to `place` for as long as the guard lives. Returns `None` if the thread is ending and
    /// its thread-local values are gone; the thread is not bound then.
    ///
    /// # Errors
    /// If the system refuses to bind the thread.
    pub(crate) fn bind(place: &Place) -> Result<Option<Self>, BindError> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        // Relaxed, without a partner: the number publishes no other memory. It is unique because the addition is
        // atomic.
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let restore = bind(place)?;
        let binding = ActiveBinding { guard_id: id, is_released: false, _restore: restore };
        let pushed = ACTIVE_GUARDS.try_with(|active| active.borrow_mut().push(binding));
        Ok(pushed.ok().map(|()| Self { id }))
    }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        // This fails if the thread is ending and the list is gone. The mask of such a thread does not matter. On
        // another thread than the one that is bound the guard is not in the list.
        let _ = ACTIVE_GUARDS.try_with(|active| release(&mut active.borrow_mut(), self.id));
    }
}

/// Marks the guard `id` as dropped, then removes the released guards from the end of the list. Each removal restores a
/// mask, so masks are restored in the reverse of the order in which they were replaced.
fn release(active: &mut Vec<ActiveBinding>, id: u64) {
    active.iter_mut().filter(|binding| binding.guard_id == id).for_each(|binding| binding.is_released = true);
    while active.last().is_some_and(|binding| binding.is_released) {
        active.pop();
    }
}

/// Why a thread could not be bound.
pub(crate) type BindError = String;

/// The error that the calling thread cannot be bound to these CPUs.
fn refusal(cpus: &CpuMask, error: &CallError) -> BindError {
    format!(
        "cannot bind a thread to CPUs {cpus}: {error}; they may be switched off or outside of the process's cpuset: \
         pin to others, or do not pin"
    )
}
