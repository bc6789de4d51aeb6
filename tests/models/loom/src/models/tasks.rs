//! Models of tasks against sleep: every task that is posted is run, wherever it is posted from, although only the
//! workers run tasks and they may be falling asleep.
//!
//! The protocol is described in `docs/sleep.md`.

use std::sync::{Arc, Mutex};

use super::Model;
use crate::checked_region::CheckedRegion;
use crate::checked_task::{CheckedJoin, CheckedTask};
use crate::data::Datum;
use crate::exploration;
use crate::hive::{Hive, OtherThread, PARK, SPIN};
use crate::protocol::Team;
use crate::protocol::tasks::latch::Latch;
use crate::protocol::tasks::sleep::Sleep;
use crate::protocol::tasks::task::Task;
use crate::protocol::tasks::task_context::TaskContext;
use crate::sync::{AtomicBool, Ordering, Semaphore, WaitPolicy, fence, set_steals_are_paused};

/// Makes a sleep protocol.
type Protocol = fn() -> Sleep;

const JEC: Protocol = Sleep::jec;
const TICKLE: Protocol = Sleep::tickle;
const NOTIFY: Protocol = || Sleep::notify(3);

pub(super) const MODELS: &[Model] = &[
    Model::exhaustive("events", "the event counter alone tells a thread that is about to sleep of a task", events),
    Model::exhaustive("asks", "a bee asks for joins while another falls asleep, and both are counted", asks),
    Model::exhaustive(
        "ask_answered",
        "a bee asks for joins while another answers, and is not overlooked",
        ask_answered,
    ),
    Model::exhaustive(
        "ask_after_grow",
        "a bee that has read what is asked after a hive has grown finds that it has grown",
        ask_after_grow,
    ),
    Model::bounded(4, "task_outside", "a worker falls asleep while a task comes from outside", || outside(JEC, 2, 1)),
    Model::bounded(2, "task_outside_again", "the same with two tasks, one after the other", || outside(JEC, 2, 2)),
    Model::bounded(1, "task_outside_two", "two workers and two tasks", || outside(JEC, 3, 2)),
    Model::bounded(
        3,
        "task_inside",
        "a worker falls asleep while the queen queues a task that she does not run",
        || inside(JEC, 2),
    ),
    Model::bounded(2, "task_inside_two", "the same with two workers", || inside(JEC, 3)),
    Model::bounded(
        4,
        "task_inside_spin",
        "the queen queues tasks, and the worker polls and so never makes its last check",
        || inside_hot(2),
    ),
    Model::bounded(2, "task_inside_spin_two", "the same with two workers", || inside_hot(3)),
    Model::bounded(2, "task_inside_spin_worker", "a bee queues a task that another bee has to find", || {
        inside_hot_bee(2, false)
    }),
    Model::bounded(
        2,
        "task_inside_spin_both",
        "a bee and the queen queue a task each, and another bee runs both",
        || inside_hot_bee(1, true),
    ),
    Model::bounded(3, "task_inside_paused", "task_inside, and the worker steals only right before it sleeps", || {
        with_paused_steals(|| inside(JEC, 2))
    }),
    Model::bounded(2, "task_inside_paused_two", "the same with two workers", || with_paused_steals(|| inside(JEC, 3))),
    Model::bounded(4, "task_mailbox", "a worker falls asleep while a task comes that only it may run", || mailbox(JEC)),
    Model::bounded(3, "task_mailbox_parking", "a worker that is parking gets a task that only it may run", || {
        mailbox_while_parking(JEC)
    }),
    Model::bounded(3, "task_latch", "the queen falls asleep while a worker does what she waits for", || latch(JEC)),
    Model::bounded(3, "task_latch_paused", "the same, and the worker steals only right before it sleeps", || {
        with_paused_steals(|| latch(JEC))
    }),
    Model::bounded(2, "task_shrink", "a worker is parked while a task comes", || shrink(JEC, 2, 1)),
    Model::bounded(1, "task_shrink_two", "one of two workers is parked while a task comes", || shrink(JEC, 3, 2)),
    Model::bounded(3, "task_parked", "a task comes to a hive whose only worker is parked", || parked(JEC)),
    Model::bounded(2, "task_lone_deque", "a hive grows while its only bee queues a task that she does not run", || {
        lone_queen(|queen, task| queen.push(task))
    }),
    Model::bounded(2, "task_lone_mailbox", "the same, and the task goes to her mailbox", || {
        lone_queen(|queen, task| queen.keep_in_mailbox(task))
    }),
    Model::bounded(2, "task_region", "a region starts while a task comes", || region(JEC)),
    Model::bounded(3, "task_end", "a hive ends while a task is queued", || end(JEC)),
    Model::bounded(3, "task_latch_parked", "a worker is parked while it sleeps in the middle of a task", || {
        latch_parked(JEC)
    }),
    Model::bounded(
        2,
        "task_mailbox_waiting",
        "a surplus worker that waits in a task gets another that only it may run",
        || mailbox_while_waiting(JEC),
    ),
    Model::bounded(
        1,
        "task_region_waiting",
        "a surplus worker waits in a task for another one, in a region before which it was made surplus",
        || awaited_by_region(JEC),
    ),
    Model::bounded(
        1,
        "task_region_waiting_inside",
        "a worker waits in its part of a region for a task while it is made surplus",
        || waiting_in_region(JEC),
    ),
    Model::bounded(2, "task_mutual_wait", "two tasks that wait for each other come to two workers", || {
        mutual_wait(JEC)
    }),
    Model::bounded(
        1,
        "task_wake_range",
        "the same, posted at once; the worker that is woken first is to wake the other",
        || wake_range(JEC),
    ),
    Model::bounded(2, "task_nested_start", "a region that must not wait for a task starts while one comes", || {
        nested_start(JEC, PARK, 2)
    }),
    Model::bounded(1, "task_nested_start_spin", "the same while the worker polls", || nested_start(JEC, SPIN, 2)),
    Model::bounded(1, "task_nested_start_two", "the same with two workers", || nested_start(JEC, PARK, 3)),
    Model::bounded(
        1,
        "task_nested_after",
        "the same for a worker that has run a task of its own in a region before",
        || nested_after(JEC, SPIN),
    ),
    Model::bounded(
        1,
        "task_nested_other_group",
        "a worker whose group has no part in such a region gets a task after it",
        || nested_other_group(JEC, false),
    ),
    Model::bounded(
        1,
        "task_nested_other_group_inside",
        "the same while the region is running, which waits for that task",
        || nested_other_group(JEC, true),
    ),
    Model::bounded(
        1,
        "task_notified",
        "a worker that is to run a task finds a mailbox task first, which waits for that task",
        || notified(JEC),
    ),
    Model::bounded(4, "tickle_outside", "task_outside, with the tickle protocol", || outside(TICKLE, 2, 1)),
    Model::bounded(2, "tickle_outside_again", "task_outside_again, with the tickle protocol", || outside(TICKLE, 2, 2)),
    Model::bounded(1, "tickle_outside_two", "task_outside_two, with the tickle protocol", || outside(TICKLE, 3, 2)),
    Model::bounded(3, "tickle_inside", "task_inside, with the tickle protocol", || inside(TICKLE, 2)),
    Model::bounded(3, "tickle_inside_paused", "task_inside_paused, with the tickle protocol", || {
        with_paused_steals(|| inside(TICKLE, 2))
    }),
    Model::bounded(2, "tickle_inside_two", "task_inside_two, with the tickle protocol", || inside(TICKLE, 3)),
    Model::bounded(4, "tickle_mailbox", "task_mailbox, with the tickle protocol", || mailbox(TICKLE)),
    Model::bounded(3, "tickle_latch", "task_latch, with the tickle protocol", || latch(TICKLE)),
    Model::bounded(2, "tickle_shrink", "task_shrink, with the tickle protocol", || shrink(TICKLE, 2, 1)),
    Model::bounded(2, "tickle_region", "task_region, with the tickle protocol", || region(TICKLE)),
    Model::bounded(3, "tickle_end", "task_end, with the tickle protocol", || end(TICKLE)),
    Model::bounded(2, "tickle_mailbox_waiting", "task_mailbox_waiting, with the tickle protocol", || {
        mailbox_while_waiting(TICKLE)
    }),
    Model::bounded(2, "tickle_mutual_wait", "task_mutual_wait, with the tickle protocol", || mutual_wait(TICKLE)),
    Model::bounded(1, "tickle_notified", "task_notified, with the tickle protocol", || notified(TICKLE)),
    Model::bounded(4, "notify_outside", "task_outside, with the notify protocol", || outside(NOTIFY, 2, 1)),
    Model::bounded(2, "notify_outside_again", "task_outside_again, with the notify protocol", || outside(NOTIFY, 2, 2)),
    Model::bounded(1, "notify_outside_two", "task_outside_two, with the notify protocol", || outside(NOTIFY, 3, 2)),
    Model::bounded(3, "notify_inside", "task_inside, with the notify protocol", || inside(NOTIFY, 2)),
    Model::bounded(3, "notify_inside_paused", "task_inside_paused, with the notify protocol", || {
        with_paused_steals(|| inside(NOTIFY, 2))
    }),
    Model::bounded(2, "notify_inside_two", "task_inside_two, with the notify protocol", || inside(NOTIFY, 3)),
    Model::bounded(4, "notify_mailbox", "task_mailbox, with the notify protocol", || mailbox(NOTIFY)),
    Model::bounded(3, "notify_latch", "task_latch, with the notify protocol", || latch(NOTIFY)),
    Model::bounded(2, "notify_shrink", "task_shrink, with the notify protocol", || shrink(NOTIFY, 2, 1)),
    Model::bounded(1, "notify_shrink_two", "task_shrink_two, with the notify protocol", || shrink(NOTIFY, 3, 2)),
    Model::bounded(2, "notify_shrink_nearest", "of two workers, the one that is notified first is parked", || {
        shrink_nearest(NOTIFY)
    }),
    Model::bounded(3, "notify_parked", "task_parked, with the notify protocol", || parked(NOTIFY)),
    Model::bounded(2, "notify_region", "task_region, with the notify protocol", || region(NOTIFY)),
    Model::bounded(3, "notify_end", "task_end, with the notify protocol", || end(NOTIFY)),
    Model::bounded(2, "notify_mailbox_waiting", "task_mailbox_waiting, with the notify protocol", || {
        mailbox_while_waiting(NOTIFY)
    }),
    Model::bounded(1, "notify_mutual_wait", "task_mutual_wait, with the notify protocol", || mutual_wait(NOTIFY)),
    Model::bounded(2, "notify_notified", "task_notified, with the notify protocol", || notified(NOTIFY)),
];

