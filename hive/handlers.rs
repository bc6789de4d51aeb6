//! What a program wants to be told of: the beginning and the end of bees, and panics that nobody else hears of.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::abort::abort_saying;
use crate::crew::{Payload, as_heard_outside};

/// A function of the program's.
pub(crate) struct Handler<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Handler<T> {
    pub(crate) fn new(handle: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handle))
    }
}

impl<T> Clone for Handler<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Handler<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

/// All of a hive's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<Handler<Payload>>,
    pub(crate) start: Option<Handler<usize>>,
    pub(crate) exit: Option<Handler<usize>>,
}

impl Handlers {
    /// Bee `bee` has begun.
    pub(crate) fn started(&self, bee: u32) {
        self.call(self.start.as_ref(), bee);
    }

    /// Bee `bee` is about to end.
    pub(crate) fn exits(&self, bee: u32) {
        self.call(self.exit.as_ref(), bee);
    }

    fn call(&self, handler: Option<&Handler<usize>>, bee: u32) {
        if let Some(handler) = handler {
            self.watch(|| (handler.0)(bee as usize));
        }
    }

    /// Runs what nobody waits for. Its panic is the panic handler's; without one, or if that panics too, the process ends.
    pub(crate) fn watch(&self, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.hear(as_heard_outside(panic));
        }
    }

    /// Tells the panic handler of a panic. Nothing is dropped before the process ends: a payload's drop is the program's code.
    #[cold]
    fn hear(&self, panic: Payload) {
        let Some(handler) = &self.panic else {
            std::mem::forget(panic);
            abort_saying(format_args!(
                "a task or a handler that nobody waits for has panicked, and the hive has no panic_handler"
            ))
        };
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| (handler.0)(panic))) {
            std::mem::forget(second);
            abort_saying(format_args!("the panic_handler has panicked"))
        }
    }
}
