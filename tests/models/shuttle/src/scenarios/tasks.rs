//! Scenarios of tasks from inside and outside of the hive, for any bee and for a certain one, while the hive is resized
//! and runs regions. Each task must be run once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::random_in;
use crate::checked_region;
use crate::hive::Hive;
use crate::protocol::tasks::held_credit::HeldCredit;
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task::{Run, Task};
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::WaitPolicy;

const BEES: u32 = 9;

/// Makes the sleep protocol of a hive of `BEES`.
pub(super) type Protocol = fn() -> Sleep;

pub(super) const JEC: Protocol = Sleep::jec;
pub(super) const TICKLE: Protocol = Sleep::tickle;
pub(super) const NOTIFY: Protocol = || Sleep::notify(BEES);

/// What the tasks of a scenario share.
struct OpenTasks {
    /// The tasks that have been made and have not run. The lock and the condition variable are shuttle's, so that a
    /// thread can wait for the last task.
    open: shuttle::sync::Mutex<u32>,
    none_left: shuttle::sync::Condvar,
}

/// A task. It posts `child_tasks` more tasks for any bee, and then waits for the tasks of its group, if it has one.
struct CheckedTask {
    hive: Hive,
    shared: Arc<OpenTasks>,
    child_tasks: u32,
    /// The number of tasks that must be running at the same time, and where they meet.
    together: Option<(u32, Arc<Rendezvous>)>,
    runs: AtomicU32,
}

struct Rendezvous {
    arrived: shuttle::sync::Mutex<u32>,
    all_arrived: shuttle::sync::Condvar,
}

#[expect(unsafe_code, reason = "takes a pointer")]
impl Run for CheckedTask {
    unsafe fn run(this: *const Self, _: Option<&HeldCredit>) {
        // SAFETY: the pointer is the one that `task` made. The task is never freed, so even a second run, which the
        // next line finds, does not touch freed memory.
        let errand = unsafe { &*this };
        assert_eq!(errand.runs.fetch_add(1, Ordering::Relaxed), 0, "a task is run twice");
        for _ in 0..errand.child_tasks {
            errand.hive.team.inject(task(&errand.hive, &errand.shared, 0, None));
        }
        if let Some((all, meeting)) = &errand.together {
            let mut here = meeting.arrived.lock().expect("nobody panics under this lock");
            *here += 1;
            meeting.all_arrived.notify_all();
            drop(meeting.all_arrived.wait_while(here, |here| *here < *all).expect("nobody panics under this lock"));
        }
        let mut open = errand.shared.open.lock().expect("nobody panics under this lock");
        *open -= 1;
        if *open == 0 {
            errand.shared.none_left.notify_all();
        }
    }
}

/// Makes a task. It is never freed: an execution is short, and this way a second run is found.
#[expect(unsafe_code, reason = "erases the task's type")]
fn task(hive: &Hive, shared: &Arc<OpenTasks>, more: u32, together: Option<(u32, Arc<Rendezvous>)>) -> Task {
    *shared.open.lock().expect("nobody panics under this lock") += 1;
    let errand = CheckedTask {
        hive: hive.clone(),
        shared: Arc::clone(shared),
        child_tasks: more,
        together,
        runs: AtomicU32::new(0),
    };
    // SAFETY: the task is leaked and so lives for ever; it may be run by any thread.
    unsafe { Task::new::<CheckedTask>(Box::leak(Box::new(errand))) }
}

impl OpenTasks {
    fn new() -> Arc<Self> {
        Arc::new(Self { open: shuttle::sync::Mutex::new(0), none_left: shuttle::sync::Condvar::new() })
    }

    /// Blocks until no task is left, without running tasks meanwhile.
    fn wait(&self) {
        let open = self.open.lock().expect("nobody panics under this lock");
        drop(self.none_left.wait_while(open, |open| *open > 0).expect("nobody panics under this lock"));
    }
}

pub(super) fn from_everywhere(protocol: Protocol) {
    let polls = random_in(0, 1) == 0;
    let hive = Hive::with(BEES, random_in(2, BEES), WaitPolicy { polls }, protocol());
    let shared = OpenTasks::new();
    let outsiders = [(); 2].map(|()| {
        let shared = Arc::clone(&shared);
        hive.beside(move |hive| {
            for _ in 0..3 {
                let task = task(hive, &shared, random_in(0, 1), None);
                match random_in(1, 2 * BEES) {
                    bee if hive.team.is_hired(bee as usize) => hive.team.send_to_mailbox(bee, task),
                    _ => hive.team.inject(task),
                }
            }
        })
    });
    let resizer = hive.beside(|hive| (0..3).for_each(|_| hive.resize(random_in(1, BEES))));
    queen(&hive, &shared);
    for thread in outsiders.into_iter().chain([resizer]) {
        thread.join().expect("it does not panic");
    }
    shared.wait();
    if polls {
        assert_no_missed_wakes(&hive);
    }
    hive.end();
}

/// What the queen does: she queues tasks, leaves them to the workers, and runs regions in between.
fn queen(hive: &Hive, shared: &Arc<OpenTasks>) {
    for _ in 0..2 {
        if hive.team.has_worker() {
            let context = TaskContext::new(&hive.team, 0);
            (0..random_in(0, 2)).for_each(|_| context.push(task(hive, shared, 0, None)));
            context.inject_remaining();
        }
        checked_region::run(hive, random_in(1, BEES), random_in(0, 1));
    }
}

/// Every worker has to come, although those that come first are already busy.
pub(super) fn mutual_wait() {
    let protocol = [JEC, TICKLE, NOTIFY][random_in(0, 2) as usize];
    let polls = random_in(0, 1) == 0;
    let bees = random_in(3, BEES);
    let hive = Hive::with(BEES, bees, WaitPolicy { polls }, protocol());
    let shared = OpenTasks::new();
    for _ in 0..random_in(1, 2) {
        let rendezvous =
            Arc::new(Rendezvous { arrived: shuttle::sync::Mutex::new(0), all_arrived: shuttle::sync::Condvar::new() });
        let workers = bees - 1;
        let inject_waiters = move |count: u32, hive: &Hive, shared: &Arc<OpenTasks>, meeting: &Arc<Rendezvous>| {
            (0..count).for_each(|_| hive.team.inject(task(hive, shared, 0, Some((workers, Arc::clone(meeting))))));
        };
        let others = random_in(0, workers);
        let outsider = hive.beside({
            let (shared, meeting) = (Arc::clone(&shared), Arc::clone(&rendezvous));
            move |hive| inject_waiters(others, hive, &shared, &meeting)
        });
        inject_waiters(workers - others, &hive, &shared, &rendezvous);
        outsider.join().expect("it does not panic");
        shared.wait();
    }
    if polls {
        assert_no_missed_wakes(&hive);
    }
    hive.end();
}

fn assert_no_missed_wakes(hive: &Hive) {
    let rescues: u64 = hive.team.counters().map(|counters| counters.get(crate::sync::Counter::Rescues)).sum();
    assert_eq!(rescues, 0, "tasks that nobody was woken for");
}
