//! Pools that the thread belongs to that builds them. Each test is on a thread of its own, which stays in its pool.

mod common;

use std::sync::mpsc::channel;
use std::thread;

use common::{next, pool};
use rayon_core::{ThreadPoolBuilder, Yield};

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
