//! Binding as the system sees it.

use std::thread;

use super::*;
use crate::topology::{Pin, Places, RawCpu, Shrink, Source};

/// A place on these CPUs, and the machine that it is on.
fn place(cpu: usize) -> Place {
    let machine = read_machine().0;
    Places::new(&machine, &Pin::Cpus(vec![cpu]), Shrink::Compact, &CpuMask::new()).unwrap().of(0).unwrap().clone()
}

fn lone(cpu: usize) -> CpuMask {
    [cpu].into_iter().collect()
}

#[test]
fn binds_to_every_allowed_cpu_and_puts_the_mask_back() {
    let before = current_mask().unwrap();
    for cpu in before.iter() {
        let bound = bind(&place(cpu)).unwrap();
        assert_eq!((current_mask().unwrap(), bound_place()), (lone(cpu), Some(place(cpu))));
        assert_eq!(original_mask().unwrap(), before);
        drop(bound);
        assert_eq!(current_mask().unwrap(), before);
        assert_eq!(remembered(), None);
    }
}

#[test]
fn bonds_nest_and_loosen() {
    let before = current_mask().unwrap();
    let (first, last) = (before.iter().next().unwrap(), before.last().unwrap());
    let (outer_place, inner_place) = (place(first), place(last));
    let outer = bind(&outer_place).unwrap();
    let inner = bind(&inner_place).unwrap();
    assert_eq!((current_mask().unwrap(), original_mask().unwrap()), (lone(last), before.clone()));
    let loose = unpin().unwrap();
    assert_eq!((current_mask().unwrap(), bound_place()), (before.clone(), None));
    let spawned = thread::spawn(|| (current_mask().unwrap(), remembered())).join().unwrap();
    assert_eq!(spawned, (before.clone(), None));
    drop(loose);
    assert_eq!((current_mask().unwrap(), bound_place()), (lone(last), Some(inner_place)));
    drop(inner);
    assert_eq!((current_mask().unwrap(), original_mask().unwrap()), (lone(first), before.clone()));
    drop(outer);
    assert_eq!((current_mask().unwrap(), remembered()), (before, None));
}

#[test]
fn unpinning_a_free_thread_does_nothing() {
    let before = current_mask().unwrap();
    let loose = unpin().unwrap();
    assert!(loose.0.is_none());
    drop(loose);
    assert_eq!(current_mask().unwrap(), before);
}

#[test]
fn a_place_on_another_machine_changes_nothing() {
    let cpu = RawCpu { os_index: 60_000, core: 0, cluster: 0, node: 0, package: 0, slowness: 0 };
    let machine = Machine::new([cpu], Source::Flat, true);
    let places = Places::new(&machine, &Pin::Core, Shrink::Compact, &CpuMask::new()).unwrap();
    let before = current_mask().unwrap();
    let _bound = bind(places.of(0).unwrap()).unwrap();
    assert_eq!((current_mask().unwrap(), remembered()), (before, None));
}

#[test]
fn a_bound_thread_still_sees_the_machine() {
    let machine = read_machine();
    let _bound = bind(&place(original_mask().unwrap().last().unwrap())).unwrap();
    assert_eq!(read_machine(), machine);
}

#[test]
fn a_refusal_says_call_cpus_reason_and_remedy() {
    let before = current_mask().unwrap();
    let error = set(&lone(60_000)).unwrap_err().to_string();
    assert!(error.starts_with("cannot bind a thread to CPUs 60000: sched_setaffinity failed: "), "{error}");
    assert!(error.ends_with("pin to others, or do not pin"), "{error}");
    assert_eq!(current_mask().unwrap(), before);
}
