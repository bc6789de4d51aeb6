//! The free functions act on the hive that the calling thread works for, and on the global one otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hive::{CurrentBee, Hive, HiveSet, Pin, PlaceUnit, Reduction, Schedule};

/// A size that the global hive does not have: it is built with the CPUs of the machine.
const BEES: usize = 67;

/// A hive whose size tells it from the global one. Only a few of its threads are ever made.
fn build_hive() -> Hive {
    Hive::builder().bees(3).max_bees(BEES).pin(Pin::None).build().expect("a hive of three")
}

/// The number of the hive by which `hive::current` names it.
fn number_of(hive: &Hive) -> u64 {
    hive.spmd_map(1, |_| hive::current())[0].expect("inside a region").hive
}

/// The hive that free functions act on, as the calling thread sees it: the size that a refused region names.
fn limit_in_error() -> String {
    hive::try_spmd(usize::MAX, |_| ()).unwrap_err().to_string()
}

#[test]
fn outside_of_any_hive_it_is_the_global_one() {
    assert_eq!(hive::current(), None);
    assert_eq!(hive::bees(), hive::global().bees());
    let own = number_of(hive::global());
    hive::spmd(1, |_| assert_eq!(hive::current().map(|bee| bee.hive), Some(own)));
    assert_eq!(hive::join(|| hive::current().map(|bee| bee.hive), || ()).0, Some(own));
}

#[test]
fn inside_of_a_region_it_is_the_hive_of_the_region() {
    let hive = build_hive();
    let expected = (number_of(&hive), 3);
    let seen = hive.spmd_map(3, |_| {
        assert!(limit_in_error().contains("limit is 67"), "{}", limit_in_error());
        hive::spmd_map(2, |bee| (hive::current().unwrap().hive, bee.bees())) // nested: a team of one
    });
    assert_eq!(seen, vec![vec![(expected.0, 1)]; 3]);
    assert_eq!(hive.spmd_map(3, |_| hive::bees()), [3; 3]);
}

#[test]
fn inside_of_install_regions_loops_and_joins_have_its_team() {
    let hive = build_hive();
    let number = number_of(&hive);
    hive.install(|| {
        assert_eq!(hive::bees(), 3);
        assert_eq!(hive::spmd_map(3, |bee| (hive::current().unwrap().hive, bee.bees())), [(number, 3); 3]);
        hive::par_for(0..9, |_, bee| assert_eq!((bee.bees(), hive::current().unwrap().hive), (3, number)));
        let count = Reduction::unordered(0, |a, b| a + b);
        let all_are_here = |range: std::ops::Range<usize>| {
            assert_eq!(hive::current().unwrap().hive, number);
            range.len()
        };
        assert_eq!(hive::par_reduce((0..100, Schedule::Dynamic(1)), &count, all_are_here), 100);
        let (a, b) = hive::join(|| hive::current().unwrap().hive, || hive::current().unwrap().hive);
        assert_eq!((a, b), (number, number));
        hive::scope(|scope| scope.spawn(move |_| assert_eq!(hive::current().unwrap().hive, number)));
        let mut rows = [0; 12];
        hive::par_for_mut(&mut rows, Schedule::Static, |_, _, bee| assert_eq!(bee.bees(), 3));
    });
}

#[test]
fn a_task_spawns_into_its_own_hive() {
    let hive = build_hive();
    let (sender, receiver) = mpsc::channel();
    hive.spawn(move || {
        let outer = hive::current();
        hive::spawn(move || sender.send((outer, hive::current())).unwrap());
    });
    let (outer, inner): (Option<CurrentBee>, Option<CurrentBee>) = receiver.recv().unwrap();
    assert_eq!((outer.unwrap().hive, inner.unwrap().hive), (number_of(&hive), number_of(&hive)));
}

#[test]
fn resizes_and_counts_are_those_of_the_current_hive() {
    let hive = build_hive();
    let global = hive::global().bees();
    hive.install(|| {
        hive::resize(2).unwrap();
        hive::wait_until_parked();
        assert_eq!(hive::bees(), 2);
        assert_eq!(hive::stats().per_bee().len(), 3, "as many as have been hired");
        assert_eq!(hive::broadcast(|bee| bee), [1]);
        hive::keep_spinning(|| hive::spmd(2, |_| ()));
        hive::stop_spinning();
    });
    assert_eq!((hive.bees(), hive::global().bees()), (2, global));
    // Inside of a region the resize is applied when it has ended.
    hive.spmd(2, |bee| {
        if bee.id() == 1 {
            hive::resize(1).unwrap();
        }
        bee.barrier();
        assert_eq!(hive::bees(), 2);
    });
    assert_eq!(hive.bees(), 1);
}

