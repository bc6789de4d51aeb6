//! Records which hives' bees wait for bees of which other hives, so that no cycle of waits comes about. Proved in
//! `docs/waits-between-hives.md`; `hive/protocol/waiting_hive.rs` has the protocol for one hive.
//!
//! Every hive has one [`WaitNode`] in the graph of this process. `Shared` asks it before a bee of another hive starts a
//! region on the hive or drops it, and `tasks/enter.rs` marks a bee of another hive that runs tasks in the queen's
//! place.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::on_drop::on_drop;
use crate::protocol::waiting_hive::{NO_HIVE, WaitingHive, closes_cycle};
use crate::sys::process::ProcessLock;

/// The graph of this process.
static GRAPH: ProcessLock<WaitGraph> = ProcessLock::new(WaitGraph { last_number: NO_HIVE, nodes: BTreeMap::new() });

/// All hives of the process that have not been dropped.
struct WaitGraph {
    /// The number that was given to the newest hive. Numbers are never reused.
    last_number: u64,
    /// One node for each hive, by the hive's number.
    nodes: BTreeMap<u64, Arc<Node>>,
}

/// What the graph knows of one hive.
struct Node {
    /// The hive's number; never `NO_HIVE`.
    number: u64,
    /// The hive whose bee waits for this hive's bees; `NO_HIVE` if there is none.
    awaited: WaitingHive,
}

thread_local! {
    /// The number of the hive whose worker the calling thread is; `NO_HIVE` for any other thread. Set once, when a
    /// worker starts. It has no destructor, so it can still be read when the thread's other thread-locals have been
    /// destroyed.
    static OWN_HIVE: Cell<u64> = const { Cell::new(NO_HIVE) };
    /// The node of the same hive, so that a worker can read it without locking `GRAPH`.
    static OWN_NODE: OnceCell<Arc<Node>> = const { OnceCell::new() };
}

/// A hive's entry in the graph. Its shared state owns it; dropping it takes the hive out of the graph.
pub(crate) struct WaitNode(Arc<Node>);

impl WaitNode {
    /// Adds a new hive to the graph, with the next number.
    pub(crate) fn new() -> Self {
        Self(GRAPH.with(|graph| {
            graph.last_number += 1;
            let node = Arc::new(Node { number: graph.last_number, awaited: WaitingHive::default() });
            graph.nodes.insert(node.number, Arc::clone(&node));
            node
        }))
    }

    /// Records that the calling thread is a worker of this hive. Called once, when the worker's thread begins; a worker
    /// never belongs to another hive.
    pub(crate) fn register_worker(&self) {
        OWN_HIVE.set(self.0.number);
        // An error means that the thread-local is being destroyed. `closes_cycle` then uses the graph.
        let _ = OWN_NODE.try_with(|node| node.set(Arc::clone(&self.0)));
    }

    /// Whether the calling thread is a worker of this hive.
    pub(crate) fn is_current_hive(&self) -> bool {
        OWN_HIVE.get() == self.0.number
    }

    /// Records, until the returned guard is dropped, that the calling thread may come to wait for bees of this hive.
    ///
    /// The caller holds this hive's queen lock and runs tasks in the queen's place. It waits only for a bee that has
    /// taken one of its tasks, and that bee learns of this mark with the task, so the caller need not look for a cycle
    /// itself. None if the calling thread is no hive's worker: such a thread cannot be part of a cycle.
    pub(crate) fn mark_waiting(&self) -> Option<impl Drop + use<'_>> {
        let own_hive = OWN_HIVE.get();
        (own_hive != NO_HIVE).then(|| self.restore_on_drop(self.0.awaited.replace(own_hive)))
    }

    /// Calls `wait`, in which the calling thread waits for bees of this hive, unless that would close a cycle: unless
    /// those bees may be waiting, directly or through further hives, for the calling thread. Then `wait` is not called,
    /// and the result is None.
    ///
    /// The calling thread holds this hive's queen lock, or is dropping the hive. So no other thread waits for this
    /// hive's bees, and one word for each hive is enough.
    pub(crate) fn unless_deadlock<R>(&self, wait: impl FnOnce() -> R) -> Option<R> {
        let own_hive = OWN_HIVE.get();
        // A thread that is no worker cannot be part of a cycle. Only bees of hives whose queen lock it holds wait for
        // it, and while it holds a queen lock nobody else waits for the bees of that hive.
        if own_hive == NO_HIVE {
            return Some(wait());
        }
        // First record the wait, then look for a cycle: of several threads whose waits would close one together, the
        // last to pass its fence sees all of them. If there is a cycle, the mark is taken back at once.
        let _waiting = self.restore_on_drop(self.0.awaited.replace_and_fence(own_hive));
        (!self.closes_cycle(own_hive)).then(wait)
    }

    /// Takes the record of a wait back when the result is dropped. `previous` is what the record said before.
    fn restore_on_drop(&self, previous: u64) -> impl Drop + use<'_> {
        on_drop(move || _ = self.0.awaited.replace(previous))
    }

    /// Whether bees of this hive may be waiting for those of `own_hive`, which the calling thread belongs to.
    fn closes_cycle(&self, own_hive: u64) -> bool {
        // A worker that waits for the bees of its own hive would wait for itself.
        if own_hive == self.0.number {
            return true;
        }
        // The usual case, decided without the lock: nobody waits for the bees of the own hive, so the chain of waits is
        // empty.
        let is_free = OWN_NODE.try_with(|node| node.get().is_some_and(|node| node.awaited.number() == NO_HIVE));
        if is_free.unwrap_or(false) {
            return false;
        }
        // Follow the chain of waits from the own hive. A hive that has left the graph is waited for by nobody.
        GRAPH.with(|graph| {
            let awaited_by = |hive| graph.nodes.get(&hive).map_or(NO_HIVE, |node| node.awaited.number());
            closes_cycle(own_hive, self.0.number, graph.nodes.len(), awaited_by)
        })
    }
}

impl Drop for WaitNode {
    fn drop(&mut self) {
        // The node is bound to a variable so that it is dropped after the lock has been released.
        let _node = GRAPH.with(|graph| graph.nodes.remove(&self.0.number));
    }
}
