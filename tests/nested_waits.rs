//! Tasks that wait, by the thousand, each on top of the one that waited before it: the stack bounds how many of them
//! there are, not their number. And waits that are so deep already must end as well.
//!
//! An overflow ends the process, so each test runs its cases in a process of its own; the last line of that one's
//! output names the case.

#![cfg(target_os = "linux")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::process::in_own_process;
use common::{deep_down, keep};
use hive::Hive;
use hive::adapters::task_pool::builder::PoolBuilder;
use hive::adapters::task_pool::handle::TaskPool;
use hive::adapters::task_pool::scope::PoolScope;
use hive::adapters::task_pool::thread::PoolThread;

/// The sizes of the stacks, in bytes.
const STACKS: [usize; 3] = [128 << 10, 512 << 10, 2 << 20];

/// How many tasks wait at the same time.
const TASKS: [usize; 3] = [10, 3_000, 20_000];

/// Runs `body` on a new thread with so much of a stack.
fn on_stack_of<R: Send>(bytes: usize, body: impl FnOnce() -> R + Send) -> R {
    thread::scope(|threads| {
        thread::Builder::new().stack_size(bytes).spawn_scoped(threads, body).unwrap().join().unwrap()
    })
}

fn hive_of(bees: usize, stack: usize) -> Hive {
    Hive::builder().bees(bees).stack_size(stack).build().unwrap()
}

/// A pool of threads with so much of a stack each.
fn pool_of(threads: usize, stack: usize) -> TaskPool {
    let start = |thread: PoolThread| thread::Builder::new().stack_size(stack).spawn(|| thread.run()).map(drop);
    PoolBuilder::default().build(threads, start).unwrap()
}

/// Runs `body` in a scope of `pool`.
fn scope_in<'scope, R>(pool: &TaskPool, body: impl FnOnce(&PoolScope<'scope>) -> R) -> R {
    pool.with(|pool| pool.scope(body))
}

/// What tasks wait for: that no further task has begun for a moment.
#[derive(Default)]
struct Tasks {
    begun: AtomicUsize,
    ended: AtomicUsize,
    may_end: AtomicBool,
}

impl Tasks {
    /// Runs `body` while another thread lets the tasks end in the end. `tasks` of them must have ended after that.
    fn watch(tasks: usize, body: impl FnOnce(&Self)) {
        let this = Self::default();
        thread::scope(|threads| {
            threads.spawn(|| {
                let mut before = 0;
                loop {
                    thread::sleep(Duration::from_millis(4));
                    let begun = this.begun.load(Ordering::Relaxed);
                    if begun > 0 && begun == before {
                        break this.may_end.store(true, Ordering::Relaxed);
                    }
                    before = begun;
                }
            });
            body(&this);
        });
        assert_eq!(this.ended.into_inner(), tasks);
    }

    fn may_end(&self) -> bool {
        self.may_end.load(Ordering::Relaxed)
    }

    /// One task, which waits as `wait` does.
    fn run(&self, wait: impl FnOnce()) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        wait();
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn wait_by_yields(&self) {
        while !self.may_end() {
            hive::yield_now();
        }
    }
}

/// How a task of a hive waits; the second hive has one bee.
type Wait = fn(&Tasks, &Hive, &Hive);

/// With their names.
const WAITS: [(&str, Wait); 6] = [
    ("by yields", |tasks, _, _| tasks.wait_by_yields()),
    ("in a scope", |tasks, hive, _| hive.scope(|scope| scope.spawn(|_| tasks.wait_by_yields()))),
    ("in the first half of a join", |tasks, hive, _| _ = hive.join(|| tasks.wait_by_yields(), || ())),
    ("in the second half of a join", |tasks, hive, _| _ = hive.join(|| (), || tasks.wait_by_yields())),
    ("in an install", |tasks, hive, _| hive.install(|| tasks.wait_by_yields())),
    ("in a scope of another hive", |tasks, _, other| other.scope(|scope| scope.spawn(|_| tasks.wait_by_yields()))),
];