#[test]
fn of_several_hives_it_is_the_innermost_and_afterwards_the_outer_one_again() {
    let (outer, inner) = (build_hive(), Hive::new(2).unwrap());
    outer.install(|| {
        assert_eq!(hive::bees(), 3);
        inner.install(|| assert_eq!((hive::bees(), hive::current().unwrap().hive), (2, number_of(&inner))));
        inner.spmd(2, |_| assert_eq!(hive::bees(), 2));
        assert_eq!(hive::bees(), 3);
        // A join of the outer hive, called inside of the inner one.
        inner.install(|| {
            outer.join(|| assert_eq!(hive::bees(), 3), || assert_eq!(hive::bees(), 3));
            assert_eq!(hive::bees(), 2);
        });
        // A thread of the program's own, started inside of a hive, is inside of none.
        thread::scope(|scope| scope.spawn(|| assert_eq!(hive::current(), None)).join().unwrap());
    });
    assert_eq!(hive::current(), None);
}

#[test]
fn a_panic_that_leaves_a_hive_takes_it_off() {
    let hive = build_hive();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        hive.install(|| hive::spmd(2, |_| std::panic::resume_unwind(Box::new(()))));
    }));
    assert!(unwound.is_err());
    assert_eq!((hive::current(), hive::bees()), (None, hive::global().bees()));
}

#[test]
fn handlers_and_mailbox_tasks_belong_to_their_hive() {
    let started = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&started);
    let builder = Hive::builder().bees(3).max_bees(BEES).pin(Pin::None);
    let hive = builder.start_handler(move |_| _ = seen.fetch_add(hive::bees().min(3), Ordering::Relaxed)).build();
    let hive = hive.unwrap();
    let (sender, receiver) = mpsc::channel();
    hive.spawn_on(2, move || sender.send((hive::current().unwrap().id, limit_in_error())).unwrap());
    let (bee, message) = receiver.recv().unwrap();
    assert!(bee == 2 && message.contains("limit is 67"), "bee {bee}: {message}");
    drop(hive);
    assert!(started.load(Ordering::Relaxed) >= 2, "each of two workers has seen at least itself");
}

#[test]
fn each_hive_of_a_set_is_its_own() {
    let set = HiveSet::builder().each(PlaceUnit::NumaDomains).share(true).build().expect("every machine has a node");
    let numbers = set.on_each(|_, hive| (number_of(hive), hive::current().unwrap().hive, hive::bees() == hive.bees()));
    assert!(numbers.iter().all(|(own, current, same_size)| own == current && *same_size), "{numbers:?}");
}

#[test]
fn a_dropped_hive_leaves_no_trace_on_its_queen() {
    let hive = build_hive();
    hive.install(|| assert_eq!(hive::bees(), 3));
    drop(hive);
    assert_eq!(hive::bees(), hive::global().bees());
    hive::spmd(2, |_| ());
}

/// The task that drops its own hive is one that another bee of the hive waits for, in a scope or a join that a free
/// function has begun. Such a wait borrows no handle.
#[test]
fn a_hive_is_dropped_by_a_task_that_its_own_bee_waits_for() {
    for by_join in [false, true] {
        let hive = Arc::new(build_hive());
        let (handles, handle) = mpsc::channel::<Arc<Hive>>();
        let (sender, receiver) = mpsc::channel();
        hive.spawn_on(1, move || {
            let (own, begun) = (handle.recv().unwrap(), &AtomicUsize::new(0));
            let drop_it = move || {
                begun.store(1, Ordering::Release);
                drop(own);
            };
            // Bee 2 may begin it meanwhile, and then drops the hive in the middle of what this bee waits for.
            let wait = || {
                let start = Instant::now();
                while begun.load(Ordering::Acquire) == 0 && start.elapsed() < Duration::from_millis(100) {
                    thread::yield_now();
                }
            };
            if by_join {
                hive::join(wait, drop_it);
            } else {
                hive::scope(|scope| {
                    scope.spawn(move |_| drop_it());
                    wait();
                });
            }
            sender.send(()).unwrap();
        });
        handles.send(hive).unwrap();
        receiver.recv().expect("the task comes to its end");
    }
}

/// A hive is dropped while a task of it runs, which goes on to use the free functions: they act on the global hive, and
/// what had begun before the drop comes to its end.
#[test]
fn a_task_goes_on_after_its_hive_has_been_dropped() {
    let hive = build_hive();
    let own = number_of(&hive);
    let (sender, receiver) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    hive.spawn(move || {
        let ran = AtomicUsize::new(0);
        let count = || _ = ran.fetch_add(1, Ordering::Relaxed);
        // Begun on this hive, and ended when its other workers may have ended.
        hive::scope(|scope| {
            begun.send(()).unwrap();
            thread::sleep(Duration::from_millis(20));
            (0..3).for_each(|_| scope.spawn(|_| count()));
        });
        // The free functions act on another hive as soon as the drop has begun.
        while limit_in_error().contains("limit is 67") {
            thread::yield_now();
        }
        hive::spmd(2, |_| assert_ne!(hive::current().unwrap().hive, own));
        hive::par_for((0..10, Schedule::Dynamic(1)), |range, _| range.for_each(|_| count()));
        sender.send(ran.into_inner()).unwrap();
    });
    has_begun.recv().unwrap();
    drop(hive);
    assert_eq!(receiver.recv(), Ok(13));
}
