//! Calls of a hive as futures, and futures as its tasks.
//!
//! See `docs/async.md`.

#![cfg(target_os = "linux")]

mod common;

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use common::{panic_message, wait_until};
use hive::{AsyncTask, Hive};

/// The smallest executor: the calling thread sleeps until it is woken.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}

/// Ready when somebody has opened it.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Gate {
    fn open(&self) {
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn waiting(&self) -> usize {
        self.0.lock().unwrap().1.len()
    }
}

fn hive(bees: usize) -> Arc<Hive> {
    Arc::new(Hive::new(bees).unwrap())
}

#[test]
fn a_call_has_full_teams_wherever_it_is_awaited() {
    let hive = hive(3);
    assert_eq!(block_on(hive.run_async(|hive| hive.spmd_all_map(|bee| bee.id()))), [0, 1, 2]);
    let inner = Arc::clone(&hive);
    let in_task = hive.spawn_async(async move { inner.run_async(|hive| hive.spmd_map(2, |bee| bee.bees())).await });
    assert_eq!(block_on(in_task), [2, 2]);
    // Begun in a region, awaited after it.
    let calls = hive.spmd_map(3, |bee| {
        let id = bee.id();
        hive.run_async(move |hive| (id, hive.spmd_map(2, |bee| bee.bees())))
    });
    for (id, call) in calls.into_iter().enumerate() {
        assert_eq!(block_on(call), (id, vec![2, 2]));
    }
    assert_eq!(block_on(hive::run_async(|| hive::spmd_map(2, |bee| bee.id()))), [0, 1]);
}

#[test]
fn calls_are_made_in_order_and_a_poll_never_blocks() {
    let hive = hive(2);
    let (release, is_released) = channel::<()>();
    let first = hive.run_async(move |_| is_released.recv().unwrap());
    let order = Arc::new(Mutex::new(Vec::new()));
    let calls: Vec<_> = (0..10)
        .map(|i| {
            let order = Arc::clone(&order);
            hive.run_async(move |_| order.lock().unwrap().push(i))
        })
        .collect();
    let mut last = pin!(async {
        first.await;
        for call in calls {
            call.await;
        }
    });
    // The call waits, and the poll does not.
    let mut context = Context::from_waker(Waker::noop());
    assert!(last.as_mut().poll(&mut context).is_pending());
    release.send(()).unwrap();
    block_on(last);
    assert_eq!(*order.lock().unwrap(), (0..10).collect::<Vec<_>>());
}

#[test]
fn panics_come_to_whoever_awaits() {
    let hive = hive(2);
    let said = panic_message(|| block_on(hive.run_async(|hive| hive.spmd(2, |bee| assert!(bee.id() == 0, "no call")))));
    assert!(said.contains("no call"), "{said}");
    let said = panic_message(|| block_on(hive.spawn_async(async { panic!("no task") })));
    assert!(said.contains("no task"), "{said}");
    // One task awaits another.
    let inner = Arc::clone(&hive);
    let outer = hive.spawn_async(async move { inner.run_async(|_| -> u32 { panic!("far down") }).await });
    assert!(panic_message(|| _ = block_on(outer)).contains("far down"));
    // Nobody awaits these.
    hive.run_async(|_| panic!("as expected")).detach();
    drop(hive.run_async(|_| panic!("as expected")));
    assert_eq!(block_on(hive.run_async(|hive| hive.bees())), 2, "the thread goes on");
}

#[test]
fn what_is_dropped_is_cancelled_and_what_is_detached_goes_on() {
    let hive = hive(2);
    let (release, is_released) = channel::<()>();
    let (began, has_begun) = channel();
    let first = hive.run_async(move |_| {
        began.send(()).unwrap();
        is_released.recv().unwrap();
    });
    has_begun.recv().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = |by: usize| {
        let ran = Arc::clone(&ran);
        hive.run_async(move |_| _ = ran.fetch_add(by, Ordering::Relaxed))
    };
    drop(count(1));
    count(10).detach();
    // It has begun, so it goes on.
    drop(first);
    release.send(()).unwrap();
    block_on(count(100));
    assert_eq!(ran.load(Ordering::Relaxed), 110);
    // A task that waits is dropped where it waits, with what it has.
    let (gate, held) = (Gate::default(), Arc::new(()));
    let task = hive.spawn_async({
        let (gate, held) = (gate.clone(), Arc::clone(&held));
        async move {
            let _held = held;
            gate.wait().await;
            unreachable!("it is cancelled");
        }
    });
    wait_until(|| gate.waiting() == 1);
    assert_eq!(block_on(task.cancel()), None);
    assert_eq!(Arc::strong_count(&held), 1);
    gate.open();
    // What has ended before has a result.
    let done = hive.spawn_async(async { 5 });
    wait_until(|| done.is_finished());
    assert_eq!(block_on(done.cancel()), Some(5));
}

