//! Stands in for crossbeam's queues, which no checker can see into: a list under a lock, with its length beside it. A
//! thread that only asks whether the queue is empty reads the length and may see it late, as with the real queues.
//!
//! Both checkers include this file in their `sync` module, which supplies its own mutex and atomics as `super`.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{AtomicU32, Mutex, Ordering};

pub(crate) enum Steal<T> {
    Success(T),
    Empty,
    #[allow(dead_code, reason = "the real ones sometimes do not know")]
    Retry,
}

struct List<T> {
    items: Mutex<VecDeque<T>>,
    len: AtomicU32,
}

impl<T> List<T> {
    fn new() -> Self {
        Self { items: Mutex::new(VecDeque::new()), len: AtomicU32::new(0) }
    }

    fn push(&self, item: T) {
        let mut items = self.items.lock();
        items.push_back(item);
        // Release: pairs with the Acquire in `len`, as in the real queues: a thread that sees the new length sees what
        // was done before the push.
        self.len.store(items.len() as u32, Ordering::Release);
    }

    fn pop(&self, take: impl FnOnce(&mut VecDeque<T>) -> Option<T>) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut items = self.items.lock();
        let item = take(&mut items);
        self.len.store(items.len() as u32, Ordering::Release);
        // Release: as in `push`.
        item
    }

    /// Takes the oldest item and moves the older half of the others to `other`. For a moment these are in neither
    /// queue, as with the real queues.
    fn take_half(&self, other: &Self) -> Steal<T> {
        let mut others = VecDeque::new();
        let first = self.pop(|items| {
            let first = items.pop_front();
            others.extend(items.drain(..items.len() / 2));
            first
        });
        others.into_iter().for_each(|item| other.push(item));
        first.map_or(Steal::Empty, Steal::Success)
    }

    fn len(&self) -> usize {
        // Acquire: pairs with the Release in `push` and `pop`.
        self.len.load(Ordering::Acquire) as usize
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

pub(crate) struct Injector<T>(List<T>);

impl<T> Default for Injector<T> {
    fn default() -> Self {
        Self(List::new())
    }
}

impl<T> Injector<T> {
    pub(crate) fn push(&self, item: T) {
        self.0.push(item);
    }

    pub(crate) fn steal(&self) -> Steal<T> {
        self.0.pop(VecDeque::pop_front).map_or(Steal::Empty, Steal::Success)
    }

    pub(crate) fn steal_batch_and_pop(&self, own: &Worker<T>) -> Steal<T> {
        self.0.take_half(&own.0)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

pub(crate) struct Worker<T>(Arc<List<T>>);

pub(crate) struct Stealer<T>(Arc<List<T>>);

impl<T> Worker<T> {
    pub(crate) fn new_lifo() -> Self {
        Self(Arc::new(List::new()))
    }

    /// For breadth-first task pools, of which there are no models.
    pub(crate) fn new_fifo() -> Self {
        Self::new_lifo()
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(Arc::clone(&self.0))
    }

    pub(crate) fn push(&self, item: T) {
        self.0.push(item);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        self.0.pop(VecDeque::pop_back)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Stealer<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn steal_batch_and_pop(&self, own: &Worker<T>) -> Steal<T> {
        self.0.take_half(&own.0)
    }

    pub(crate) fn steal(&self) -> Steal<T> {
        self.0.pop(VecDeque::pop_front).map_or(Steal::Empty, Steal::Success)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