#[test]
fn however_many_tasks_of_a_hive_wait_the_stack_suffices() {
    in_own_process("however_many_tasks_of_a_hive_wait_the_stack_suffices", || {
        let mut cases = 0;
        for ((name, wait), stack) in WAITS.iter().flat_map(|wait| STACKS.map(|stack| (wait, stack))) {
            let other = hive_of(1, stack);
            for (bees, count) in [1, 2, 3].into_iter().flat_map(|bees| TASKS.map(|count| (bees, count))) {
                println!("{count} tasks wait {name}, on {bees} bees with stacks of {stack} bytes");
                let hive = hive_of(bees, stack);
                let run_all = |tasks: &Tasks| {
                    hive.scope(|scope| {
                        (0..count).for_each(|_| scope.spawn(|_| tasks.run(|| wait(tasks, &hive, &other))));
                    });
                };
                Tasks::watch(count, |tasks| on_stack_of(stack, || run_all(tasks)));
                cases += 1;
            }
        }
        assert_eq!(cases, 6 * 3 * 3 * 3);
    });
}

/// How a job of a pool waits. The other pool does nothing until the jobs may end.
type PoolWait = fn(&Tasks, &TaskPool, &TaskPool);

const POOL_WAITS: [(&str, PoolWait); 4] = [
    ("by yields", |tasks, pool, _| {
        while !tasks.may_end() {
            pool.with_bee(|bee| bee.unwrap().run_one());
            thread::yield_now();
        }
    }),
    ("by yields to what is their own", |tasks, pool, _| {
        while !tasks.may_end() {
            pool.with_bee(|bee| bee.unwrap().run_one_own());
            thread::yield_now();
        }
    }),
    ("for another pool", |_, _, other| other.enter(|_, _| ())),
    ("for another pool in a scope", |_, pool, other| {
        scope_in(pool, |scope| scope.spawn(|_| other.enter(|_, _| ())));
    }),
];

#[test]
fn however_many_jobs_of_a_pool_wait_the_stack_suffices() {
    in_own_process("however_many_jobs_of_a_pool_wait_the_stack_suffices", || {
        let mut cases = 0;
        for ((name, wait), stack) in POOL_WAITS.iter().flat_map(|wait| STACKS.map(|stack| (wait, stack))) {
            for (threads, count) in [1, 2].into_iter().flat_map(|threads| TASKS.map(|count| (threads, count))) {
                println!("{count} jobs wait {name}, on {threads} threads with stacks of {stack} bytes");
                let (pool, other) = (pool_of(threads, stack), pool_of(1, stack));
                Tasks::watch(count, |tasks| {
                    scope_in(&other, |held| {
                        held.spawn(|_| common::wait_until(|| tasks.may_end()));
                        scope_in(&pool, |scope| {
                            (0..count).for_each(|_| scope.spawn(|_| tasks.run(|| wait(tasks, &pool, &other))));
                        });
                    });
                });
                cases += 1;
            }
        }
        assert_eq!(cases, 4 * 3 * 2 * 3);
    });
}

/// The number of leaves of a recursion whose waits are in scopes.
fn leaves_of_scopes(hive: &Hive, levels: u32) -> usize {
    let leaves = AtomicUsize::new(usize::from(levels == 0));
    if levels > 0 {
        hive.scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|_| _ = leaves.fetch_add(leaves_of_scopes(hive, levels - 1), Ordering::Relaxed));
            }
        });
    }
    leaves.into_inner()
}

/// The same by joins.
fn leaves_of_joins(hive: &Hive, levels: u32) -> usize {
    if levels == 0 {
        return 1;
    }
    let (left, right) = hive.join(|| leaves_of_joins(hive, levels - 1), || leaves_of_joins(hive, levels - 1));
    left + right
}

