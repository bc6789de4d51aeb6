//! A task that spawns itself again for ever does not make anything else wait for ever. Each chain of such tasks here
//! goes on until what it could starve has happened.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use common::task_helpers::PROTOCOLS;
use common::{Gate, keep, run_exclusively};
use hive::{Hive, Scope};

/// Ends a chain.
#[derive(Default)]
struct StopFlag(AtomicBool);

impl StopFlag {
    fn new() -> Self {
        Self::default()
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Spawns itself again until the flag is set.
fn chain<'scope>(scope: &Scope<'scope>, stop: &'scope StopFlag) {
    if !stop.is_set() {
        scope.spawn(move |scope| chain(scope, stop));
    }
}

/// Hives of `bees` with each protocol, with bees that sleep at once and with bees that poll.
fn hives(bees: usize) -> impl Iterator<Item = &'static Hive> {
    let build = move |builder: hive::Builder| keep(builder.bees(bees).build().unwrap());
    PROTOCOLS.into_iter().flat_map(move |sleep| {
        let hive = Hive::builder().sleep(sleep);
        [hive.clone().spin(Duration::ZERO), hive].map(build)
    })
}

/// A hive of two. Its worker runs a chain while `caller`, on a thread of its own, does what ends the chain. No other
/// thread runs tasks.
fn during_chain(caller: impl Fn(&'static Hive, &'static StopFlag) + Sync) {
    let _alone = run_exclusively();
    for hive in hives(2) {
        let (over, begun): (&'static StopFlag, &'static Gate) = (keep(Default::default()), keep(Default::default()));
        hive.spawn_on(1, move || {
            begun.arrive();
            hive.scope(|scope| chain(scope, over));
        });
        begun.wait_for(1);
        caller(hive, over);
        assert!(over.is_set());
    }
}

#[test]
fn what_only_one_bee_may_run_goes_before_its_other_tasks() {
    let _alone = run_exclusively();
    // Worker 1 has a hundred tasks in its deque, from which nobody steals: this thread is outside. Before the first of
    // them ends, a task for this worker alone is sent.
    let hive = Hive::new(2).unwrap();
    let (ran, is_first) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(true)));
    let (first_began, first_has_begun) = mpsc::channel();
    let (sent, is_sent) = mpsc::channel::<()>();
    let is_sent = Arc::new(Mutex::new(is_sent));
    let count = Arc::clone(&ran);
    hive.spawn_on(1, move || {
        for _ in 0..100 {
            let (count, is_first) = (Arc::clone(&count), Arc::clone(&is_first));
            let (first_began, is_sent) = (first_began.clone(), Arc::clone(&is_sent));
            hive::spawn(move || {
                if is_first.swap(false, Ordering::Relaxed) {
                    first_began.send(()).unwrap();
                    is_sent.lock().unwrap().recv().unwrap();
                }
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    first_has_begun.recv().unwrap();
    let (sender, ran_before) = mpsc::channel();
    hive.spawn_on(1, move || sender.send(ran.load(Ordering::Relaxed)).unwrap());
    sent.send(()).unwrap();
    // The one that was running, and one more if the next search happened to be one of those that begin elsewhere.
    let ran_before = ran_before.recv().unwrap();
    assert!(ran_before <= 2, "{ran_before} tasks that others may run came first");
}

#[test]
fn a_chain_does_not_starve_spawn_on() {
    during_chain(|hive, over| {
        hive.spawn_on(1, || over.set());
        common::wait_until(|| over.is_set());
    });
}

#[test]
fn a_chain_does_not_starve_broadcast() {
    during_chain(|hive, over| drop(hive.broadcast(|_| over.set())));
}

#[test]
fn a_chain_does_not_starve_spawn() {
    during_chain(|hive, over| {
        hive.spawn(|| over.set());
        common::wait_until(|| over.is_set());
    });
}

#[test]
fn a_chain_does_not_starve_a_region() {
    during_chain(|hive, over| hive.spmd(2, |_| over.set()));
}

/// The queen's position is taken by a thread that does nothing, so the worker has to run the caller's join.
#[test]
fn a_chain_does_not_starve_a_caller_from_outside() {
    during_chain(|hive, over| {
        let (taken, done) = (Gate::new(), Gate::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                hive.install(|| {
                    taken.arrive();
                    done.wait_for(1);
                });
            });
            taken.wait_for(1);
            assert_eq!(hive.join(|| over.set(), || 2), ((), 2));
            done.arrive();
        });
    });
}

/// The task lies below the chain in a queue that is last in, first out.
#[test]
fn a_chain_does_not_starve_an_older_task_of_its_own_queue() {
    let _alone = run_exclusively();
    for hive in hives(2) {
        let (over, ended): (&'static StopFlag, &'static Gate) = (keep(Default::default()), keep(Default::default()));
        hive.spawn_on(1, move || {
            hive.scope(|scope| {
                scope.spawn(|_| over.set());
                chain(scope, over);
            });
            ended.arrive();
        });
        ended.wait_for(1);
    }
}

#[test]
fn a_chain_of_a_lone_queen_does_not_starve_an_older_task() {
    let _alone = run_exclusively();
    for hive in hives(1) {
        let over = StopFlag::new();
        hive.scope(|scope| {
            scope.spawn(|_| over.set());
            chain(scope, &over);
        });
    }
}

/// A hive of two. Its worker does `first` and then nothing until the queen's chain is over.
fn during_queens_chain(first: impl Fn(&'static Hive, &'static StopFlag) + Copy + Send + 'static) {
    let _alone = run_exclusively();
    for hive in hives(2) {
        let over: &'static StopFlag = keep(Default::default());
        let (begun, ended): (&'static Gate, &'static Gate) = (keep(Default::default()), keep(Default::default()));
        hive.spawn_on(1, move || {
            first(hive, over);
            begun.arrive();
            common::wait_until(|| over.is_set());
            ended.arrive();
        });
        begun.wait_for(1);
        hive.scope(|scope| chain(scope, over));
        ended.wait_for(1);
    }
}

#[test]
fn a_queens_chain_does_not_starve_what_lies_in_a_busy_bees_queue() {
    during_queens_chain(|hive, over| hive.spawn(|| over.set()));
}

#[test]
fn a_queens_chain_does_not_starve_what_comes_from_outside() {
    during_queens_chain(|hive, over| _ = thread::spawn(|| hive.spawn(|| over.set())));
}

/// Mailbox tasks that send further mailbox tasks; the worker's own deque is empty all the time.
#[test]
fn a_chain_by_mail_does_not_starve_what_comes_from_outside() {
    fn respawn_on(hive: &'static Hive, over: &'static StopFlag, sent: &'static AtomicUsize) {
        if !over.is_set() {
            sent.fetch_add(1, Ordering::Relaxed);
            hive.spawn_on(1, move || respawn_on(hive, over, sent));
        }
    }
    let _alone = run_exclusively();
    for hive in hives(2) {
        let over: &'static StopFlag = keep(Default::default());
        let sent: &'static AtomicUsize = keep(Default::default());
        respawn_on(hive, over, sent);
        common::wait_until(|| sent.load(Ordering::Relaxed) > 10);
        hive.spawn(|| over.set());
        common::wait_until(|| over.is_set());
    }
}
