//! Every call by which bees meet or share work, whose work panics on each bee in turn or on all, or makes another such
//! call; the panic is caught or not, and the call is made again or not. What is to happen is not recorded but follows
//! from the rules of `docs/composition.md`:
//!
//! - If a call ends by a panic, its region fails, whatever is caught: nobody passes a later barrier, a call that is
//!   made again by the same bee runs no work, and the caller gets the panic that was not caught, or a text that names
//!   the call.
//! - In the work of a call no other may be made, with the exceptions of `is_allowed_in`, and none in a part of a loop
//!   that is a region of its own: it panics at once.
//! - A region that returns has done everything once, and its bees have equal values.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::process::abort;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use hive::{Bee, Hive, Loop, Ordered};

use super::bee_calls::{Call, LEN, SCHEDULES, Shared};
use super::common::{proc_threads, process, rounds_for, run_exclusively, silence_panics, time_limit};

/// Whose work panics, in its first run on that bee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Culprit {
    Nobody,
    Bee(usize),
    All,
}

/// Who catches panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Catch {
    /// Nobody.
    Never,
    /// The work, what comes from the call that is nested in it.
    InWork,
    /// Each bee, what is thrown on it, and not what lets it go from a barrier.
    Own,
    /// Each bee, everything.
    All,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    bees: usize,
    outer: Call,
    inner: Option<Call>,
    culprit: Culprit,
    catch: Catch,
    /// Whether a bee makes a call again that has failed.
    again: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// The panic of this bee's work.
#[derive(Clone, Copy)]
struct Planned(usize);

type Payload = Box<dyn Any + Send>;

fn text(payload: &Payload) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or_default()
}

/// What has happened in a case.
#[derive(Default)]
struct Log {
    /// The bees whose work has panicked as planned.
    planned: Mutex<Vec<usize>>,
    /// How often the work of the first call has run, and that of calls that were made again.
    works: [AtomicUsize; 2],
    /// How often each index of a loop was run.
    indices: [AtomicUsize; LEN],
    /// Nested calls that were made, and those of them that returned.
    inner: [AtomicUsize; 2],
    /// What the first call has returned, by bee.
    results: Mutex<Vec<(usize, Option<usize>)>>,
    /// How many bees have passed the operation that follows.
    passed: AtomicUsize,
}

impl Log {
    /// The work of the outer call: `attempt` is 1 if the bee makes it again.
    fn work(&self, case: &Case, bee: &Bee<'_>, shared: &Shared, attempt: usize, range: Range<usize>) {
        self.works[attempt].fetch_add(1, Ordering::Relaxed);
        if case.outer.is_loop() {
            range.clone().for_each(|index| _ = self.indices[index].fetch_add(1, Ordering::Relaxed));
        }
        if let Some(inner) = case.inner {
            self.inner[0].fetch_add(1, Ordering::Relaxed);
            let make = || {
                inner.make(bee, shared, &range, bee.id(), &|_| ());
                self.inner[1].fetch_add(1, Ordering::Relaxed);
            };
            match catch_unwind(AssertUnwindSafe(make)) {
                Err(payload) if case.catch != Catch::InWork => resume_unwind(payload),
                _ => {}
            }
        }
        if attempt == 0 && (case.culprit == Culprit::All || case.culprit == Culprit::Bee(bee.id())) {
            self.planned.lock().unwrap().push(bee.id());
            panic_any(Planned(bee.id()));
        }
    }

