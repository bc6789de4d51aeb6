//! Which hives' bees wait for which others', so that no circle of waits comes about. See `docs/waits-between-hives.md`.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::protocol::waiting_hive::{NO_HIVE, WaitingHive, closes_cycle};
use crate::sys::process::ProcessLock;

/// Those that live, by number.
static GRAPH: ProcessLock<WaitGraph> = ProcessLock::new(WaitGraph { last_number: NO_HIVE, nodes: BTreeMap::new() });

/// All of them.
struct WaitGraph {
    /// The number given out last.
    last_number: u64,
    nodes: BTreeMap<u64, Arc<Node>>,
}

/// What is known of one.
struct Node {
    number: u64,
    awaited: WaitingHive,
}

thread_local! {
    /// The hive that the calling thread is a bee of, if it is one: for good, also when its other thread-locals have
    /// gone.
    static OWN_HIVE: Cell<u64> = const { Cell::new(NO_HIVE) };
    /// Its entry, at hand without the lock.
    static OWN_NODE: OnceCell<Arc<Node>> = const { OnceCell::new() };
}

/// A hive among those that may be waited for.
pub(crate) struct WaitNode(Arc<Node>);

impl WaitNode {
    /// Of a new hive.
    pub(crate) fn new() -> Self {
        Self(GRAPH.with(|graph| {
            graph.last_number += 1;
            let node = Arc::new(Node { number: graph.last_number, awaited: WaitingHive::new() });
            graph.nodes.insert(node.number, Arc::clone(&node));
            node
        }))
    }

    /// Notes that the calling thread is a bee of this hive, and will be nothing else.
    pub(crate) fn register_worker(&self) {
        OWN_HIVE.set(self.0.number);
        let _ = OWN_NODE.try_with(|node| node.set(Arc::clone(&self.0)));
    }

    /// Whether the calling thread is a bee of this hive.
    pub(crate) fn is_current_hive(&self) -> bool {
        OWN_HIVE.get() == self.0.number
    }

    /// Notes that the calling thread, which has the hive's turn, may come to wait for some of its bees, as long as the
    /// guard lives: for whichever takes a task of its.
    pub(crate) fn mark_waiting(&self) -> Option<WaitingMark<'_>> {
        let own_hive = OWN_HIVE.get();
        (own_hive != NO_HIVE)
            .then(|| WaitingMark { awaited: &self.0.awaited, previous: self.0.awaited.replace(own_hive) })
    }

    /// Calls `wait`, in which the calling thread waits for bees of this hive: it has the turn, or drops the hive. None,
    /// and it does not, if they may be waiting for the calling thread.
    pub(crate) fn unless_deadlock<R>(&self, wait: impl FnOnce() -> R) -> Option<R> {
        let own_hive = OWN_HIVE.get();
        // Nobody's bee: bees wait for it only where it has their hive's turn, and then nobody else waits for those.
        if own_hive == NO_HIVE {
            return Some(wait());
        }
        let awaited = &self.0.awaited;
        let _waiting = WaitingMark { awaited, previous: awaited.replace_and_fence(own_hive) };
        (!self.closes_cycle(own_hive)).then(wait)
    }

    fn closes_cycle(&self, own_hive: u64) -> bool {
        if own_hive == self.0.number {
            return true;
        }
        let is_free = OWN_NODE.try_with(|node| node.get().is_some_and(|node| node.awaited.number() == NO_HIVE));
        if is_free.unwrap_or(false) {
            return false;
        }
        GRAPH.with(|graph| {
            let awaited_by = |hive| graph.nodes.get(&hive).map_or(NO_HIVE, |node| node.awaited.number());
            closes_cycle(own_hive, self.0.number, graph.nodes.len(), awaited_by)
        })
    }
}

impl Drop for WaitNode {
    fn drop(&mut self) {
        // What is removed is dropped outside of the lock.
        let _node = GRAPH.with(|graph| graph.nodes.remove(&self.0.number));
    }
}

/// A wait that is noted.
pub(crate) struct WaitingMark<'w> {
    awaited: &'w WaitingHive,
    previous: u64,
}

impl Drop for WaitingMark<'_> {
    fn drop(&mut self) {
        self.awaited.replace(self.previous);
    }
}
