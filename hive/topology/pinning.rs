//! Binds the calling thread to a place, and puts back what was before.
//!
//! A thread that hive has bound remembers the mask that it had: a hive that is built there must see the CPUs of the process and
//! not the one core of the bee. Binding that fails is for the caller to report; it is never fatal.

#[cfg(all(test, target_os = "linux"))]
pub(crate) mod tests;

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use crate::sys::affinity;
use crate::sys::affinity::CallError;
use crate::sys::cpu_mask::CpuMask;
use crate::topology;
use crate::topology::machine::Machine;
use crate::topology::place_assignment::Place;

thread_local! {
    /// What hive has done to this thread; `None`: it is not bound by hive. Without a destructor, so that it is there for as long as the thread is, in the
    /// destructors of others, too. The last guard empties it.
    static CURRENT_BINDING: RefCell<ManuallyDrop<Option<ThreadBinding>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

#[derive(Clone)]
struct ThreadBinding {
    /// The mask that the thread had before hive bound it.
    original_mask: CpuMask,
    /// Where it is bound now; `None`: it is let loose for a while.
    place: Option<Place>,
}

/// The CPUs that the calling thread may run on now.
pub(crate) fn current_mask() -> Result<CpuMask, CallError> {
    affinity::query()
}

/// The CPUs that the calling thread may run on but for what hive has bound it to.
pub(crate) fn original_mask() -> Result<CpuMask, CallError> {
    saved_mask().map_or_else(current_mask, Ok)
}

/// The place that the calling thread is bound to by hive.
pub(crate) fn bound_place() -> Option<Place> {
    CURRENT_BINDING.with_borrow(|binding| binding.as_ref()?.place.clone())
}

fn saved_mask() -> Option<CpuMask> {
    CURRENT_BINDING.with_borrow(|binding| Some(binding.as_ref()?.original_mask.clone()))
}

/// The machine within the calling thread's original mask, and warnings: see [`topology::read`].
pub(crate) fn read_machine_unpinned() -> (Machine, Vec<String>) {
    // Without hwloc the list of CPUs is that of this thread's mask. If the thread cannot be unbound, the original mask still
    // says what is allowed.
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

/// Binds the calling thread to a place as long as the guard lives. Does nothing for a place of a foreign machine.
pub(crate) fn bind(place: &Place) -> Result<RestoreBinding, BindError> {
    if place.is_foreign() { Ok(RestoreBinding(None)) } else { change_binding(&place.mask(), Some(place.clone())) }
}

/// Gives the calling thread, which is hive's own, the mask of the thread that built the hive.
pub(crate) fn adopt_mask(mask: &CpuMask) -> Result<(), BindError> {
    if current_mask().is_ok_and(|current| current == *mask) { Ok(()) } else { set_mask(mask) }
}

/// Lets the calling thread run where it might before hive bound it, as long as the guard lives; for threads that it spawns
/// meanwhile, which inherit the mask. Does nothing on a thread that is not bound.
pub(crate) fn unbind() -> Result<RestoreBinding, BindError> {
    saved_mask().map_or(Ok(RestoreBinding(None)), |original| change_binding(&original, None))
}

fn change_binding(mask: &CpuMask, place: Option<Place>) -> Result<RestoreBinding, BindError> {
    let previous = current_mask().map_err(|error| BindError { cpus: mask.clone(), error })?;
    set_mask(mask)?;
    let original = saved_mask().unwrap_or_else(|| previous.clone());
    let previous_binding =
        CURRENT_BINDING.replace(ManuallyDrop::new(Some(ThreadBinding { original_mask: original, place })));
    Ok(RestoreBinding(Some(PreviousBinding {
        mask: previous,
        binding: ManuallyDrop::into_inner(previous_binding),
        not_send: PhantomData,
    })))
}

fn set_mask(mask: &CpuMask) -> Result<(), BindError> {
    affinity::apply(mask).map_err(|error| BindError { cpus: mask.clone(), error })
}

/// Puts back what the calling thread was bound to when dropped. Guards of one thread are dropped in the reverse of their order.
#[must_use = "the previous mask comes back when this is dropped"]
pub(crate) struct RestoreBinding(
    /// `None`: nothing was changed.
    Option<PreviousBinding>,
);

/// How a thread was bound before.
struct PreviousBinding {
    mask: CpuMask,
    binding: Option<ThreadBinding>,
    /// The mask is that of one thread.
    not_send: PhantomData<*const ()>,
}

impl Drop for RestoreBinding {
    fn drop(&mut self) {
        let Some(previous) = self.0.take() else { return };
        // This fails only if the system has taken those CPUs away meanwhile, and then it has chosen others itself.
        let _ = affinity::apply(&previous.mask);
        drop(ManuallyDrop::into_inner(CURRENT_BINDING.replace(ManuallyDrop::new(previous.binding))));
    }
}

/// A thread could not be bound.
#[derive(Debug)]
pub(crate) struct BindError {
    cpus: CpuMask,
    error: CallError,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpus, error } = self;
        write!(f, "cannot bind a thread to CPUs {cpus}: {error}; ")?;
        write!(f, "they may be switched off or outside of the process's cpuset: pin to others, or do not pin")
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