#[test]
fn ten_thousand_tasks_wait_on_two_bees() {
    const TASKS: usize = if cfg!(miri) { 100 } else { 10_000 };
    let hive = hive(2);
    let (gate, polls) = (Gate::default(), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<AsyncTask<usize>> = (0..TASKS)
        .map(|i| {
            let (gate, polls) = (gate.clone(), Arc::clone(&polls));
            hive.spawn_async(async move {
                polls.fetch_add(1, Ordering::Relaxed);
                gate.wait().await;
                polls.fetch_add(1, Ordering::Relaxed);
                i
            })
        })
        .collect();
    wait_until(|| gate.waiting() == TASKS);
    // All wait, and none is in the way of other work.
    assert_eq!(hive.par_sum(0..1000, |i| i), 499_500);
    gate.open();
    let results = block_on(async {
        let mut results = Vec::new();
        for task in tasks {
            results.push(task.await);
        }
        results
    });
    assert!(results.into_iter().eq(0..TASKS));
    assert_eq!(polls.load(Ordering::Relaxed), 2 * TASKS);
}

/// Each task wakes the next one, from a bee.
#[test]
fn tasks_wake_each_other_in_a_ring() {
    let hive = hive(3);
    let gates: Vec<Gate> = (0..200).map(|_| Gate::default()).collect();
    let tasks: Vec<_> = gates
        .windows(2)
        .map(|pair| {
            let (own, next) = (pair[0].clone(), pair[1].clone());
            hive.spawn_async(async move {
                own.wait().await;
                let sum = hive::join(|| 1, || 2);
                next.open();
                sum
            })
        })
        .collect();
    gates[0].open();
    block_on(async {
        gates[199].wait().await;
        for task in tasks {
            assert_eq!(task.await, (1, 2));
        }
    });
}

#[test]
fn the_hive_lives_until_its_calls_and_tasks_have_ended() {
    let ended = Arc::new(AtomicBool::new(false));
    let (gate, is_set) = (Gate::default(), Arc::clone(&ended));
    let handler = move |_| is_set.store(true, Ordering::Release);
    let hive = Arc::new(Hive::builder().bees(2).exit_handler(handler).build().unwrap());
    let waiting = gate.clone();
    let task = hive.spawn_async(async move {
        waiting.wait().await;
        7
    });
    let call = hive.run_async(|hive| hive.spmd_map(2, |bee| bee.id()));
    drop(hive);
    assert_eq!(block_on(call), [0, 1]);
    wait_until(|| gate.waiting() == 1);
    assert!(!ended.load(Ordering::Acquire));
    gate.open();
    assert_eq!(block_on(task), 7);
    // Whoever was the last to have it has dropped it, and its workers end.
    let begin = Instant::now();
    while !ended.load(Ordering::Acquire) {
        assert!(begin.elapsed() < Duration::from_secs(60), "the hive does not end");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn many_threads_call_while_regions_run() {
    let hive = hive(2);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for i in 0..100_usize {
                    let call = hive.run_async(move |hive| hive.par_sum(0..100, |j| i + j));
                    let regions = hive.spmd_map(2, |bee| bee.id()).len();
                    let task = hive.spawn_async(async move { i });
                    assert_eq!((block_on(call), block_on(task), regions), (100 * i + 4950, i, 2));
                }
            });
        }
    });
}

/// A destructor of what a cancelled call has captured must not end the thread that makes the calls.
#[test]
fn a_destructor_that_panics_ends_nothing() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("as expected");
            }
        }
    }
    let hive = hive(2);
    let (release, is_released) = channel::<()>();
    hive.run_async(move |_| is_released.recv().unwrap()).detach();
    let panics = Panics;
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(hive.run_async(move |_| drop(panics)))));
    drop(dropped);
    release.send(()).unwrap();
    assert_eq!(block_on(hive.run_async(|hive| hive.bees())), 2);
    // Results and payloads that nobody wants.
    hive.run_async(|_| Panics).detach();
    hive.spawn_async(async { Panics }).detach();
    hive.run_async(|_| std::panic::panic_any(Panics)).detach();
    drop(hive.spawn_async(async { std::panic::panic_any(Panics) }));
    let ended = hive.spawn_async(async { Panics });
    wait_until(|| ended.is_finished());
    drop(ended);
    assert_eq!(block_on(hive.run_async(|hive| hive.bees())), 2);
}

/// A hive that is dropped waits for its tasks. Whoever holds a result is not to wait for them.
#[test]
fn a_result_does_not_keep_the_hive() {
    let hive = hive(2);
    let (release, is_released) = channel::<()>();
    let ended = hive.spawn_async(async { 1 });
    wait_until(|| ended.is_finished());
    let called = hive.run_async(|_| 2);
    wait_until(|| called.is_finished());
    hive.spawn(move || is_released.recv().unwrap());
    let dropping = thread::spawn(move || drop(hive));
    // These do not wait for the task.
    assert_eq!((block_on(ended), block_on(called)), (1, 2));
    release.send(()).unwrap();
    dropping.join().unwrap();
}
