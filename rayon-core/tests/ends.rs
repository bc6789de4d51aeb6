//! How pools end.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::{io, thread};

use common::{next, pool, wait_for_all};
use rayon_core::{ThreadBuilder, ThreadPoolBuilder};

/// A handler that sends `what`, and keeps the channel open while it exists: until the pool's threads have ended.
fn send(sender: &Sender<&'static str>, what: &'static str) -> impl Fn(usize) + Send + Sync + 'static {
    let sender = Mutex::new(sender.clone());
    move |_| sender.lock().unwrap().send(what).unwrap()
}

#[test]
fn everything_spawned_runs_after_the_drop_and_all_threads_are_there_for_it() {
    for threads in [1, 2, 4] {
        let (sender, receiver) = channel();
        let pool = pool(threads);
        let (gate, opened) = channel::<()>();
        pool.spawn(move || {
            opened.recv().unwrap();
            rayon_core::spawn(move || {
                let indices = rayon_core::broadcast(|context| context.index());
                rayon_core::spawn_broadcast(move |context| sender.send((indices.clone(), context.index())).unwrap());
            });
        });
        drop(pool);
        gate.send(()).unwrap();
        let mut all = wait_for_all(&receiver);
        all.sort_unstable();
        let indices: Vec<_> = (0..threads).collect();
        assert_eq!(all, indices.iter().map(|&index| (indices.clone(), index)).collect::<Vec<_>>());
    }
}

#[test]
fn each_thread_calls_the_exit_handler_once_and_what_it_spawns_is_run() {
    for threads in [1, 2, 3] {
        for _ in 0..50 {
            let (sender, receiver) = channel();
            let sender = Mutex::new(sender);
            let exit = move |index| {
                let sender = sender.lock().unwrap().clone();
                sender.send(("exit", index)).unwrap();
                rayon_core::spawn(move || {
                    let (a, b) = rayon_core::join(|| 1, || 2);
                    sender.send(("spawned", index)).unwrap();
                    rayon_core::spawn_fifo(move || sender.send(("spawned by that", index + a + b - 3)).unwrap());
                });
            };
            drop(ThreadPoolBuilder::new().num_threads(threads).exit_handler(exit).build().unwrap());
            let mut all = wait_for_all(&receiver);
            all.sort_unstable();
            let expected =
                ["exit", "spawned", "spawned by that"].map(|what| (0..threads).map(move |index| (what, index)));
            assert_eq!(all, expected.into_iter().flatten().collect::<Vec<_>>());
        }
    }
}

#[test]
fn an_exit_handler_may_broadcast_to_threads_that_have_ended() {
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let exit = move |_| {
        let sender = sender.lock().unwrap().clone();
        rayon_core::spawn_broadcast(move |_| sender.send(()).unwrap());
    };
    drop(ThreadPoolBuilder::new().num_threads(3).exit_handler(exit).build().unwrap());
    assert_eq!(wait_for_all(&receiver).len(), 9);
}

#[test]
fn a_pool_may_be_dropped_by_its_own_job() {
    let (sender, receiver) = channel();
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(2).exit_handler(send(&sender, "exit")).build().unwrap());
    let own = Arc::clone(&pool);
    let (gate, opened) = channel::<()>();
    let last = sender.clone();
    pool.spawn(move || {
        opened.recv().unwrap();
        drop(own);
        last.send("job").unwrap();
    });
    drop((pool, sender));
    gate.send(()).unwrap();
    assert_eq!(wait_for_all(&receiver), ["job", "exit", "exit"]);
}

#[test]
fn a_spawn_handler_that_fails_midway_ends_the_threads_that_there_are() {
    // Also a thread that runs although the handler has said that it could not be started.
    for starts_the_last in [false, true] {
        let (sender, receiver) = channel();
        let result = ThreadPoolBuilder::new()
            .num_threads(4)
            .start_handler(send(&sender, "start"))
            .exit_handler(send(&sender, "exit"))
            .spawn_handler(move |thread| {
                let is_last = thread.index() == 2;
                if !is_last || starts_the_last {
                    thread::spawn(|| thread.run());
                }
                if is_last { Err(io::Error::other("no more")) } else { Ok(()) }
            })
            .build();
        drop(sender);
        assert_eq!(result.unwrap_err().to_string(), "no more");
        let all = wait_for_all(&receiver);
        let count = |what| all.iter().filter(|&&it| it == what).count();
        assert_eq!((count("start"), count("exit")), if starts_the_last { (3, 3) } else { (2, 2) });
    }
}

#[test]
fn a_panic_in_a_spawn_handler_ends_the_threads_that_there_are() {
    let (sender, receiver) = channel();
    let build = || {
        ThreadPoolBuilder::new()
            .num_threads(3)
            .exit_handler(send(&sender, "exit"))
            .spawn_handler(|thread| {
                assert!(thread.index() < 2, "as expected");
                thread::spawn(|| thread.run());
                Ok(())
            })
            .build()
    };
    assert!(catch_unwind(AssertUnwindSafe(build)).is_err());
    drop(sender);
    assert_eq!(wait_for_all(&receiver), ["exit", "exit"]);
}

