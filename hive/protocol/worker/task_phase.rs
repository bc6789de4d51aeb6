//! Whether a bee that is in no region is idle, looks for a task, or is in the middle of one. A thread that announces a
//! region reads it: see `region/announcement.rs`.

use crate::sync::{AtomicU32, Ordering};

/// What a worker that is in no region does about tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum TaskPhase {
    /// Nothing. Before it looks for a task it must look for announcements.
    Idle = 0,
    /// It looks for a task. Soon it will be in one, or be idle again.
    Looking = 1,
    /// It is in the middle of a task.
    InTask = 2,
}

/// The phase of one bee. Only the bee's own thread changes it; a thread that announces a region reads it.
pub(crate) struct TaskPhaseWord(AtomicU32);

impl TaskPhaseWord {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(TaskPhase::Idle as u32))
    }

    /// Sets the phase of the calling bee.
    pub(crate) fn set(&self, phase: TaskPhase) {
        // Relaxed: the one change that has to be ordered, to `Looking`, is ordered by the fence in
        // `Team::try_mark_looking`.
        self.0.store(phase as u32, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> TaskPhase {
        // Relaxed: the fence in `Team::try_announce_region` orders this load after the announcement.
        match self.0.load(Ordering::Relaxed) {
            0 => TaskPhase::Idle,
            1 => TaskPhase::Looking,
            2 => TaskPhase::InTask,
            bits => unreachable!("no bee is ever in phase {bits}"),
        }
    }
}
