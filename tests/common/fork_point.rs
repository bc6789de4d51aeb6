//! The place in a region, loop or task where one thread forks, and what the child does there.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use hive::Hive;

use super::sys::{Forked, exit_now, fork_here};
use super::{assert_hive_works, keep, panic_message};

/// What a child does at the place where it was forked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ChildAction {
    Return,
    Panic,
    /// It uses the hive, which gives an error or does the work at once, and hives of its own, and then returns.
    UseHives,
    Exit,
}

pub(crate) const CHILD_ACTIONS: [ChildAction; 4] =
    [ChildAction::Return, ChildAction::Panic, ChildAction::UseHives, ChildAction::Exit];

/// The place where one thread forks, once.
pub(crate) struct ForkPoint {
    pub(crate) hive: &'static Hive,
    action: ChildAction,
    pub(crate) is_done: AtomicBool,
    /// The child, in the parent.
    child: Mutex<Option<Forked>>,
}

impl ForkPoint {
    pub(crate) fn new(hive: Hive, action: ChildAction) -> &'static Self {
        let hive = keep(hive);
        keep(Self { hive, action, is_done: AtomicBool::new(false), child: Mutex::new(None) })
    }

    /// Forks, and calls `then` in the child.
    pub(crate) fn fork_and(&self, then: impl FnOnce()) {
        if self.is_done.swap(true, Ordering::Relaxed) {
            return;
        }
        match fork_here() {
            None => then(),
            child => *self.child.lock().unwrap() = child,
        }
    }

    /// Forks, and does the action in the child.
    pub(crate) fn fork(&self) {
        self.fork_and(|| match self.action {
            ChildAction::Return => {}
            ChildAction::Panic => panic!("as expected"),
            ChildAction::Exit => exit_now(0),
            ChildAction::UseHives => {
                assert!(self.hive.try_spmd(2, |_| ()).is_err() && self.hive.resize(2).is_err());
                assert_eq!(self.hive.join(|| 1, || 2), (1, 2));
                assert_eq!(self.hive.install(|| 3), 3);
                assert_eq!(self.hive.scope(|_| 4), 4);
                assert!(panic_message(|| self.hive.spawn(|| ())).contains("forked"));
                assert_hive_works(&Hive::new(2).unwrap(), 3);
                // The threads of one that stays may have the stacks of the parent's threads.
                assert_hive_works(keep(Hive::new(4).unwrap()), 4);
            }
        });
    }

    /// How the child has ended.
    pub(crate) fn outcome(&self) -> Outcome {
        let child = self.child.lock().unwrap().take().expect("somebody has forked");
        match child.outcome() {
            None => Outcome::Hung,
            Some(0) => Outcome::Success,
            Some(status) if status & 0x7f == libc::SIGABRT => Outcome::Aborted,
            Some(status) => Outcome::Other(status),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    Success,
    Aborted,
    Hung,
    Other(i32),
}
