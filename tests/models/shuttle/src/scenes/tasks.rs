//! Tasks from inside and outside, for anybody and for one, while the hive is resized and has regions: all are run, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::draw;
use crate::crew::{Hand, Run, Sleep, Task};
use crate::hive::Hive;
use crate::rounds;
use crate::sync::WaitPolicy;

const MEMBERS: u32 = 9;

/// Makes the protocol of a hive of `MEMBERS`.
pub(super) type Protocol = fn() -> Sleep;

pub(super) const JEC: Protocol = Sleep::jec;
pub(super) const TICKLE: Protocol = Sleep::tickle;
pub(super) const NOTIFY: Protocol = || Sleep::notify(MEMBERS);

/// What the tasks of a scene share.
struct Shared {
    /// Tasks made that have not run. Seen by shuttle only when it is awaited.
    open: shuttle::sync::Mutex<u32>,
    none_left: shuttle::sync::Condvar,
}

/// A task: it makes so many more, for anybody, and waits for others where it is told to.
struct Errand {
    hive: Hive,
    shared: Arc<Shared>,
    more: u32,
    /// Tasks that must be running at the same time, and how many are.
    together: Option<(u32, Arc<Meeting>)>,
    runs: AtomicU32,
}

struct Meeting {
    here: shuttle::sync::Mutex<u32>,
    all_here: shuttle::sync::Condvar,
}

#[expect(unsafe_code, reason = "takes a pointer")]
impl Run for Errand {
    unsafe fn run(this: *const Self) {
        // SAFETY: the pointer is the one that `task` made; a second run is found below, because every errand lives as long as its scene.
        let errand = unsafe { &*this };
        assert_eq!(errand.runs.fetch_add(1, Ordering::Relaxed), 0, "a task is run twice");
        for _ in 0..errand.more {
            errand.hive.crew.inject(task(&errand.hive, &errand.shared, 0, None));
        }
        if let Some((all, meeting)) = &errand.together {
            let mut here = meeting.here.lock().expect("nobody panics under this lock");
            *here += 1;
            meeting.all_here.notify_all();
            drop(meeting.all_here.wait_while(here, |here| *here < *all).expect("nobody panics under this lock"));
        }
        let mut open = errand.shared.open.lock().expect("nobody panics under this lock");
        *open -= 1;
        if *open == 0 {
            errand.shared.none_left.notify_all();
        }
    }
}

/// A task, which is never freed: an execution is short, and so a second run is seen.
#[expect(unsafe_code, reason = "erases the task's type")]
fn task(hive: &Hive, shared: &Arc<Shared>, more: u32, together: Option<(u32, Arc<Meeting>)>) -> Task {
    *shared.open.lock().expect("nobody panics under this lock") += 1;
    let errand = Errand { hive: hive.clone(), shared: Arc::clone(shared), more, together, runs: AtomicU32::new(0) };
    // SAFETY: it is leaked, and may be run by anybody.
    unsafe { Task::new::<Errand>(Box::leak(Box::new(errand))) }
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { open: shuttle::sync::Mutex::new(0), none_left: shuttle::sync::Condvar::new() })
    }

    /// Waits for all tasks, without lending a hand.
    fn wait(&self) {
        let open = self.open.lock().expect("nobody panics under this lock");
        drop(self.none_left.wait_while(open, |open| *open > 0).expect("nobody panics under this lock"));
    }
}

pub(super) fn from_everywhere(protocol: Protocol) {
    let polls = draw(0, 1) == 0;
    let hive = Hive::with(MEMBERS, draw(2, MEMBERS), WaitPolicy { polls }, protocol());
    let shared = Shared::new();
    let outsiders = [(); 2].map(|()| {
        let shared = Arc::clone(&shared);
        hive.beside(move |hive| {
            for _ in 0..3 {
                let task = task(hive, &shared, draw(0, 1), None);
                match draw(1, 2 * MEMBERS) {
                    bee if hive.crew.is_hired(bee as usize) => hive.crew.send(bee, task),
                    _ => hive.crew.inject(task),
                }
            }
        })
    });
    let resizer = hive.beside(|hive| (0..3).for_each(|_| hive.resize(draw(1, MEMBERS))));
    queen(&hive, &shared);
    for thread in outsiders.into_iter().chain([resizer]) {
        thread.join().expect("it does not panic");
    }
    shared.wait();
    if polls {
        nobody_was_forgotten(&hive);
    }
    hive.end();
}

/// Queues tasks of her own that she leaves to others, and has regions in between.
fn queen(hive: &Hive, shared: &Arc<Shared>) {
    for _ in 0..2 {
        if hive.crew.has_bee() {
            let hand = Hand::new(&hive.crew, 0);
            (0..draw(0, 2)).for_each(|_| hand.push(task(hive, shared, 0, None)));
            hand.leave_tasks();
        }
        rounds::region(hive, draw(1, MEMBERS), draw(0, 1));
    }
}

/// Every bee must come, although those that come first are busy by then.
pub(super) fn that_wait_for_one_another() {
    let protocol = [JEC, TICKLE, NOTIFY][draw(0, 2) as usize];
    let polls = draw(0, 1) == 0;
    let members = draw(3, MEMBERS);
    let hive = Hive::with(MEMBERS, members, WaitPolicy { polls }, protocol());
    let shared = Shared::new();
    for _ in 0..draw(1, 2) {
        let meeting = Arc::new(Meeting { here: shuttle::sync::Mutex::new(0), all_here: shuttle::sync::Condvar::new() });
        let bees = members - 1;
        let invite = move |count: u32, hive: &Hive, shared: &Arc<Shared>, meeting: &Arc<Meeting>| {
            (0..count).for_each(|_| hive.crew.inject(task(hive, shared, 0, Some((bees, Arc::clone(meeting))))));
        };
        let others = draw(0, bees);
        let outsider = hive.beside({
            let (shared, meeting) = (Arc::clone(&shared), Arc::clone(&meeting));
            move |hive| invite(others, hive, &shared, &meeting)
        });
        invite(bees - others, &hive, &shared, &meeting);
        outsider.join().expect("it does not panic");
        shared.wait();
    }
    if polls {
        nobody_was_forgotten(&hive);
    }
    hive.end();
}

fn nobody_was_forgotten(hive: &Hive) {
    let rescues: u64 = hive.crew.tallies().map(|tally| tally.get(crate::sync::Count::Rescues)).sum();
    assert_eq!(rescues, 0, "tasks that nobody was woken for");
}
