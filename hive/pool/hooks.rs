//! What a program wants to be told of: the beginning and the end of bees, and panics that nobody else hears of.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::protocol::region::panics::{Payload, as_seen_outside};
use crate::sys::abort::abort_with_message;

/// A function of the program's.
pub(crate) struct Hook<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Hook<T> {
    pub(crate) fn new(function: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }
}

impl<T> Clone for Hook<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Hook<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

/// All of a hive's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) panic: Option<Hook<Payload>>,
    pub(crate) start: Option<Hook<usize>>,
    pub(crate) exit: Option<Hook<usize>>,
}

impl Hooks {
    /// Bee `bee` has begun.
    pub(crate) fn run_start_hook(&self, bee: u32) {
        self.run(self.start.as_ref(), bee);
    }

    /// Bee `bee` is about to end.
    pub(crate) fn run_exit_hook(&self, bee: u32) {
        self.run(self.exit.as_ref(), bee);
    }

    fn run(&self, hook: Option<&Hook<usize>>, bee: u32) {
        if let Some(hook) = hook {
            self.catch_panic(|| (hook.0)(bee as usize));
        }
    }

    /// Runs what nobody waits for. Its panic is the panic handler's; without one, or if that panics too, the process ends.
    pub(crate) fn catch_panic(&self, body: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
            self.handle_panic(as_seen_outside(panic));
        }
    }

    /// Tells the panic handler of a panic. Nothing is dropped before the process ends: a payload's drop is the program's code.
    #[cold]
    fn handle_panic(&self, panic: Payload) {
        let Some(hook) = &self.panic else {
            std::mem::forget(panic);
            abort_with_message(format_args!(
                "a task or a handler that nobody waits for has panicked, and the hive has no panic_handler"
            ))
        };
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| (hook.0)(panic))) {
            std::mem::forget(second);
            abort_with_message(format_args!("the panic_handler has panicked"))
        }
    }
}