#[test]
fn a_recursion_that_begins_deep_on_the_stack_ends() {
    const LEVELS: u32 = 4;
    in_own_process("a_recursion_that_begins_deep_on_the_stack_ends", || {
        let mut cases = 0;
        for (bees, stack) in [1, 2, 3].into_iter().flat_map(|bees| STACKS[1..].iter().map(move |stack| (bees, *stack)))
        {
            let hive = hive_of(bees, stack);
            for (name, leaves) in [("scopes", leaves_of_scopes as fn(&Hive, u32) -> usize), ("joins", leaves_of_joins)]
            {
                for percent in [10, 74, 78] {
                    println!("{name} on {bees} bees, from {percent} % of {stack} bytes on");
                    let recursion = || deep_down(stack / 100 * percent, || leaves(&hive, LEVELS));
                    // Each task of the scope is such a recursion, and so is its body.
                    let all = AtomicUsize::new(0);
                    let count = || _ = all.fetch_add(recursion(), Ordering::Relaxed);
                    on_stack_of(stack, || {
                        hive.install(count);
                        thread::scope(|threads| {
                            // From outside, so that each is taken by a bee that is in nothing else.
                            for _ in 0..bees {
                                threads.spawn(|| hive.scope(|scope| scope.spawn(|_| count())));
                            }
                        });
                    });
                    assert_eq!(all.into_inner(), (1 + bees) << LEVELS);
                    cases += 1;
                }
            }
        }
        assert_eq!(cases, 3 * 2 * 2 * 3);
    });
}

/// The worker waits, deep on its stack, for a task that the queen has stolen, and that one for a task that only the
/// worker may run.
#[test]
fn a_bee_deep_on_its_stack_runs_what_only_it_may_run() {
    in_own_process("a_bee_deep_on_its_stack_runs_what_only_it_may_run", || {
        let stack = STACKS[1];
        let hive: &'static Hive = keep(hive_of(2, stack));
        let flag = || -> &'static AtomicBool { keep(Default::default()) };
        let [is_stolen, is_run, has_ended] = [(); 3].map(|()| flag());
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Acquire);
        let set = |flag: &AtomicBool| flag.store(true, Ordering::Release);
        let wait = move || {
            hive.scope(|scope| {
                scope.spawn(|_| {
                    set(is_stolen);
                    common::wait_until(|| is_set(is_run));
                });
                common::wait_until(|| is_set(is_stolen));
                hive.spawn_on(1, move || set(is_run));
            });
            set(has_ended);
        };
        hive.install(|| {
            hive.spawn_on(1, move || deep_down(stack / 100 * 78, wait));
            while !is_set(has_ended) {
                hive::yield_now();
            }
        });
    });
}

#[test]
fn pools_that_call_each_other_in_a_circle_go_on_deep_on_their_stacks() {
    fn circle(one: &TaskPool, other: &TaskPool, calls: u32) -> u32 {
        if calls == 0 { 0 } else { 1 + other.enter(|_, _| circle(other, one, calls - 1)) }
    }
    in_own_process("pools_that_call_each_other_in_a_circle_go_on_deep_on_their_stacks", || {
        for threads in [1, 2] {
            let stack = STACKS[1];
            let [one, other] = [(); 2].map(|()| pool_of(threads, stack));
            let calls = one.enter(|_, _| {
                deep_down(stack / 100 * 78, || {
                    other.enter(|_, _| deep_down(stack / 100 * 78, || circle(&other, &one, 6)))
                })
            });
            assert_eq!(calls, 6);
        }
    });
}

/// How much of the stack is in use where a test begins: more than waits leave free, and little more.
const PERCENT_IN_USE: usize = 78;

/// Tasks by the thousand, each of which waits for thousands of its own: more than a queen's deque has when she is the
/// only bee.
#[test]
fn a_queen_alone_runs_her_own_tasks_first() {
    in_own_process("a_queen_alone_runs_her_own_tasks_first", || {
        const OUTER: usize = 3_000;
        const INNER: usize = 2_000;
        let (hive, ended) = (Hive::new(1).unwrap(), AtomicUsize::new(0));
        let count = || _ = ended.fetch_add(1, Ordering::Relaxed);
        on_stack_of(STACKS[2], || {
            hive.scope(|outer| {
                for _ in 0..OUTER {
                    outer.spawn(|_| hive.scope(|inner| (0..INNER).for_each(|_| inner.spawn(|_| count()))));
                }
            });
        });
        assert_eq!(ended.into_inner(), OUTER * INNER);
    });
}

