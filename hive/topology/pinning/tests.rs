//! Tests of binding: each looks at the mask that the system reports.

use std::thread;

use super::*;
use crate::topology::machine::{FLAT, RawCpu};
use crate::topology::pin_policy::Pin;
use crate::topology::place_assignment::tests::places_of_pin;
use crate::topology::shrink::Shrink;

/// A place on one CPU of this machine.
fn place(cpu: usize) -> Place {
    let machine = read_machine_unpinned().0;
    places_of_pin(&machine, &Pin::Cpus(vec![cpu]), Shrink::Compact, &CpuMask::new())
        .unwrap()
        .place_of(0)
        .unwrap()
        .clone()
}

/// The set of one CPU.
fn single_cpu(cpu: usize) -> CpuMask {
    [cpu].into_iter().collect()
}

#[test]
fn binds_to_every_allowed_cpu_and_puts_the_mask_back() {
    let before = affinity::query().unwrap();
    for cpu in before.iter() {
        let bound = bind(&place(cpu)).unwrap();
        assert_eq!((affinity::query().unwrap(), bound_place()), (single_cpu(cpu), Some(place(cpu))));
        assert_eq!(original_mask().unwrap(), before);
        drop(bound);
        assert_eq!(affinity::query().unwrap(), before);
        assert_eq!(saved_mask(), None);
    }
}

#[test]
fn bonds_nest_and_loosen() {
    let before = affinity::query().unwrap();
    let (first, last) = (before.iter().next().unwrap(), *before.last().unwrap());
    let (outer_place, inner_place) = (place(first), place(last));
    let outer = bind(&outer_place).unwrap();
    let inner = bind(&inner_place).unwrap();
    assert_eq!((affinity::query().unwrap(), original_mask().unwrap()), (single_cpu(last), before.clone()));
    let unbound = unbind().unwrap();
    assert_eq!((affinity::query().unwrap(), bound_place()), (before.clone(), None));
    let spawned = thread::spawn(|| (affinity::query().unwrap(), saved_mask())).join().unwrap();
    assert_eq!(spawned, (before.clone(), None));
    drop(unbound);
    assert_eq!((affinity::query().unwrap(), bound_place()), (single_cpu(last), Some(inner_place)));
    drop(inner);
    assert_eq!((affinity::query().unwrap(), original_mask().unwrap()), (single_cpu(first), before.clone()));
    drop(outer);
    assert_eq!((affinity::query().unwrap(), saved_mask()), (before, None));
}

#[test]
fn unpinning_a_free_thread_does_nothing() {
    let before = affinity::query().unwrap();
    let unbound = unbind().unwrap();
    assert!(unbound.is_none());
    drop(unbound);
    assert_eq!(affinity::query().unwrap(), before);
}

#[test]
fn a_place_on_another_machine_changes_nothing() {
    let cpu = RawCpu { os_index: 60_000, keys: [0; 4], slowness: 0 };
    let machine = Machine::new([cpu], FLAT, true);
    let places = places_of_pin(&machine, &Pin::Core, Shrink::Compact, &CpuMask::new()).unwrap();
    let before = affinity::query().unwrap();
    let _bound = bind(places.place_of(0).unwrap()).unwrap();
    assert_eq!((affinity::query().unwrap(), saved_mask()), (before, None));
}

#[test]
fn a_bound_thread_still_sees_the_machine() {
    let machine = read_machine_unpinned();
    let _bound = bind(&place(*original_mask().unwrap().last().unwrap())).unwrap();
    assert_eq!(read_machine_unpinned(), machine);
}

#[test]
fn a_refusal_says_call_cpus_reason_and_remedy() {
    let before = affinity::query().unwrap();
    let error = set_mask(&single_cpu(60_000)).unwrap_err();
    assert!(error.starts_with("cannot bind a thread to CPUs 60000: sched_setaffinity failed: "), "{error}");
    assert!(error.ends_with("pin to others, or do not pin"), "{error}");
    assert_eq!(affinity::query().unwrap(), before);
}

#[test]
fn the_mask_is_restored_in_whatever_order_the_guards_are_dropped() {
    let before = affinity::query().unwrap();
    let (machine, _) = topology::read_machine(Some(&before));
    let cpu = |index: usize| machine.cpus[index % machine.cpus.len()].os_index;
    let guard = |cpu| AffinityGuard::bind(&place(cpu)).unwrap().expect("the thread is not ending");
    let first = guard(cpu(0));
    let second = guard(cpu(1));
    drop(first);
    assert_eq!(affinity::query().unwrap(), [cpu(1)].into_iter().collect());
    drop(second);
    assert_eq!(affinity::query().unwrap(), before);
}
