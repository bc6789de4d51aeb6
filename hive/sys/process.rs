//! What all hives of a process share: values that are locked for a moment, and such as are made once.
//!
//! A forked child has these as they were, and none of the threads that might have been changing them. So nothing else in hive is kept for the whole process but numbers that change by one atomic
//! operation: no other lock, and no cell that a thread may be found filling. A test looks through the source for such.

use std::sync::{Mutex, OnceLock, PoisonError};

use crossbeam_deque::Worker;

use crate::sys::fork;

/// Has the libraries that hive uses fill their own cells of that kind, which others may fill for the first time while a thread forks: to be called before they are used.
pub(crate) fn initialize_libraries() {
    // crossbeam's collector of what is no longer needed of deques.
    let _ = fork::without_forks(|| Worker::<()>::new_lifo().stealer().steal());
}

/// A value that one thread at a time sees, and that is whole in a forked child.
pub(crate) struct ProcessLock<T>(Mutex<T>);

impl<T> ProcessLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Calls `run` with the value. Whoever forks waits for it: it is short, waits for nothing, reads no file, and calls neither this of another value nor [`fork::without_forks`].
    pub(crate) fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> R {
        fork::without_forks(|| use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// A value that is made once. A forked child has it, or makes it itself.
pub(crate) struct ProcessCell<T>(OnceLock<T>);

impl<T> ProcessCell<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value, if it has been made.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The value; if there is none yet, `make` makes it. Several threads may be making it at once, of which the first to be done is heard.
    pub(crate) fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        // Outside of the lock, as long as it may take; as is the end of one that comes too late.
        let mut value = Some(init());
        fork::without_forks(|| {
            self.0.get_or_init(|| value.take().unwrap_or_else(|| unreachable!("a cell is filled once")))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_cell_is_filled_once_by_whoever_is_done_first() {
        let cell = ProcessCell::new();
        assert_eq!(cell.get(), None);
        // Another has come before while this one was being made.
        assert_eq!(cell.get_or_init(|| *cell.get_or_init(|| 1) + 1), &1);
        assert_eq!(cell.get_or_init(|| unreachable!()), &1);
    }

    #[test]
    fn a_panic_while_a_value_is_locked_does_not_poison_it() {
        let lock = ProcessLock::new(1);
        assert!(std::panic::catch_unwind(|| lock.with(|_| panic!("as expected"))).is_err());
        assert_eq!(lock.with(|value| std::mem::replace(value, 2)), 1);
    }

    /// Those that are neither atomic numbers nor from here, and why they may be.
    const EXCEPTIONS: [(&str, &str); 4] = [
        ("observe/trace/log.rs: FIRST_USE", "`trace/traced_hives.rs` fills it while no thread forks"),
        ("pool/fork.rs: FORK_LOCK", "forks wait for it"),
        ("pool/wait_graph.rs: OWN_NODE", "each thread has its own"),
        ("region/nesting.rs: ENDING_FRAME", "each thread has its own"),
    ];

    /// A static value that another thread may be found changing at a fork is locked, or filled, by one of the types above.
    #[test]
    fn no_other_static_is_locked_or_filled_lazily() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("hive");
        let mut found = Vec::new();
        collect_statics(&source, &source, &mut found);
        found.sort_unstable();
        let known: Vec<_> = EXCEPTIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(
            found, known,
            "statics that a forked child may find locked or half filled: make them of ProcessLock or ProcessCell"
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

    /// The static values that are of none of the harmless types. Those of `Cell` and `RefCell` are a thread's.
    fn harmful_statics(text: &str) -> impl Iterator<Item = &str> {
        const HARMLESS: [&str; 6] = ["ProcessLock<", "ProcessCell<", "Atomic", "atomic::Atomic", "Cell<", "RefCell<"];
        text.lines().filter_map(|line| {
            let declaration = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub(crate) ");
            let (name, rest) = declaration.strip_prefix("static ")?.split_once(": ")?;
            let is_harmless = HARMLESS.iter().any(|harmless| rest.starts_with(harmless));
            (!is_harmless).then_some(name)
        })
    }
}