#[test]
fn a_pool_works_without_a_thread_that_never_starts_and_ends_it_if_it_starts_later() {
    let mut kept: Option<ThreadBuilder> = None;
    let (sender, receiver) = channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .exit_handler(send(&sender, "exit"))
        .spawn_handler(|thread| {
            if thread.index() == 1 {
                kept = Some(thread);
            } else {
                thread::spawn(|| thread.run());
            }
            Ok(())
        })
        .build()
        .unwrap();
    drop(sender);
    for _ in 0..100 {
        let ran = pool.install(|| rayon_core::join(rayon_core::current_thread_index, rayon_core::current_thread_index));
        assert!(ran.0 != Some(1) && ran.1 != Some(1));
    }
    drop(pool);
    assert_eq!([next(&receiver), next(&receiver)], ["exit", "exit"]);
    kept.unwrap().run();
    assert_eq!(wait_for_all(&receiver), ["exit"]);
    assert_eq!(rayon_core::current_thread_index(), None, "the thread is free again");
}

#[test]
fn panics_in_build_scoped_come_out_and_end_the_threads() {
    let (sender, receiver) = channel();
    let builder = |sender| ThreadPoolBuilder::new().num_threads(2).exit_handler(send(sender, "exit"));
    let in_body = catch_unwind(AssertUnwindSafe(|| {
        builder(&sender).build_scoped(|thread| thread.run(), |pool| -> () { pool.install(|| panic!("in the body")) })
    }));
    assert_eq!(in_body.unwrap_err().downcast_ref(), Some(&"in the body"));
    let in_wrapper = catch_unwind(AssertUnwindSafe(|| {
        let wrapper = |thread: ThreadBuilder| {
            let index = thread.index();
            thread.run();
            assert_ne!(index, 1, "as expected");
        };
        builder(&sender).build_scoped(wrapper, |pool| pool.install(|| 1))
    }));
    assert!(in_wrapper.is_err());
    // A thread whose wrapper panics before it runs: the pool works with the other one.
    let before = catch_unwind(AssertUnwindSafe(|| {
        let wrapper = |thread: ThreadBuilder| {
            assert_ne!(thread.index(), 1, "as expected");
            thread.run();
        };
        builder(&sender).build_scoped(wrapper, |pool| assert_eq!(pool.install(|| 1), 1))
    }));
    assert!(before.is_err());
    drop(sender);
    assert_eq!(wait_for_all(&receiver).len(), 5);
}

#[test]
fn panics_of_jobs_and_handlers_go_to_the_panic_handler_and_the_pool_lives_on() {
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(|index| panic!("start {index}"))
        .exit_handler(|index| panic!("exit {index}"))
        .panic_handler(move |panic| {
            let text = panic.downcast::<String>().map_or_else(
                |text| text.downcast_ref::<&str>().map_or_else(String::new, |text| (*text).to_owned()),
                |text| *text,
            );
            sender.lock().unwrap().send(text).unwrap();
        })
        .build()
        .unwrap();
    assert_eq!(pool.install(|| rayon_core::join(|| 1, || 2)), (1, 2));
    pool.spawn(|| panic!("job {}", 1));
    pool.spawn_broadcast(|context| panic!("broadcast {}", context.index()));
    drop(pool);
    let mut all = wait_for_all(&receiver);
    all.sort_unstable();
    assert_eq!(all, ["broadcast 0", "broadcast 1", "exit 0", "exit 1", "job 1", "start 0", "start 1"]);
}

#[test]
fn a_spawn_handler_may_wait_until_the_thread_has_begun() {
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(move |index| sender.lock().unwrap().send(index).unwrap())
        .spawn_handler(|thread| {
            let index = thread.index();
            thread::spawn(|| thread.run());
            assert_eq!(next(&receiver), index);
            Ok(())
        })
        .build()
        .unwrap();
    assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
}

#[test]
fn a_start_handler_may_broadcast_whether_the_pool_gets_all_its_threads_or_not() {
    for is_refused in [false, true] {
        let (sender, receiver) = channel();
        let sender = Mutex::new(sender);
        let start = move |_| {
            let sender = sender.lock().unwrap().clone();
            rayon_core::spawn_broadcast(move |_| sender.send(()).unwrap());
        };
        let result = ThreadPoolBuilder::new()
            .num_threads(3)
            .start_handler(start)
            .spawn_handler(move |thread| {
                if is_refused && thread.index() == 2 {
                    return Err(io::Error::other("no more"));
                }
                thread::spawn(|| thread.run());
                Ok(())
            })
            .build();
        assert_eq!(result.is_err(), is_refused);
        drop(result);
        assert_eq!(wait_for_all(&receiver).len(), if is_refused { 6 } else { 9 });
    }
}