    /// What each bee does.
    fn run(&self, case: &Case, bee: &Bee<'_>, shared: &Shared) {
        let catch = |work: &dyn Fn()| match catch_unwind(AssertUnwindSafe(work)) {
            Ok(()) => true,
            Err(payload) => {
                let is_own = payload.is::<Planned>() || !text(&payload).is_empty();
                if case.catch == Catch::All || (case.catch == Catch::Own && is_own) {
                    return false;
                }
                resume_unwind(payload)
            }
        };
        let (id, turn) = (bee.id(), bee.id()..bee.id() + 1);
        let make = |attempt| {
            let work = |range| self.work(case, bee, shared, attempt, range);
            let result = case.outer.make(bee, shared, &turn, id, &work);
            self.results.lock().unwrap().push((id, result));
        };
        if !catch(&|| make(0)) && case.again {
            catch(&|| make(1));
        }
        catch(&|| {
            let sum: usize = (0..case.bees).sum();
            assert_eq!(bee.all_reduce(id, |a, b| a + b), sum, "of the bees' ids");
            self.passed.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Checks how the region has ended. Returns whether it has failed.
    fn check(&self, case: &Case, ended: &Result<(), Payload>) -> Result<bool, String> {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let planned = self.planned.lock().unwrap();
        let is_refused = case.inner.is_some_and(|inner| !inner.is_allowed_in(case.outer)) && count(&self.inner[0]) > 0;
        if is_refused && count(&self.inner[1]) > 0 {
            return Err("a nested call was not refused".to_owned());
        }
        let has_failed = !planned.is_empty() || (is_refused && case.catch != Catch::InWork);
        match ended {
            Ok(()) if has_failed => Err("the region has returned".to_owned()),
            Ok(()) => self.check_results(case).map(|()| false),
            Err(payload) if has_failed => self.check_failure(case, payload, &planned).map(|()| true),
            // In the work of a loop the bees may meet, if all come equally often.
            Err(payload) => match case.inner.filter(|inner| !is_refused && *inner != Call::Ordered) {
                Some(_) if !case.outer.is_even() && text(payload).contains("bee") => Ok(true),
                _ => Err(format!("the region has panicked: {:?}", text(payload))),
            },
        }
    }

    fn check_failure(&self, case: &Case, payload: &Payload, planned: &[usize]) -> Result<(), String> {
        if self.passed.load(Ordering::Relaxed) > 0 {
            return Err("a bee has passed a barrier after the failure".to_owned());
        }
        if self.works[1].load(Ordering::Relaxed) > 0 {
            return Err("a bee has run the work again".to_owned());
        }
        let is_caught = matches!(case.catch, Catch::Own | Catch::All);
        let as_planned = payload.downcast_ref().map(|&Planned(id)| id);
        let is_right = match (is_caught, planned.iter().min()) {
            (true, _) => {
                let parts = ["a panic that was caught has ended a call of ", case.outer.name(), " on bee "];
                text(payload).contains(&parts.concat())
            }
            (false, Some(lowest)) => as_planned == Some(*lowest),
            (false, None) if matches!(case.outer, Call::ParFor(_)) => {
                text(payload).contains("in a loop that is a region of its own")
            }
            (false, None) => text(payload).contains("must not itself wait for the bees"),
        };
        if is_right { Ok(()) } else { Err(format!("{planned:?} have panicked, and it says {:?}", text(payload))) }
    }

    fn check_results(&self, case: &Case) -> Result<(), String> {
        let (works, results) = (self.works[0].load(Ordering::Relaxed), self.results.lock().unwrap());
        let is_once = match case.outer {
            Call::Single | Call::BroadcastFromFirst | Call::BroadcastFromLast => works == 1,
            outer => !outer.is_loop() || self.indices.iter().all(|runs| runs.load(Ordering::Relaxed) == 1),
        };
        let first = results.first().and_then(|(_, result)| *result);
        let expected = |id| case.outer.expected(id, case.bees).unwrap_or(first);
        let are_right = results.iter().all(|&(id, result)| result == expected(id));
        let is_region = matches!(case.outer, Call::ParFor(_));
        let are_all = is_region || (results.len() == case.bees && self.passed.load(Ordering::Relaxed) == case.bees);
        if is_once && are_right && are_all {
            return Ok(());
        }
        Err(format!("{works} runs of the work, of indices {:?}, results {results:?}", self.indices))
    }
}

/// Runs a case, and then checks that its hive and its loops work.
fn run(hive: &Hive, case: &Case) -> Result<bool, String> {
    let shared = Shared { loops: SCHEDULES.map(|schedule| Loop::new(0..LEN, schedule)), turns: Ordered::new(0..LEN) };
    let log = Log::default();
    let region = || match case.outer {
        Call::ParFor(schedule) => hive.par_for((0..LEN, SCHEDULES[schedule]), |range, bee| {
            log.work(case, bee, &shared, 0, range);
        }),
        _ => hive.spmd(case.bees, |bee| log.run(case, bee, &shared)),
    };
    let ended = catch_unwind(AssertUnwindSafe(region));
    let has_failed = log.check(case, &ended)?;
    let after = AtomicUsize::new(0);
    hive.spmd(case.bees, |bee| {
        let count = |range: Range<usize>| _ = after.fetch_add(range.len(), Ordering::Relaxed);
        shared.loops.iter().for_each(|own| bee.for_each(own, count));
        SCHEDULES.into_iter().for_each(|schedule| bee.for_range((0..LEN, schedule), count));
        (bee.id()..LEN).step_by(bee.bees()).for_each(|index| bee.ordered(&shared.turns, index, || count(0..1)));
        bee.single(|| count(0..1));
    });
    let after = after.into_inner();
    let expected = LEN * (2 * SCHEDULES.len() + 1) + 1;
    if after == expected { Ok(has_failed) } else { Err(format!("{after} of {expected} done in the region after")) }
}

/// Runs the cases, as many as there is time for, and fails if one ends wrongly or hangs. Returns how many it has run,
/// and how many of their regions have failed.
#[track_caller]
fn run_all(cases: &[Case]) -> (usize, usize) {
    let (sender, receiver) = channel();
    let failed = thread::scope(|scope| {
        let runner = scope.spawn(move || {
            let build = |bees, spin| Hive::builder().bees(bees).spin(Duration::from_micros(spin)).build().unwrap();
            // Bees that sleep at once, and bees that poll for a while.
            let hives = [0, 50, 200].map(|spin| [1, 2, 3, 17].map(|bees| (bees, build(bees, spin))));
            let (mut ran, mut failed) = (0, 0);
            for (number, hives) in rounds_for(200, cases.len()).zip(hives.iter().cycle()) {
                ran = number;
                // In steps of a prime number, so that the first of them are of all kinds.
                let case = &cases[number * 7_919 % cases.len()];
                sender.send(*case).unwrap();
                let (_, hive) = hives.iter().find(|(bees, _)| *bees == case.bees).expect("a hive of that size");
                match run(hive, case) {
                    Ok(has_failed) => failed += usize::from(has_failed),
                    Err(how) => return Err(format!("{case}: {how}")),
                }
            }
            Ok((ran, failed))
        });
        let mut last = None;
        loop {
            match receiver.recv_timeout(time_limit()) {
                Ok(case) => last = Some(case),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("{last:?} hangs; its threads:\n{}", proc_threads::list(None));
                    process::print_stacks(std::process::id());
                    abort();
                }
            }
        }
        runner.join().expect("it catches what it causes")
    });
    println!("{} cases; those run, and failed regions: {failed:?}", cases.len());
    match failed {
        Ok(counts) => counts,
        Err(how) => panic!("as not expected: {how}"),
    }
}

/// The work panics on a bee, or on all.
#[test]
fn a_call_whose_work_panics_fails_its_region_whatever_is_caught() {
    let _alone = run_exclusively();
    silence_panics("bee");
    let mut cases = Vec::new();
    for bees in [1, 2, 3, 17] {
        let catches =
            [(Catch::Never, false), (Catch::Own, false), (Catch::Own, true), (Catch::All, false), (Catch::All, true)];
        let culprits = [Culprit::Nobody, Culprit::All].into_iter().chain((0..bees).map(Culprit::Bee));
        for (outer, culprit) in Call::all().flat_map(|outer| culprits.clone().map(move |culprit| (outer, culprit))) {
            // Of the large team only some.
            let is_run = bees < 17 || (!outer.is_loop() && matches!(culprit, Culprit::All | Culprit::Bee(0 | 3 | 16)));
            cases.extend(
                catches
                    .iter()
                    .filter(|_| is_run && (outer != Call::Ordered || bees <= LEN))
                    .map(|&(catch, again)| Case { bees, outer, inner: None, culprit, catch, again }),
            );
        }
    }
    let (ran, failed) = run_all(&cases);
    // Where only one bee runs the work, or a bee may get no index, the planned panic may not come.
    assert!(failed > ran / 2, "{failed} of {ran} regions failed");
}

/// The work makes another call.
#[test]
fn a_call_in_the_work_of_another_is_right_or_panics_at_once() {
    let _alone = run_exclusively();
    silence_panics("bee");
    let mut cases = Vec::new();
    for bees in [1, 2, 3] {
        let outers = Call::all().chain((0..SCHEDULES.len()).map(Call::ParFor));
        for outer in outers {
            for inner in Call::all().chain([Call::Barrier]) {
                for (catch, again) in
                    [(Catch::Never, false), (Catch::InWork, false), (Catch::Own, true), (Catch::All, true)]
                {
                    let is_possible =
                        !matches!(outer, Call::ParFor(_)) || matches!(catch, Catch::Never | Catch::InWork);
                    let case = Case { bees, outer, inner: Some(inner), culprit: Culprit::Nobody, catch, again };
                    cases.extend(is_possible.then_some(case));
                }
            }
        }
    }
    let (ran, failed) = run_all(&cases);
    assert!(failed > ran / 4, "{failed} of {ran} regions failed");
}
