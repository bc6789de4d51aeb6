//! Pools that the thread belongs to that builds them. Each test is on a thread of its own, which stays in its pool.

mod common;

use std::io::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::thread;

use common::{next, pool, wait_for_all};
use rayon_core::{ThreadBuilder, ThreadPoolBuilder, Yield};

/// Runs `test` on a new thread.
fn on_a_thread(test: impl FnOnce() + Send + 'static) {
    thread::spawn(test).join().unwrap();
}

#[test]
fn a_thread_belongs_to_one_pool_only() {
    on_a_thread(|| {
        let first = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        assert_eq!((first.current_thread_index(), rayon_core::current_num_threads()), (Some(0), 2));
        for _ in 0..2 {
            let second = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build();
            let text = second.unwrap_err().to_string();
            assert_eq!(text, "The current thread is already part of another thread pool.");
        }
        // Nor does a thread of another pool belong to a second one, nor one that runs a region.
        let build = || ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().is_err();
        assert!(pool(1).install(build));
        assert!(hive::spmd_map(2, |_| build()).into_iter().all(|failed| failed));
        drop(first);
        assert!(build(), "it stays in its pool");
    });
}

#[test]
fn the_thread_runs_tasks_where_it_waits_and_where_it_yields() {
    on_a_thread(|| {
        let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
        let own = thread::current().id();
        assert_eq!(rayon_core::join(|| thread::current().id(), || thread::current().id()), (own, own));
        assert_eq!(pool.broadcast(|context| (context.index(), thread::current().id())), [(0, own)]);
        let (sender, receiver) = channel();
        let send = sender.clone();
        pool.spawn(move || send.send(thread::current().id()).unwrap());
        assert!(receiver.try_recv().is_err());
        assert_eq!(rayon_core::yield_now(), Some(Yield::Executed));
        assert_eq!(next(&receiver), own);
        assert_eq!(rayon_core::yield_now(), Some(Yield::Idle));
        // A thread from outside waits until this one runs its work.
        let caller = thread::scope(|scope| {
            let caller = scope.spawn(|| pool.install(|| thread::current().id()));
            while rayon_core::yield_now() == Some(Yield::Idle) {
                thread::yield_now();
            }
            caller.join().unwrap()
        });
        assert_eq!(caller, own);
        // What is left when the pool is dropped is run when the thread yields again.
        pool.spawn(move || sender.send(thread::current().id()).unwrap());
        drop(pool);
        assert_eq!(rayon_core::yield_local(), Some(Yield::Executed));
        assert_eq!(next(&receiver), own);
    });
}

#[test]
fn the_other_threads_run_what_the_thread_has_spawned_while_it_does_something_else() {
    on_a_thread(|| {
        let pool = ThreadPoolBuilder::new().num_threads(3).use_current_thread().build().unwrap();
        let (sender, receiver) = channel();
        for _ in 0..100 {
            let sender = sender.clone();
            pool.spawn(move || sender.send(rayon_core::current_thread_index()).unwrap());
            assert!(matches!(next(&receiver), Some(1 | 2)));
        }
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
        drop(pool);
        // The pool has ended, and its only thread that is left still runs its own tasks.
        assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
        let mut ran = false;
        rayon_core::scope(|scope| scope.spawn(|_| ran = true));
        assert!(ran);
    });
}

#[test]
fn start_and_exit_handlers_are_not_called_for_the_thread_itself() {
    on_a_thread(|| {
        let (sender, receiver) = channel();
        let sender = std::sync::Mutex::new(sender);
        let pool = ThreadPoolBuilder::new()
            .num_threads(3)
            .use_current_thread()
            .exit_handler(move |index| sender.lock().unwrap().send(index).unwrap())
            .build()
            .unwrap();
        drop(pool);
        let mut ended = [next(&receiver), next(&receiver)];
        ended.sort_unstable();
        assert_eq!(ended, [1, 2]);
        assert!(receiver.try_recv().is_err());
    });
}

#[test]
fn what_the_thread_has_spawned_is_its_own_after_the_pool_has_ended() {
    on_a_thread(|| {
        let own = thread::current().id();
        let kept = Mutex::new(None);
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let keep = |thread| {
            *kept.lock().unwrap() = Some(thread);
            Ok(())
        };
        let pool = builder.spawn_handler(keep).build().unwrap();
        let (jobs, held) = (AtomicUsize::new(0), Mutex::new(()));
        rayon_core::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|_| {
                    drop(held.lock().unwrap());
                    assert_eq!((thread::current().id(), rayon_core::current_thread_index()), (own, Some(0)));
                    jobs.fetch_add(1, Ordering::Relaxed);
                });
            }
            // None of the jobs is run by whoever ends the pool, in the middle of this.
            let _held = held.lock().unwrap();
            drop(pool);
            let thread = kept.lock().unwrap().take();
            thread::spawn(|| drop(thread)).join().unwrap();
            assert_eq!(jobs.load(Ordering::Relaxed), 0);
        });
        assert_eq!(jobs.load(Ordering::Relaxed), 10);
    });
}

#[test]
fn a_broadcast_is_complete_although_the_pool_ends_meanwhile_or_has_ended() {
    on_a_thread(|| {
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        let (calls, second_has_run) = (AtomicUsize::new(0), Barrier::new(2));
        rayon_core::scope(|scope| {
            scope.spawn_broadcast(|_, context| {
                calls.fetch_add(1, Ordering::Relaxed);
                if context.index() == 1 {
                    second_has_run.wait();
                }
            });
            second_has_run.wait();
            drop(pool);
        });
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        // Now this thread is the only one, or will be soon.
        assert_eq!(rayon_core::broadcast(|_| calls.fetch_add(1, Ordering::Relaxed)).len(), 2);
        assert_eq!(calls.load(Ordering::Relaxed), 4);
    });
}

