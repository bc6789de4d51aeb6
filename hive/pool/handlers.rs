//! The three functions by which a program can react to events of a hive: the panic handler, the start handler and the
//! exit handler. [`Builder`](crate::pool::builder::Builder) calls them `panic_handler`, `start_handler` and
//! `exit_handler`.
//!
//! `Shared::run_worker` calls the start and the exit handler on each worker's thread. The panic handler gets a panic
//! that has no caller to go to: that of a spawned task, and that of the other two handlers.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::protocol::region::panics::{Payload, as_seen_outside};
use crate::sys::stderr::abort_with_message;

/// A function that the program has given to the builder. Clones share it, because a builder can be cloned.
pub(crate) type Handler<T> = Arc<dyn Fn(T) + Send + Sync>;

/// The handlers of one hive. None: the program has not set this handler.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    /// Gets the payload of a panic that nobody waits for. If it is None, such a panic ends the process.
    pub(crate) panic: Option<Handler<Payload>>,
    /// Called with the worker's number when its thread begins.
    pub(crate) start: Option<Handler<usize>>,
    /// Called with the worker's number when its thread is about to end.
    pub(crate) exit: Option<Handler<usize>>,
}

impl Handlers {
    /// Calls the start or the exit handler, if there is one, for worker `bee`, on that worker's thread. A panic in it
    /// goes to the panic handler.
    pub(crate) fn run(&self, handler: Option<&Handler<usize>>, bee: u32) {
        if let Some(handler) = handler {
            self.catch_panic(|| handler(bee as usize));
        }
    }

    /// Runs `body`, whose result nobody waits for. If it panics, the payload goes to the panic handler; if there is no
    /// panic handler, or if the handler panics too, the process ends.
    pub(crate) fn catch_panic(&self, body: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
            self.handle_panic(as_seen_outside(panic));
        }
    }

    /// Passes `panic` to the panic handler, or ends the process.
    ///
    /// Where the process ends, the payload is forgotten and not dropped: its `Drop` is code of the program, which could
    /// panic again or block.
    #[cold]
    fn handle_panic(&self, panic: Payload) {
        let Some(handler) = &self.panic else {
            std::mem::forget(panic);
            abort_with_message(format_args!(
                "a task or a handler that nobody waits for has panicked, and the hive has no panic_handler"
            ))
        };
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| handler(panic))) {
            std::mem::forget(second);
            abort_with_message(format_args!("the panic_handler has panicked"))
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { panic, start, exit } = self;
        write!(f, "Handlers {{ panic: {}, start: {}, exit: {} }}", panic.is_some(), start.is_some(), exit.is_some())
    }
}
