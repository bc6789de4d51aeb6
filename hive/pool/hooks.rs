//! The three functions by which a program can react to events of a hive: the panic hook, the start hook and the exit
//! hook. [`Builder`](crate::pool::builder::Builder) calls them `panic_handler`, `start_handler` and `exit_handler`.
//!
//! `Shared::run_worker` calls the start and the exit hook on each worker's thread. The panic hook gets a panic that has
//! no caller to go to: that of a spawned task, and that of the other two hooks.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::protocol::region::panics::{Payload, as_seen_outside};
use crate::sys::abort::abort_with_message;

/// A function that the program has given to the builder. Clones share it, because a builder can be cloned.
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

/// The hooks of one hive. None: the program has not set this hook.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hooks {
    /// Gets the payload of a panic that nobody waits for. If it is None, such a panic ends the process.
    pub(crate) panic: Option<Hook<Payload>>,
    /// Called with the worker's number when its thread begins.
    pub(crate) start: Option<Hook<usize>>,
    /// Called with the worker's number when its thread is about to end.
    pub(crate) exit: Option<Hook<usize>>,
}

impl Hooks {
    /// Calls the start hook for worker `bee`, on that worker's thread. A panic in it goes to the panic hook.
    pub(crate) fn run_start_hook(&self, bee: u32) {
        self.run(self.start.as_ref(), bee);
    }

    /// Calls the exit hook for worker `bee`, on that worker's thread. A panic in it goes to the panic hook.
    pub(crate) fn run_exit_hook(&self, bee: u32) {
        self.run(self.exit.as_ref(), bee);
    }

    fn run(&self, hook: Option<&Hook<usize>>, bee: u32) {
        if let Some(hook) = hook {
            self.catch_panic(|| (hook.0)(bee as usize));
        }
    }

    /// Runs `body`, whose result nobody waits for. If it panics, the payload goes to the panic hook; if there is no
    /// panic hook, or if the hook panics too, the process ends.
    pub(crate) fn catch_panic(&self, body: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
            self.handle_panic(as_seen_outside(panic));
        }
    }

    /// Passes `panic` to the panic hook, or ends the process.
    ///
    /// Where the process ends, the payload is forgotten and not dropped: its `Drop` is code of the program, which could
    /// panic again or block.
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
