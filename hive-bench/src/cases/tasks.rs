//! The cases that are done by tasks: joins, spawns, and how soon a task begins. The team need not know regions for
//! them.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use super::pending_tasks::PendingTasks;
use super::{Samples, check, cpu};
use crate::catalog::Case;
use crate::kernels::join::InOrder;
use crate::kernels::joins::{Tree, fib_by_adding, joins_of_fib};
use crate::kernels::recursion::Recursion;
use crate::kernels::search::{self, Node};
use crate::measure::timing;
use crate::record::{Budget, Job};
use crate::runtimes::tasks::Tasks;

/// Ten layers: 1,023 nodes.
const LAYERS: u32 = 10;
/// The nodes of the list that is the comb's back, and the layers of the tree at each: 127 nodes.
const TEETH: u32 = 200;
const LAYERS_OF_TOOTH: u32 = 7;
/// In how many ways so many queens can be placed on a board of as many columns.
const WAYS_OF_QUEENS: [u64; 15] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596];
/// The share of the spawned tasks that runs before anything is timed, so that their memory is allocated by then.
const WARM_UP: u64 = 16;
/// A thread that sleeps oversleeps by so much that it has to poll through gaps shorter than this.
const SHORTEST_SLEEP: Duration = Duration::from_micros(100);

pub(crate) fn samples(runtime: &mut impl Tasks, job: &Job) -> Samples {
    let budget = &job.budget;
    match job.case {
        Case::JoinFib => fib(runtime, budget),
        Case::JoinTree => sums(runtime, &Tree::full(LAYERS), budget),
        Case::JoinComb => sums(runtime, &Tree::comb(TEETH, LAYERS_OF_TOOTH), budget),
        Case::TreeSearch => tree_search(runtime, budget),
        Case::FieldFib => once(runtime, Recursion::Fib(budget.field_fib), fib_by_adding(budget.field_fib)),
        Case::FieldQueens => {
            let ways = WAYS_OF_QUEENS[usize::from(budget.field_queens)];
            once(runtime, Recursion::Queens(budget.field_queens), ways)
        }
        Case::FieldSkynet => {
            let leaves = budget.field_leaves;
            once(runtime, Recursion::Skynet(leaves), leaves * (leaves - 1) / 2)
        }
        // The runtime says when all tasks have run; unit tests check that it is right.
        Case::SpawnSingle => spawns(budget, budget.inside_tasks, |tasks| runtime.spawn_from_one(tasks, || ())),
        Case::SpawnProducers => {
            let threads = job.threads as u64;
            let tasks = budget.inside_tasks / threads * threads;
            spawns(budget, tasks, |tasks| runtime.spawn_from_all(tasks / threads, || ()))
        }
        // The runtime does not wait for these tasks. Each counts itself when it ends, and the case waits for the count.
        Case::SpawnOutside => {
            let pending = PendingTasks::of_this_thread();
            spawns(budget, budget.outside_tasks, |tasks| pending.run(runtime, tasks, || ()))
        }
        case => match case.wake_gap() {
            Some(gap) => Ok(wakes(runtime, gap, budget.samples_after_gap(gap))),
            None => cpu::after_tasks(runtime, job),
        },
    }
}

fn fib(runtime: &mut impl Tasks, budget: &Budget) -> Samples {
    let n = budget.fib;
    check("fib", runtime.recurse(Recursion::Fib(n / 2)), fib_by_adding(n / 2))?;
    timing::runs(budget, joins_of_fib(n), || check("fib", runtime.recurse(Recursion::Fib(n)), fib_by_adding(n)))
}

/// The time of the whole, which is long enough for one sample. A short recursion wakes the team before.
fn once(runtime: &mut impl Tasks, recursion: Recursion<'_>, right: u64) -> Samples {
    runtime.recurse(Recursion::Fib(20));
    let sample = timing::try_nanoseconds(|| check("the number", runtime.recurse(recursion), right))?;
    Ok(vec![sample])
}

fn sums(runtime: &mut impl Tasks, tree: &Tree, budget: &Budget) -> Samples {
    let right = Recursion::Sums { tree, times: 1 }.by(&mut InOrder);
    timing::try_batches(budget, |times| {
        check("the sum", runtime.recurse(Recursion::Sums { tree, times }), times * right)
    })
}

fn tree_search(runtime: &mut impl Tasks, budget: &Budget) -> Samples {
    let root = Node::root(budget.search_depth);
    let nodes = search::count(&mut InOrder, root);
    // A warm-up, no longer than necessary.
    runtime.recurse(Recursion::Search(Node::root(budget.search_depth / 2)));
    let search = Recursion::Search(root);
    timing::runs(budget, nodes, || check("the number of nodes", runtime.recurse(search), nodes))
}

/// Many empty tasks, until all have run.
fn spawns(budget: &Budget, tasks: u64, mut spawn: impl FnMut(u64)) -> Samples {
    spawn(tasks / WARM_UP);
    timing::runs(budget, tasks, || {
        spawn(tasks);
        Ok(())
    })
}

/// How soon a task begins that a thread from outside spawns after there has been nothing to do for a while. The task
/// itself notes when it began, so the figure does not depend on how the posting thread waits.
fn wakes(runtime: &mut impl Tasks, gap: Duration, samples: u32) -> Vec<f64> {
    let pending = PendingTasks::of_this_thread();
    let mut begin_of_a_task = || {
        // Leaked like the counter: a few bytes for each sample.
        let begun: &'static OnceLock<Instant> = Box::leak(Box::new(OnceLock::new()));
        pending.run(runtime, 1, || {
            let now = Instant::now();
            begun.get_or_init(|| now);
        });
        *begun.get().expect("the task has begun before it ended")
    };
    // The first task finds threads that have never slept, so it does not count.
    begin_of_a_task();
    let sample = |_| {
        rest(gap);
        let posted = Instant::now();
        begin_of_a_task().saturating_duration_since(posted).as_nanos() as f64
    };
    (0..samples).map(sample).collect()
}

fn rest(gap: Duration) {
    let begin = Instant::now();
    if gap >= SHORTEST_SLEEP {
        thread::sleep(gap);
    }
    while begin.elapsed() < gap {
        std::hint::spin_loop();
    }
}