#[test]
fn a_spawn_handler_may_queue_tasks_and_wait_for_them() {
    on_a_thread(|| {
        let ((sender, receiver), (to_all, indices)) = (channel(), channel());
        let builder = ThreadPoolBuilder::new().num_threads(3).use_current_thread();
        let start = |new: rayon_core::ThreadBuilder| {
            if new.index() == 2 {
                // Thread 1 is there, and nobody else can run this.
                let sender = sender.clone();
                rayon_core::spawn(move || sender.send(rayon_core::current_thread_index()).unwrap());
                assert_eq!(next(&receiver), Some(1));
                // Thread 2 is not yet, but what is for it alone waits for it.
                let to_all = Mutex::new(to_all.clone());
                rayon_core::spawn_broadcast(move |context| to_all.lock().unwrap().send(context.index()).unwrap());
            }
            thread::spawn(|| new.run());
            Ok(())
        };
        let _pool = builder.spawn_handler(start).build().unwrap();
        while rayon_core::yield_now() == Some(Yield::Executed) {}
        let mut all: Vec<_> = (0..3).map(|_| next(&indices)).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
    });
}

#[test]
fn after_a_failure_the_thread_belongs_to_no_pool() {
    on_a_thread(|| {
        let (sender, receiver) = channel();
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let refuse = |_| {
            let sender = sender.clone();
            rayon_core::spawn(move || sender.send(rayon_core::current_thread_index()).unwrap());
            Err(Error::other("no"))
        };
        assert!(builder.spawn_handler(refuse).build().is_err());
        assert_eq!((next(&receiver), rayon_core::current_thread_index()), (Some(0), None));
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread().build().unwrap();
        assert_eq!(pool.current_thread_index(), Some(0));
    });
}

/// The first of the new threads is there, and runs a job that goes on after the failure.
#[test]
fn after_a_failure_the_jobs_of_the_other_threads_need_this_one_no_more() {
    on_a_thread(|| {
        let ((begin, begun), (go_on, gate)) = (channel(), channel::<()>());
        let gate = Mutex::new(Some(gate));
        let (send, results) = channel();
        let builder = ThreadPoolBuilder::new().num_threads(3).use_current_thread();
        let start = |new: rayon_core::ThreadBuilder| {
            if new.index() == 2 {
                let (begin, send, gate) = (begin.clone(), send.clone(), gate.lock().unwrap().take().unwrap());
                rayon_core::spawn(move || {
                    begin.send(()).unwrap();
                    gate.recv().unwrap();
                    let indices = rayon_core::broadcast(|context| context.index());
                    let last = Mutex::new(send.clone());
                    rayon_core::spawn_broadcast(move |context| last.lock().unwrap().send(context.index()).unwrap());
                    send.send(indices.len()).unwrap();
                });
                next(&begun);
                return Err(Error::other("no"));
            }
            thread::spawn(|| new.run());
            Ok(())
        };
        assert!(builder.spawn_handler(start).build().is_err());
        assert_eq!(rayon_core::current_thread_index(), None);
        go_on.send(()).unwrap();
        // The broadcast is complete, and what is left of the pool runs the other one for all three, and ends.
        drop(send);
        let mut all = wait_for_all(&results);
        all.sort_unstable();
        assert_eq!(all, [1, 1, 1, 3]);
    });
}

#[test]
fn the_first_thread_that_is_started_runs_tasks_at_once() {
    on_a_thread(|| {
        let mut started = 0;
        let start = |thread: ThreadBuilder| {
            let (sender, receiver) = channel();
            let send = move || sender.send(()).unwrap();
            // Before there is another thread, and afterwards.
            if started % 2 == 0 {
                rayon_core::spawn(send);
                thread::spawn(|| thread.run());
            } else {
                thread::spawn(|| thread.run());
                rayon_core::spawn(send);
            }
            next(&receiver);
            started += 1;
            Ok(())
        };
        let pool = ThreadPoolBuilder::new().num_threads(4).use_current_thread().spawn_handler(start).build().unwrap();
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2, 3]);
    });
}

#[test]
fn what_a_start_handler_has_spawned_is_run_although_the_spawn_handler_waits_for_it() {
    for threads in [1, 3] {
        let (sender, receiver) = channel();
        let sender = Mutex::new(sender);
        let at_start = move |index| {
            let sender = sender.lock().unwrap().clone();
            rayon_core::spawn(move || sender.send(index).unwrap());
        };
        let start = |thread: ThreadBuilder| {
            let index = thread.index();
            thread::spawn(|| thread.run());
            assert_eq!(next(&receiver), index);
            Ok(())
        };
        let builder = ThreadPoolBuilder::new().num_threads(threads).start_handler(at_start);
        assert_eq!(builder.spawn_handler(start).build().unwrap().current_num_threads(), threads);
    }
}

#[test]
fn each_index_is_asked_for_a_name() {
    on_a_thread(|| {
        let (sender, receiver) = channel();
        let name = move |index| {
            sender.send(index).unwrap();
            format!("thread {index}")
        };
        let pool = ThreadPoolBuilder::new().num_threads(3).use_current_thread().thread_name(name).build().unwrap();
        assert_eq!(wait_for_all(&receiver), [0, 1, 2]);
        let names = pool.broadcast(|_| thread::current().name().map(String::from));
        assert_eq!(names, [None, Some("thread 1".into()), Some("thread 2".into())]);
    });
}
