//! Regions, loops and joins of a warm hive allocate nothing.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hive::{Bee, Hive, Loop, Schedule};

/// The system's allocator, which counts what watched threads ask it for.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: all calls are passed on as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_WATCHED.get() {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the caller has promised what `System` wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller has promised what `System` wants, which has allocated it.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// How often the threads of the hive, the calling one among them, allocate while `work` runs a second time.
fn allocations(hive: &Hive, work: impl Fn()) -> usize {
    work();
    hive.spmd_all(|_| IS_WATCHED.set(true));
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    work();
    let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
    hive.spmd_all(|_| IS_WATCHED.set(false));
    count
}

fn fibonacci(hive: &Hive, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (one, other) = hive.join(|| fibonacci(hive, n - 1), || fibonacci(hive, n - 2));
    one + other
}

#[test]
fn a_warm_hive_allocates_nothing_for_regions_loops_and_joins() {
    const ROUNDS: usize = 1000;
    // With an endless spin time no bee looks whether another one has lost its CPU, to bring it to its own.
    let hive = Hive::builder().bees(2).spin(Duration::MAX).build().unwrap();
    let captured = [1_usize; 64];
    let rounds = |work: &dyn Fn()| allocations(&hive, || (0..ROUNDS).for_each(|_| work()));
    let counts = [
        ("a region", rounds(&|| hive.spmd(2, |_| ()))),
        ("a region that captures", rounds(&|| hive.spmd(2, |bee| assert_eq!(captured[bee.id()], 1)))),
        ("collectives", rounds(&|| hive.spmd(2, collectives))),
        ("a static loop", rounds(&|| hive.par_for(0..100, |range, _| assert!(range.end <= 100)))),
        ("a dynamic loop", rounds(&|| hive.par_for(Loop::new(0..100, Schedule::Dynamic(7)), |_, _| ()))),
        ("joins", rounds(&|| assert_eq!(hive.install(|| fibonacci(&hive, 5)), 5))),
    ];
    // A bee that has polled for long looks at its mask of CPUs before it sleeps, at most once in a tenth of a second.
    assert!(counts.iter().all(|(_, count)| *count < ROUNDS / 2), "{counts:?}");
}

fn collectives(bee: &Bee<'_>) {
    bee.barrier();
    let sum = bee.all_reduce(bee.id(), |a, b| a + b);
    assert_eq!(bee.single(|| sum), 1);
}

#[test]
fn what_is_documented_to_allocate_is_seen() {
    let hive = Hive::new(2).unwrap();
    assert!(allocations(&hive, || drop(hive.spmd_map(2, |bee| bee.id()))) > 0);
    let captured = black_box([0_u8; 2000]);
    assert!(allocations(&hive, || hive.spmd(2, move |_| assert_eq!(captured[0], 0))) > 0);
}
