//! Threads that are something else besides a bee: a guest library owns them from their first step to their last, and has the bee live its life inside.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A bee's life, from its hiring to its dismissal.
pub(crate) type WorkerMain = Box<dyn FnOnce() + Send>;

/// What the guest does on a thread; it calls the life once.
pub(crate) type ThreadHost = Box<dyn FnOnce(WorkerMain) + Send>;

/// The seats that a guest has prepared, by the numbers of the bees that they are for.
#[derive(Default)]
pub(crate) struct ThreadHosts(Mutex<BTreeMap<u32, ThreadHost>>);

impl ThreadHosts {
    /// Has the thread of bee `member`, which has not been hired yet, run `host`.
    #[cfg(feature = "rayon")]
    pub(crate) fn reserve(&self, worker: u32, host: ThreadHost) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(worker, host);
    }

    /// What the thread of bee `member` is to run, whose life is `life`.
    pub(crate) fn host_for<L: FnOnce() + Send + 'static>(&self, worker: u32, main: L) -> impl FnOnce() + Send + use<L> {
        let main = Box::new(main) as WorkerMain;
        let host = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&worker);
        move || match host {
            Some(host) => host(main),
            None => main(),
        }
    }

    /// Gives up those that nobody has taken.
    pub(crate) fn clear(&self) {
        let hosts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(hosts);
    }
}