/// Runs `script` with workers that steal only when they look for the last time before they sleep.
fn with_paused_steals(script: impl FnOnce()) {
    set_steals_are_paused(true);
    script();
    set_steals_are_paused(false);
}

/// The jobs event counter by itself. In a hive the last check before sleeping would make up for a fault of the counter,
/// so this model leaves that check out. A thread that finds no task and falls asleep must have been seen by the thread
/// that posts.
fn events() {
    let shared = Arc::new((Sleep::jec(), AtomicBool::new(false), Datum::new(0)));
    exploration::explore();
    let poster = loom::thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let (sleep, queued, woken) = &*shared;
            // Relaxed: the fence below orders this store before the look at the counter.
            queued.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            // SeqCst: pairs with the fence of the searching thread. One of the two threads sees what the other did
            // before its fence.
            woken.set(sleep.announce_jobs(1));
        }
    });
    let (sleep, queued, woken) = &*shared;
    sleep.begin_search(1);
    let announced = sleep.announce_sleepy(1).expect("anybody may be sleepy");
    // SeqCst: pairs with the fence of the poster.
    fence(Ordering::SeqCst);
    let has_found = queued.load(Ordering::Relaxed);
    // Relaxed: the fence above orders it.
    let is_asleep = !has_found && sleep.try_fall_asleep(announced);
    poster.join().expect("it does not panic");
    assert_eq!(is_asleep, woken.get() == 1, "asleep, and to be woken");
}

