//! State that all hives of a process share: values that are locked for a moment ([`ProcessLock`]), the same with a
//! fresh value in each forked child ([`OfProcess`]), and values that are made once in each process ([`PerProcess`]).
//!
//! A forked child has copies of these values, and none of the threads that may have been changing them. Therefore hive
//! keeps no process-wide state except these three types and numbers that are changed by one atomic operation: there is
//! no other lock, and no other cell that a thread could be filling during a fork. A test below looks through the source
//! for such statics. See `docs/fork.md`.

use std::convert::Infallible;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{mem, ptr};

use crossbeam_deque::Worker;
use crossbeam_utils::CachePadded;

use crate::sys::fork::{self, Inherited};

/// Makes the libraries that hive uses fill their own lazily filled cells, while no thread forks. Call it before any of
/// them is used.
pub(crate) fn initialize_libraries() {
    // crossbeam's epoch collector, which frees the memory of deques.
    let _ = fork::without_forks(|| Worker::<()>::new_lifo().stealer().steal());
}

/// A value that one thread at a time can use, and that no forked child finds locked or half changed.
pub(crate) struct ProcessLock<T>(Mutex<T>);

impl<T> ProcessLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Calls `use_it` with the value. A thread that forks waits for it. So it must be short, wait for nothing, read no
    /// file, and call neither `with` of another value nor [`fork::without_forks`].
    pub(crate) fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> R {
        fork::without_forks(|| use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// A [`ProcessLock`] whose value a forked child does not inherit: it finds `T::default()` in its place. (A value that
/// takes long to make is a [`PerProcess`].)
pub(crate) struct OfProcess<T>(ProcessLock<(u32, T)>);

impl<T: Default> OfProcess<T> {
    /// `value` is what the first process begins with, and has to be `T::default()`, which a constant cannot call.
    pub(crate) const fn new(value: T) -> Self {
        Self(ProcessLock::new((0, value)))
    }

    /// Calls `use_it` with the generation of this process (see `fork.rs`) and its value, as [`ProcessLock::with`] does.
    pub(crate) fn with<R>(&self, use_it: impl FnOnce(u32, &mut T) -> R) -> R {
        self.0.with(|(made_in, value)| {
            let generation = fork::generation();
            if mem::replace(made_in, generation) != generation {
                *value = T::default();
            }
            use_it(generation, value)
        })
    }
}

/// A value that may take long to make and may use threads, and that is never dropped. Each process makes its own: what
/// a forked child has inherited stays where it is, but is found no longer.
///
/// ```
/// use hive::adapters::task_pool::PerProcess;
/// use hive::adapters::task_pool::builder::PoolBuilder;
/// use hive::adapters::task_pool::handle::TaskPool;
///
/// static POOL: PerProcess<TaskPool> = PerProcess::new();
/// let build = || {
///     PoolBuilder::default().build(2, |thread| std::thread::Builder::new().spawn(|| thread.run()).map(drop))
/// };
/// assert_eq!(POOL.get_or_make(build)?.threads(), 2);
/// assert!(POOL.make(build).is_err(), "there is one already");
/// # Ok::<(), hive::adapters::task_pool::builder::BuildError>(())
/// ```
pub struct PerProcess<T> {
    /// The value; null if this process has none. It has its cache lines for itself: what lies beside it in memory may
    /// be written to often.
    value: AtomicPtr<CachePadded<T>>,
    /// The lock that is held while the value is made. A child makes another one, since it may find its parent's held by
    /// a thread that it does not have. Forks do not wait for that thread. Locks are leaked, but a process has at most
    /// one of its own.
    build_lock: OfProcess<Option<&'static Mutex<()>>>,
}

impl<T: Send + Sync + 'static> PerProcess<T> {
    /// A place without a value.
    #[expect(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> Self {
        Self { value: AtomicPtr::new(ptr::null_mut()), build_lock: OfProcess::new(None) }
    }

    /// The value, if this process has made it.
    #[inline(always)]
    #[expect(unsafe_code, reason = "reads a reference that is kept as an atomic pointer")]
    pub fn get(&self) -> Option<&'static T> {
        // Acquire: pairs with the Release in `make`; the value is there then.
        let value = self.value.load(Ordering::Acquire);
        // SAFETY: where it is not null, `make` has leaked it, and nobody has a mutable reference to it.
        unsafe { value.as_ref() }.map(|value| &**value)
    }

    /// The value. If there is none yet, `make` makes it; other threads that ask meanwhile wait for that. If `make`
    /// forks, the child gets its result here too, and does not keep it.
    ///
    /// # Errors
    /// The error of `make`; the next call tries again.
    pub fn get_or_make<E>(&'static self, make: impl FnOnce() -> Result<T, E>) -> Result<&'static T, E> {
        match self.get() {
            Some(value) => Ok(value),
            None => self.make(make).unwrap_or_else(|value| Ok(value)),
        }
    }

    /// The same, for a value whose making cannot fail.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "some systems need none"))]
    pub(crate) fn get_or_init(&'static self, init: impl FnOnce() -> T) -> &'static T {
        let Ok(value) = self.get_or_make(|| Ok::<_, Infallible>(init()));
        value
    }

    /// Makes the value by `make`. The error is the value that there is already.
    pub fn make<E>(&'static self, make: impl FnOnce() -> Result<T, E>) -> Result<Result<&'static T, E>, &'static T> {
        let lock = self.build_lock.with(|_, lock| *lock.get_or_insert_with(|| Box::leak(Box::default())));
        let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.get() {
            return Err(value);
        }
        fork::forget_in_children(self);
        let generation = fork::generation();
        Ok(make().map(|value| {
            let value = Box::leak(Box::new(CachePadded::new(value)));
            // Not if `make` has forked and this is the child: its caller gets the value, whose threads are the
            // parent's, and whoever comes later makes one for the child.
            if generation == fork::generation() {
                // Release: pairs with the Acquire in `get`.
                self.value.store(value, Ordering::Release);
            }
            &**value
        }))
    }
}

impl<T> Inherited for PerProcess<T> {
    fn forget(&self) {
        // Relaxed: the child has only one thread.
        self.value.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_panic_while_a_value_is_locked_does_not_poison_it() {
        let lock = ProcessLock::new(1);
        assert!(std::panic::catch_unwind(|| lock.with(|_| panic!("as expected"))).is_err());
        assert_eq!(lock.with(|value| std::mem::replace(value, 2)), 1);
    }

    /// The child comes back with what its parent's threads belong to, and makes its own afterwards.
    #[test]
    #[cfg(all(unix, not(miri)))]
    #[expect(unsafe_code, reason = "C calls")]
    fn a_child_that_was_forked_while_a_value_was_made_keeps_none() {
        static VALUE: PerProcess<i32> = PerProcess::new();
        let made = VALUE.get_or_make(|| {
            // SAFETY: the child calls only `get_or_make`, which a child may, and ends.
            Ok::<_, ()>(unsafe { libc::fork() })
        });
        let child = *made.expect("it is made");
        if child == 0 {
            let own = VALUE.get_or_make(|| Ok::<_, ()>(7));
            // SAFETY: the call takes a number. It runs nothing of the parent's.
            unsafe { libc::_exit(i32::from(own != Ok(&7))) }
        }
        let mut status = -1;
        // SAFETY: the number is written to during this call only.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!((status, VALUE.get()), (0, Some(&child)));
    }

    /// The statics that are of none of the three types, nor atomic numbers, and why each of them is harmless.
    const EXCEPTIONS: [(&str, &str); 7] = [
        ("adapters/task_pool/completion.rs: SEMAPHORE", "each thread has its own"),
        ("observe/trace/log.rs: FIRST_USE", "`trace/file_names.rs` fills it while no thread forks"),
        ("pool/wait_graph.rs: OWN_NODE", "each thread has its own"),
        ("region/nesting.rs: ENDING_FRAME", "each thread has its own"),
        ("sys/fork.rs: FORK_LOCK", "forks wait for it"),
        ("tasks/job_memory.rs: KEPT_BLOCKS", "each thread has its own"),
        ("tasks/job_memory.rs: SHELVES", "nobody waits for them"),
    ];

    /// Every static that another thread may be changing during a fork is of one of the three types above.
    #[test]
    fn no_other_static_is_locked_or_filled_lazily() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("hive");
        let mut found = Vec::new();
        collect_statics(&source, &source, &mut found);
        found.sort_unstable();
        let known: Vec<_> = EXCEPTIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(
            found, known,
            "statics that a forked child may find locked or half filled: make them of ProcessLock or PerProcess"
        );
    }

    fn collect_statics(source: &Path, directory: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect_statics(source, &path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(source).unwrap().display().to_string();
                let text = fs::read_to_string(&path).unwrap();
                let library = text.split("#[cfg(test)]").next().unwrap_or_default();
                found.extend(harmful_statics(library).map(|name| format!("{file}: {name}")));
            }
        }
    }

    /// The statics whose types are not known to be harmless. Those of `Cell`, `[Cell]` and `RefCell` are
    /// thread-local, and arrays of functions do not change.
    fn harmful_statics(text: &str) -> impl Iterator<Item = &str> {
        const HARMLESS: [&str; 9] = [
            "ProcessLock<",
            "OfProcess<",
            "PerProcess<",
            "Atomic",
            "atomic::Atomic",
            "Cell<",
            "[Cell<",
            "RefCell<",
            "[fn(); ",
        ];
        text.lines().filter_map(|line| {
            let line = line.trim_start();
            let visibility = ["pub(crate) ", "pub(super) ", "pub "].into_iter().find(|it| line.starts_with(it));
            let declaration = &line[visibility.unwrap_or_default().len()..];
            let (name, rest) = declaration.strip_prefix("static ")?.split_once(": ")?;
            let is_harmless = HARMLESS.iter().any(|harmless| rest.starts_with(harmless));
            (!is_harmless).then_some(name)
        })
    }
}
