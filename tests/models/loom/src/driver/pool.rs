//! A few threads that work through one list of items.
//!
//! The work function prints its own result, so results appear in the order in which they are ready.

use std::sync::Mutex;
use std::thread;

/// How many processes run at a time.
const WORKERS: usize = 2;

/// Calls `work` on each item and returns the results in the order of the items.
pub(super) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(0..items.len());
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let take = || next.lock().expect("no worker panics under this lock").next();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(index) = take() {
                    let result = work(&items[index]);
                    *results[index].lock().expect("no worker panics under this lock") = Some(result);
                }
            });
        }
    });
    results.into_iter().map(|result| result.into_inner().expect("as above").expect("every item is taken")).collect()
}
