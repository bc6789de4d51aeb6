//! A task that spawns itself again for ever has nothing else wait for ever. Each chain here goes on until what it used to starve has happened.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::tasks::PROTOCOLS;
use common::{Gate, alone};
use hive::{Hive, Scope};

/// What ends a chain.
#[derive(Default)]
struct Over(AtomicBool);

impl Over {
    fn new() -> Self {
        Self::default()
    }

    fn say(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_said(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Spawns itself again until it is over.
fn chain<'scope>(scope: &Scope<'scope>, over: &'scope Over) {
    if !over.is_said() {
        scope.spawn(move |scope| chain(scope, over));
    }
}

/// Hives of `bees` by each protocol, one after the other, with bees that sleep at once and with bees that poll.
fn hives(bees: usize) -> impl Iterator<Item = &'static Hive> {
    let build = move |builder: hive::Builder| &*Box::leak(Box::new(builder.bees(bees).build().unwrap()));
    PROTOCOLS.into_iter().flat_map(move |sleep| {
        let hive = Hive::builder().sleep(sleep);
        [hive.clone().spin(Duration::ZERO), hive].map(build)
    })
}

/// A hive of two, whose bee is in a chain while `caller`, a thread of its own, does what ends that. Nobody else lends a hand.
fn beside_a_chain(caller: impl Fn(&'static Hive, &'static Over) + Sync) {
    let _alone = alone();
    for hive in hives(2) {
        let (over, begun): (&'static Over, &'static Gate) = (Box::leak(Box::default()), Box::leak(Box::default()));
        hive.spawn_on(1, move || {
            begun.come();
            hive.scope(|scope| chain(scope, over));
        });
        begun.wait_for(1);
        caller(hive, over);
        assert!(over.is_said());
    }
}

#[test]
fn a_chain_does_not_starve_spawn_on() {
    beside_a_chain(|hive, over| {
        hive.spawn_on(1, || over.say());
        common::until(|| over.is_said());
    });
}

#[test]
fn a_chain_does_not_starve_broadcast() {
    beside_a_chain(|hive, over| drop(hive.broadcast(|_| over.say())));
}

#[test]
fn a_chain_does_not_starve_spawn() {
    beside_a_chain(|hive, over| {
        hive.spawn(|| over.say());
        common::until(|| over.is_said());
    });
}

#[test]
fn a_chain_does_not_starve_a_region() {
    beside_a_chain(|hive, over| hive.spmd(2, |_| over.say()));
}

/// The queen's place is taken by somebody who does nothing, so the caller has its join done by the bee.
#[test]
fn a_chain_does_not_starve_a_caller_from_outside() {
    beside_a_chain(|hive, over| {
        let (taken, done) = (Gate::new(), Gate::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                hive.install(|| {
                    taken.come();
                    done.wait_for(1);
                });
            });
            taken.wait_for(1);
            assert_eq!(hive.join(|| over.say(), || 2), ((), 2));
            done.come();
        });
    });
}

/// It lies below the chain in a queue that is last in, first out.
#[test]
fn a_chain_does_not_starve_an_older_task_of_its_own_queue() {
    let _alone = alone();
    for hive in hives(2) {
        let (over, ended): (&'static Over, &'static Gate) = (Box::leak(Box::default()), Box::leak(Box::default()));
        hive.spawn_on(1, move || {
            hive.scope(|scope| {
                scope.spawn(|_| over.say());
                chain(scope, over);
            });
            ended.come();
        });
        ended.wait_for(1);
    }
}

#[test]
fn a_chain_of_a_lone_queen_does_not_starve_an_older_task() {
    let _alone = alone();
    for hive in hives(1) {
        let over = Over::new();
        hive.scope(|scope| {
            scope.spawn(|_| over.say());
            chain(scope, &over);
        });
    }
}

/// A hive of two, whose bee does `first` and then nothing until the queen's chain is over.
fn queens_chain_beside(first: impl Fn(&'static Hive, &'static Over) + Copy + Send + 'static) {
    let _alone = alone();
    for hive in hives(2) {
        let over: &'static Over = Box::leak(Box::default());
        let (begun, ended): (&'static Gate, &'static Gate) = (Box::leak(Box::default()), Box::leak(Box::default()));
        hive.spawn_on(1, move || {
            first(hive, over);
            begun.come();
            common::until(|| over.is_said());
            ended.come();
        });
        begun.wait_for(1);
        hive.scope(|scope| chain(scope, over));
        ended.wait_for(1);
    }
}

#[test]
fn a_queens_chain_does_not_starve_what_lies_in_a_busy_bees_queue() {
    queens_chain_beside(|hive, over| hive.spawn(|| over.say()));
}

#[test]
fn a_queens_chain_does_not_starve_what_comes_from_outside() {
    queens_chain_beside(|hive, over| _ = thread::spawn(|| hive.spawn(|| over.say())));
}

/// Mail that begets mail: the queue of the bee itself is empty all the time.
#[test]
fn a_chain_by_mail_does_not_starve_what_comes_from_outside() {
    fn post_again(hive: &'static Hive, over: &'static Over, sent: &'static AtomicUsize) {
        if !over.is_said() {
            sent.fetch_add(1, Ordering::Relaxed);
            hive.spawn_on(1, move || post_again(hive, over, sent));
        }
    }
    let _alone = alone();
    for hive in hives(2) {
        let over: &'static Over = Box::leak(Box::default());
        let sent: &'static AtomicUsize = Box::leak(Box::default());
        post_again(hive, over, sent);
        common::until(|| sent.load(Ordering::Relaxed) > 10);
        hive.spawn(|| over.say());
        common::until(|| over.is_said());
    }
}