fn asks() {
    let sleep = Arc::new(Sleep::jec());
    exploration::explore();
    let asker = loom::thread::spawn({
        let sleep = Arc::clone(&sleep);
        move || {
            sleep.begin_search(2);
            sleep.ask();
        }
    });
    sleep.begin_search(1);
    let announced = sleep.announce_sleepy(1).expect("anybody may be sleepy");
    assert!(sleep.try_fall_asleep(announced), "nothing has been posted");
    asker.join().expect("it does not panic");
    assert_eq!(sleep.announce_jobs(3), 1, "the sleepers to be woken");
    assert_eq!(sleep.inactive_at(sleep.demand().read()), 2, "the bees without work");
}

/// The bee that answers has nothing to give. If it has not seen the other, it looks once more.
fn ask_answered() {
    let sleep = Arc::new(Sleep::jec());
    exploration::explore();
    let asker = loom::thread::spawn({
        let sleep = Arc::clone(&sleep);
        move || sleep.begin_search(1)
    });
    let demand = sleep.demand();
    let reading = demand.read();
    let seen = sleep.inactive_at(reading);
    demand.answer(reading, 0);
    asker.join().expect("it does not panic");
    assert!(seen == 1 || demand.is_unanswered(), "whoever was not seen is not answered");
}

fn ask_after_grow() {
    let shared = Arc::new((Sleep::jec(), AtomicBool::new(false)));
    exploration::explore();
    let grows = loom::thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let (sleep, has_grown) = &*shared;
            // Relaxed: the fence below, which is that of `share_lone_queens_tasks`, orders it before the ask.
            has_grown.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            sleep.ask();
        }
    });
    let (sleep, has_grown) = &*shared;
    let is_asked = sleep.demand().read() != 0;
    // Relaxed: `read` acquires.
    assert!(!is_asked || has_grown.load(Ordering::Relaxed), "the size from before the ask");
    grows.join().expect("it does not panic");
}

