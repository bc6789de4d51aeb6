//! Binds the calling thread to a place, and puts back what was before.
//!
//! A thread that hive has bound remembers the mask that it had: a hive that is built there must see the CPUs of the process and
//! not the one core of the bee. Binding that fails is for the caller to report; it is never fatal.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use crate::topology::affinity::{self, CallError};
use crate::topology::{self, CpuMask, Machine, Place};

thread_local! {
    /// What hive has done to this thread; `None`: it is not bound by hive. Without a destructor, so that it is there for as long as the thread is, in the
    /// destructors of others, too. The last guard empties it.
    static BOUND: RefCell<ManuallyDrop<Option<Bound>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

#[derive(Clone)]
struct Bound {
    /// The mask that the thread had before hive bound it.
    original: CpuMask,
    /// Where it is bound now; `None`: it is let loose for a while.
    place: Option<Place>,
}

/// The CPUs that the calling thread may run on now.
pub(crate) fn current_mask() -> Result<CpuMask, CallError> {
    affinity::get()
}

/// The CPUs that the calling thread may run on but for what hive has bound it to.
pub(crate) fn original_mask() -> Result<CpuMask, CallError> {
    remembered().map_or_else(current_mask, Ok)
}

/// The place that the calling thread is bound to by hive.
pub(crate) fn bound_place() -> Option<Place> {
    BOUND.with_borrow(|bound| bound.as_ref()?.place.clone())
}

fn remembered() -> Option<CpuMask> {
    BOUND.with_borrow(|bound| Some(bound.as_ref()?.original.clone()))
}

/// The machine within the calling thread's original mask, and warnings: see [`topology::read`].
pub(crate) fn read_machine() -> (Machine, Vec<String>) {
    // Without hwloc the list of CPUs is that of this thread's mask. If the bond cannot be loosened, the original mask still
    // says what is allowed.
    let _unpinned = unpin().ok();
    match original_mask() {
        Ok(mask) => topology::read(Some(&mask)),
        Err(error) => {
            let (machine, mut warnings) = topology::read(None);
            warnings.push(format!("{error}; all CPUs of the machine are taken to be allowed"));
            (machine, warnings)
        }
    }
}

/// Binds the calling thread to a place as long as the guard lives. Does nothing for a place of a foreign machine.
pub(crate) fn bind(place: &Place) -> Result<Rebound, PinError> {
    if place.is_foreign() { Ok(Rebound(None)) } else { rebind(&place.mask(), Some(place.clone())) }
}

/// Gives the calling thread, which is hive's own, the mask of the thread that built the hive.
pub(crate) fn adopt(mask: &CpuMask) -> Result<(), PinError> {
    if current_mask().is_ok_and(|own| own == *mask) { Ok(()) } else { set(mask) }
}

/// Moves the calling thread off a CPU that is among `cpus`, if it may run elsewhere. It is not bound: its mask is as before.
pub(crate) fn step_aside(cpus: &CpuMask) {
    let in_the_way = affinity::current_cpu().is_some_and(|cpu| cpus.contains(cpu));
    if !in_the_way {
        return;
    }
    let Ok(mask) = current_mask() else { return };
    let elsewhere = mask.difference(cpus);
    // The kernel moves the thread at once when its CPU is taken from its mask, and leaves it where it is when that comes back.
    if !elsewhere.is_empty() && affinity::set(&elsewhere).is_ok() {
        // This fails only if the system has taken those CPUs away meanwhile, and then it has chosen others itself.
        let _ = affinity::set(&mask);
    }
}

/// Lets the calling thread run where it might before hive bound it, as long as the guard lives; for threads that it spawns
/// meanwhile, which inherit the mask. Does nothing on a thread that is not bound.
pub(crate) fn unpin() -> Result<Rebound, PinError> {
    remembered().map_or(Ok(Rebound(None)), |original| rebind(&original, None))
}

fn rebind(mask: &CpuMask, place: Option<Place>) -> Result<Rebound, PinError> {
    let previous = current_mask().map_err(|error| PinError { cpus: mask.clone(), error })?;
    set(mask)?;
    let original = remembered().unwrap_or_else(|| previous.clone());
    let bound = BOUND.replace(ManuallyDrop::new(Some(Bound { original, place })));
    Ok(Rebound(Some(Before { mask: previous, bound: ManuallyDrop::into_inner(bound), not_send: PhantomData })))
}

fn set(mask: &CpuMask) -> Result<(), PinError> {
    affinity::set(mask).map_err(|error| PinError { cpus: mask.clone(), error })
}

/// Puts back what the calling thread was bound to when dropped. Guards of one thread are dropped in the reverse of their order.
#[must_use = "the previous mask comes back when this is dropped"]
pub(crate) struct Rebound(
    /// `None`: nothing was changed.
    Option<Before>,
);

/// How a thread was bound before.
struct Before {
    mask: CpuMask,
    bound: Option<Bound>,
    /// The mask is that of one thread.
    not_send: PhantomData<*const ()>,
}

impl Drop for Rebound {
    fn drop(&mut self) {
        let Some(before) = self.0.take() else { return };
        // This fails only if the system has taken those CPUs away meanwhile, and then it has chosen others itself.
        let _ = affinity::set(&before.mask);
        drop(ManuallyDrop::into_inner(BOUND.replace(ManuallyDrop::new(before.bound))));
    }
}

/// A thread could not be bound.
#[derive(Debug)]
pub(crate) struct PinError {
    cpus: CpuMask,
    error: CallError,
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpus, error } = self;
        write!(f, "cannot bind a thread to CPUs {cpus}: {error}; ")?;
        write!(f, "they may be switched off or outside of the process's cpuset: pin to others, or do not pin")
    }
}

impl std::error::Error for PinError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