/// What the yields wait for can be run by nobody else.
#[test]
fn yields_deep_on_the_stack_do_not_wait_for_ever() {
    in_own_process("yields_deep_on_the_stack_do_not_wait_for_ever", || {
        let stack = STACKS[1];
        let deep = |bytes, wait: &mut dyn FnMut()| deep_down(bytes / 100 * PERCENT_IN_USE, wait);
        let (alone, two) = (hive_of(1, stack), hive_of(2, stack));
        let yield_until = |is_set: &AtomicBool| {
            while !is_set.load(Ordering::Relaxed) {
                hive::yield_now();
            }
        };
        let set = |flag: &AtomicBool| flag.store(true, Ordering::Relaxed);

        println!("for a task of the only bee");
        let in_scope = || {
            let is_set = AtomicBool::new(false);
            deep(stack, &mut || {
                alone.scope(|scope| {
                    scope.spawn(|_| set(&is_set));
                    yield_until(&is_set);
                });
            });
        };
        on_stack_of(stack, in_scope);

        println!("for a task that only the caller may run, because its hive is busy");
        let (is_busy, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|threads| {
            threads.spawn(|| {
                alone.spmd(1, |_| {
                    set(&is_busy);
                    common::wait_until(|| is_over.load(Ordering::Relaxed));
                });
            });
            common::wait_until(|| is_busy.load(Ordering::Relaxed));
            // A worker does not wait for another hive.
            two.broadcast(|bee| {
                if bee == 1 {
                    in_scope()
                }
            });
            set(&is_over);
        });

        println!("for a task that only this bee may run");
        let is_set: &'static AtomicBool = keep(Default::default());
        two.broadcast(|bee| {
            if bee == 1 {
                deep(stack, &mut || {
                    two.spawn_on(1, || is_set.store(true, Ordering::Relaxed));
                    yield_until(is_set);
                });
            }
        });
    });
}

/// The same in a pool.
#[test]
fn yields_deep_on_the_stack_of_a_pool_do_not_wait_for_ever() {
    in_own_process("yields_deep_on_the_stack_of_a_pool_do_not_wait_for_ever", || {
        let stack = STACKS[1];
        for own_only in [false, true] {
            println!("of its own jobs only: {own_only}");
            let (pool, is_set) = (pool_of(1, stack), AtomicBool::new(false));
            pool.enter(|_, _| {
                deep_down(stack / 100 * PERCENT_IN_USE, || {
                    scope_in(&pool, |scope| {
                        scope.spawn(|_| is_set.store(true, Ordering::Relaxed));
                        while !is_set.load(Ordering::Relaxed) {
                            pool.with_bee(|bee| {
                                bee.map(|bee| if own_only { bee.run_one_own() } else { bee.run_one() })
                            });
                        }
                    });
                });
            });
        }
    });
}

/// If each of these jobs had to wait until others have had their chance, this would take for ever, or nearly so.
#[test]
fn the_first_half_of_a_join_deep_on_the_stack_may_leave_jobs() {
    in_own_process("the_first_half_of_a_join_deep_on_the_stack_may_leave_jobs", || {
        const JOBS: usize = 50_000;
        let (stack, ended) = (STACKS[1], AtomicUsize::new(0));
        for threads in [1, 2] {
            let pool = pool_of(threads, stack);
            let is_over = AtomicBool::new(false);
            scope_in(&pool, |all| {
                for _ in 1..threads {
                    all.spawn(|_| common::wait_until(|| is_over.load(Ordering::Relaxed)));
                }
                all.spawn(|_| {
                    deep_down(stack / 100 * PERCENT_IN_USE, || {
                        scope_in(&pool, |scope| {
                            let leave = || {
                                for _ in 0..JOBS {
                                    scope.spawn(|_| _ = ended.fetch_add(1, Ordering::Relaxed));
                                }
                            };
                            pool.with_bee(|bee| bee.unwrap().join(leave, |_| ()));
                        });
                    });
                    is_over.store(true, Ordering::Relaxed);
                });
            });
        }
        assert_eq!(ended.into_inner(), 2 * JOBS);
    });
}