/// The queen posts tasks and waits for each.
fn outside(sleep: Protocol, bees: u32, tasks: u32) {
    let hive = Hive::with_tasks(bees, bees, PARK, sleep());
    for _ in 0..tasks {
        let (errand, task) = CheckedTask::new();
        hive.team.inject(task);
        errand.wait();
    }
    hive.end();
}

fn inside(sleep: Protocol, bees: u32) {
    let hive = Hive::with_tasks(bees, bees, PARK, sleep());
    let (errand, task) = CheckedTask::new();
    let hand = TaskContext::new(&hive.team, 0);
    hand.push(task);
    errand.wait();
    drop(hand);
    hive.end();
}

/// A mark that is lost here is not made up for: workers that poll never make a last check. The worker may still be
/// clearing the mark of the first task's deque when the second task is pushed.
fn inside_hot(bees: u32) {
    let hive = Hive::with_tasks(bees, bees, SPIN, Sleep::jec());
    let hand = TaskContext::new(&hive.team, 0);
    for _ in 0..2 {
        let (errand, task) = CheckedTask::new();
        hand.push(task);
        errand.wait();
    }
    drop(hand);
    hive.end();
}

/// Bee `pusher` is in the middle of a task until another bee has run what `pusher` has queued.
fn inside_hot_bee(pusher: u32, and_queen: bool) {
    let hive = Hive::with_tasks(3, 3, SPIN, Sleep::jec());
    let (waiting, task) = CheckedTask::on_bee(&hive, pusher, |hand| {
        let (errand, task) = CheckedTask::new();
        hand.push(task);
        errand.wait();
    });
    hive.team.send_to_mailbox(pusher, task);
    let hand = TaskContext::new(&hive.team, 0);
    if and_queen {
        let (errand, task) = CheckedTask::new();
        hand.push(task);
        errand.wait();
    }
    waiting.wait();
    drop(hand);
    hive.end();
}

fn mailbox(sleep: Protocol) {
    let hive = Hive::with_tasks(2, 2, PARK, sleep());
    let (errand, task) = CheckedTask::new();
    hive.team.send_to_mailbox(1, task);
    errand.wait();
    hive.end();
}

/// The only bee of a hive queues a task by `queue`, and waits for it elsewhere. Another thread makes the hive grow.
fn lone_queen(queue: fn(&TaskContext<'_>, Task)) {
    let hive = Hive::with_tasks(2, 1, PARK, Sleep::jec());
    let grows = OtherThread::spawn(&hive, |hive| hive.resize(2));
    let (errand, task) = CheckedTask::new();
    let hand = TaskContext::new(&hive.team, 0);
    queue(&hand, task);
    errand.wait();
    grows.join();
    drop(hand);
    hive.end();
}

fn mailbox_while_parking(sleep: Protocol) {
    let hive = Hive::with_tasks(2, 2, PARK, sleep());
    hive.resize(1);
    let (errand, task) = CheckedTask::new();
    hive.team.send_to_mailbox(1, task);
    errand.wait();
    hive.team.wait_until_parked();
    hive.end();
}

fn latch(sleep: Protocol) {
    let hive = Hive::with_tasks(2, 2, PARK, sleep());
    let shared = Arc::new((Latch::default(), Datum::new(0)));
    let hand = TaskContext::new(&hive.team, 0);
    let other = OtherThread::spawn(&hive, {
        let shared = Arc::clone(&shared);
        move |hive| {
            shared.1.set(1);
            set_latch(&hive.team, &shared.0, 0);
        }
    });
    hand.wait_until(&shared.0, usize::MAX);
    assert_eq!(shared.1.get(), 1, "what was done before the latch was set");
    other.join();
    drop(hand);
    hive.end();
}

/// The worker waits in a task, as a join does. The queen shrinks the hive and then does what the worker waits for.
fn latch_parked(sleep: Protocol) {
    let hive = Hive::with_tasks(2, 2, PARK, sleep());
    let (waiting, latch) = send_waiting_task(&hive, 1);
    hive.resize(1);
    set_latch(&hive.team, &latch, 1);
    waiting.wait();
    hive.team.wait_until_parked();
    hive.end();
}

/// The worker waits in a task and is surplus. What it waits for is done by a task in its own mailbox.
fn mailbox_while_waiting(sleep: Protocol) {
    let hive = Hive::with_tasks(2, 2, PARK, sleep());
    let (waiting, latch) = send_waiting_task(&hive, 1);
    hive.resize(1);
    let (mail, task) = CheckedTask::on_bee(&hive, 1, move |hand| set_latch(hand.team, &latch, 1));
    hive.team.send_to_mailbox(1, task);
    mail.wait();
    waiting.wait();
    hive.team.wait_until_parked();
    hive.end();
}

/// Worker 2 waits in a task for another one, which is queued when the other bees are in a region that includes worker
/// 2: so no other bee runs that one.
fn awaited_by_region(sleep: Protocol) {
    let hive = Hive::with_tasks(3, 3, PARK, sleep());
    let (waiting, latch) = send_waiting_task(&hive, 2);
    hive.resize(2);
    // The worker has time to come to its wait.
    (0..2).for_each(|_| loom::thread::yield_now());
    region_with_task_inside(&hive, latch, || ());
    waiting.wait();
    hive.end();
}

/// Worker 2 waits in its part of a region, and the other two have ended theirs.
fn waiting_in_region(sleep: Protocol) {
    let hive = Hive::with_tasks(3, 3, PARK, sleep());
    let latch = Arc::new(Latch::default());
    let resizer = OtherThread::spawn(&hive, |hive| hive.resize(2));
    let hand = hive.task_context_of(2);
    region_with_task_inside(&hive, Arc::clone(&latch), || {
        hand.with(|hand| hand.wait_until(&latch, usize::MAX));
    });
    resizer.join();
    hive.end();
}

/// Runs a region of three bees, in which the queen queues the task that sets a latch of bee 2. Bee 2 runs `part`. Bee 1
/// ends its part only when that task has been run, or bee 2 has come to the region without it.
fn region_with_task_inside(hive: &Hive, latch: Arc<Latch>, part: impl Fn() + Sync) {
    let (team, tasks_team, is_over) = (&*hive.team, Arc::clone(&hive.team), Arc::new(Semaphore::new()));
    let has_ended = Arc::new(AtomicBool::new(false));
    let end = {
        let (is_over, has_ended) = (Arc::clone(&is_over), Arc::clone(&has_ended));
        // Relaxed: only one of the two that end it is to post.
        move || {
            if !has_ended.swap(true, Ordering::Relaxed) {
                is_over.post()
            }
        }
    };
    let ends = end.clone();
    let (errand, task) = CheckedTask::with_body(move || {
        set_latch(&tasks_team, &latch, 2);
        ends();
    });
    let task = Mutex::new(Some(task));
    hive.region_of_earlier_size(3, |region| match region.id {
        0 => {
            // Worker 2 has time to park or to sleep.
            loom::thread::yield_now();
            team.inject(task.lock().unwrap().take().unwrap());
        }
        1 => is_over.wait(),
        _ => {
            part();
            end();
        }
    });
    errand.wait();
}

/// Sends worker `bee` a task in which it waits for a latch, as for the second half of a join.
fn send_waiting_task(hive: &Hive, bee: u32) -> (CheckedTask, Arc<Latch>) {
    let latch = Arc::new(Latch::default());
    let (waiting, task) = CheckedTask::on_bee(hive, bee, {
        let latch = Arc::clone(&latch);
        move |hand| hand.wait_until(&latch, usize::MAX)
    });
    hive.team.send_to_mailbox(bee, task);
    (waiting, latch)
}

/// Sets a latch of bee `owner`, which the caller keeps alive.
#[expect(unsafe_code, reason = "sets a latch")]
fn set_latch(team: &Team, latch: &Latch, owner: u32) {
    // SAFETY: the caller keeps the latch alive.
    unsafe { team.set_latch(latch, owner) };
}

/// The worker that is woken for its mailbox is the one that was notified of the other task.
fn notified(sleep: Protocol) {
    let hive = Hive::with_tasks(3, 3, PARK, sleep());
    let ran = Arc::new(Semaphore::new());
    let (first, task) = CheckedTask::with_body({
        let ran = Arc::clone(&ran);
        move || ran.post()
    });
    hive.team.inject(task);
    let (second, task) = CheckedTask::with_body(move || ran.wait());
    hive.team.send_to_mailbox(1, task);
    first.wait();
    second.wait();
    hive.end();
}

/// The worker that is first cannot run both tasks.
fn mutual_wait(sleep: Protocol) {
    let hive = Hive::with_tasks(3, 3, PARK, sleep());
    let [(first, task), (second, other)] = mutually_waiting_tasks();
    hive.team.inject(task);
    hive.team.inject(other);
    first.wait();
    second.wait();
    hive.end();
}

/// The same, but the queen puts both tasks into her deque before she announces them, if the workers are known to be
/// idle by then.
fn wake_range(sleep: Protocol) {
    let hive = Hive::with_tasks(3, 3, PARK, sleep());
    (0..2).for_each(|_| loom::thread::yield_now());
    let hand = TaskContext::new(&hive.team, 0);
    let joins = mutually_waiting_tasks().map(|(errand, _)| CheckedJoin::new(errand));
    joins.iter().for_each(|join| join.link(&hand));
    hand.share_joins();
    for join in joins.iter().rev() {
        if join.unlink(&hand) {
            hand.push(join.second_half.task());
        }
    }
    joins.into_iter().for_each(|join| join.second_half.wait());
    drop(hand);
    hive.end();
}

/// Two tasks that wait for each other.
fn mutually_waiting_tasks() -> [(CheckedTask, Task); 2] {
    let [here, there] = [(); 2].map(|()| Arc::new(Semaphore::new()));
    let meet = |own: &Arc<Semaphore>, other: &Arc<Semaphore>| {
        let (own, other) = (Arc::clone(own), Arc::clone(other));
        move || {
            other.post();
            own.wait();
        }
    };
    [CheckedTask::with_body(meet(&here, &there)), CheckedTask::with_body(meet(&there, &here))]
}

fn shrink(sleep: Protocol, bees: u32, to: u32) {
    assert_task_runs_after_shrink(Hive::with_tasks(bees, bees, PARK, sleep()), to);
}

/// The worker that is not the nearest has had time to fall asleep.
fn shrink_nearest(sleep: Protocol) {
    let hive = Hive::with_last_nearest(3, PARK, sleep());
    (0..2).for_each(|_| loom::thread::yield_now());
    hive.resize(2);
    let (errand, task) = CheckedTask::new();
    hive.team.inject(task);
    errand.wait();
    hive.end();
}

fn assert_task_runs_after_shrink(hive: Hive, to: u32) {
    let resizer = OtherThread::spawn(&hive, move |hive| hive.resize(to));
    let (errand, task) = CheckedTask::new();
    hive.team.inject(task);
    errand.wait();
    resizer.join();
    hive.end();
}

fn parked(sleep: Protocol) {
    let hive = Hive::with_tasks(2, 1, PARK, sleep());
    let (errand, task) = CheckedTask::new();
    hive.team.inject(task);
    errand.wait();
    hive.team.wait_until_parked();
    hive.end();
}

fn region(sleep: Protocol) {
    let hive = Hive::with_tasks(2, 2, PARK, sleep());
    let (errand, task) = CheckedTask::new();
    let other = OtherThread::spawn(&hive, move |hive| hive.team.inject(task));
    CheckedRegion::new(2).run(&hive, 2);
    other.join();
    errand.wait();
    hive.end();
}

/// The task waits for the thread that starts the region, as a task does whose other half of a join that thread runs.
fn nested_start(sleep: Protocol, policy: WaitPolicy, bees: u32) {
    let hive = Hive::with_tasks(bees, bees, policy, sleep());
    let over = Arc::new(Semaphore::new());
    let (errand, task) = CheckedTask::with_body({
        let over = Arc::clone(&over);
        move || over.wait()
    });
    let other = OtherThread::spawn(&hive, move |hive| hive.team.inject(task));
    hive.nested_region(bees, |_| ());
    over.post();
    other.join();
    errand.wait();
    hive.region(bees, |_| ());
    hive.end();
}

/// The worker runs a task in its part of a region without having begun to search for tasks, as a bee does that waits
/// for a scope there. After the region it must count as idle again.
fn nested_after(sleep: Protocol, policy: WaitPolicy) {
    let hive = Hive::with_tasks(2, 2, policy, sleep());
    let hand = hive.task_context_of(1);
    hive.region(2, |context| {
        if context.id == 1 {
            let (errand, task) = CheckedTask::new();
            hand.with(|hand| {
                hand.push(task);
                assert!(hand.run_one(), "the bee finds its own task");
            });
            errand.wait();
        }
    });
    hive.nested_region(2, |_| ());
    hive.end();
}

/// Bee 2 learns of regions in a group that has no part in this one. It is sent a task while the region is running, or
/// after it.
fn nested_other_group(sleep: Protocol, is_inside: bool) {
    let hive = Hive::on_nodes_with_tasks(&[0, 1, 1], PARK, sleep());
    let team = Arc::clone(&hive.team);
    let ask = || {
        let (errand, task) = CheckedTask::new();
        team.send_to_mailbox(2, task);
        errand.wait();
    };
    hive.nested_region(2, |context| {
        if is_inside && context.id == 0 {
            ask();
        }
    });
    if !is_inside {
        ask();
    }
    hive.end();
}

fn end(sleep: Protocol) {
    let hive = Hive::with_tasks(2, 2, PARK, sleep());
    let (errand, task) = CheckedTask::new();
    hive.team.inject(task);
    hive.terminate();
    errand.wait();
}
