//! The table of compositions: every nest of two of hive's calls (of three with `HIVE_COMPOSITIONS_DEPTH=3`), on two
//! hives of one to three bees, from every place that a program may call hive from. Two of three cases have hives of
//! several groups (`:split` or `:relay`), on a machine that hwloc makes up. Each case must end with the right result or
//! with a panic that `docs/composition.md` lists; none may hang, and none may end the process. Half of the deeper cases
//! panic on purpose somewhere. Afterwards both hives must work.
//!
//! Most cases are run once more with something going on around them: all workers are asleep when the case begins
//! (`:asleep`), or are held in tasks until the outermost call has returned, which must not wait for them (`:held`), or
//! other threads from outside call the same hives all the time, and check what these calls return (`:callers`). See
//! `compositions/surroundings.rs`.
//!
//! A case has a name that reads like code: `outside/a2.install/b1.team/a2.join`. `compositions/case.rs` lists all the
//! words. What is to happen in a case is not recorded. `compositions/expectation.rs` works it out by the rules of that
//! page, from what each thread is inside of. The cases run in child processes of this program, so that a case that
//! hangs or crashes does not stop the others.
//!
//!     cargo test --test compositions                              # one of ten cases, the same ones each time
//!     HIVE_COMPOSITIONS_SEED=now cargo test --test compositions   # others, chosen by the time; prints the seed
//!     HIVE_COMPOSITIONS=all cargo test --test compositions        # all of them
//!     HIVE_COMPOSITIONS=outside/a2.install/b1.team/a2.join ...    # this one; several, separated by spaces
//!     HIVE_COMPOSITIONS=install/b2. ...                           # those whose names contain this
//!
//! `-- --nocapture` shows failures as they come, and how many cases ended in which way. `HIVE_COMPOSITIONS_SEED`
//! chooses the cases by another number, `_SAMPLE=n` runs one of n, `_DEPTH` sets the number of nested calls, and
//! `_MAX_FAILURES` continues after more than forty failures. `HIVE_TEST_TIMEOUT=4` gives up on a case after 4 s, and
//! `HIVE_TEST_GDB` then shows where its threads are.

// As in tests/common/mod.rs.
#![allow(clippy::incompatible_msrv)]
#![cfg(target_os = "linux")]

mod common;
#[path = "compositions/mod.rs"]
mod compositions;

use std::env;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use compositions::case::{Case, Waiting};
use compositions::select::Rng;
use compositions::summary::Failure;
use compositions::surroundings::Surroundings;
use compositions::{driver, panic_hook, select, worker};

/// The number of nested calls, besides those that lead to the place, unless the environment says otherwise.
const DEPTH: usize = 2;

/// How many times more of the cases with something going on around them are run.
const SURROUNDED_FACTOR: u64 = 3;

/// How many cases one process runs if none fails.
const CASES_A_PROCESS: usize = 500;

/// After so many seconds no more processes are begun, unless the cases are to be run to their end. On a quiet machine
/// all cases take less; beside busy programs each may take a few time slices.
const SECONDS: u64 = 200;

/// How often a case that failed is run again, by itself.
const RETRIES: usize = 3;

/// After this many failures no more cases are begun.
const MAX_FAILURES: usize = 40;

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// The number by which cases are chosen. By default it is always the same, because a test that fails in one run and not
/// in the next is of no use as a gate.
fn seed() -> u64 {
    if env::var("HIVE_COMPOSITIONS_SEED").is_ok_and(|asked| asked == "now") {
        return SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64;
    }
    number("HIVE_COMPOSITIONS_SEED").unwrap_or(1)
}

/// Which cases the environment asks for.
enum Asked {
    All,
    /// One of this many cases.
    Some(u64),
    /// The cases with these names, or whose names contain this.
    Named(Vec<String>),
}

impl Asked {
    fn read() -> Self {
        match env::var("HIVE_COMPOSITIONS") {
            Err(_) => Self::Some(number("HIVE_COMPOSITIONS_SAMPLE").unwrap_or(10)),
            Ok(all) if all == "all" => Self::All,
            Ok(names) => Self::Named(names.split_whitespace().map(ToOwned::to_owned).collect()),
        }
    }

    /// Whether all of these cases are to be run, however long that takes: if somebody asks for them, or for stress.
    fn is_to_end(&self) -> bool {
        !matches!(self, Self::Some(_)) || env::var_os("HIVE_COMPOSITIONS_SAMPLE").is_some() || common::is_stress()
    }

    /// The names of the cases, in lists of those whose bees wait in the same way. Each list has some of all kinds, and
    /// the first ones have some of each way to wait.
    fn lists(&self, depth: usize, seed: u64) -> Vec<Vec<String>> {
        let mut lists: Vec<(Waiting, Vec<String>)> = Waiting::all().map(|waiting| (waiting, Vec::new())).collect();
        let mut put = |case: &Case| {
            let list = lists.iter_mut().find(|(waiting, _)| *waiting == case.waiting);
            list.expect("there is one for each").1.push(case.to_string());
        };
        let names = if let Self::Named(names) = self { &names[..] } else { &[] };
        let (whole, parts): (Vec<_>, Vec<_>) =
            names.iter().map(|name| (name, name.parse::<Case>())).partition(|(_, case)| case.is_ok());
        whole.into_iter().filter_map(|(_, case)| case.ok()).for_each(|case| put(&case));
        let mut chance = Rng(seed ^ 0x5eed);
        if !matches!(self, Self::Named(_)) || !parts.is_empty() {
            select::all(depth, seed, &mut |case| {
                let is_taken = match self {
                    Self::All => true,
                    // What goes on around a case differs from run to run, so more of these cases are taken.
                    Self::Some(of) if case.surroundings != Surroundings::Quiet => {
                        chance.next().is_multiple_of((of / SURROUNDED_FACTOR).max(1))
                    }
                    Self::Some(of) => chance.next().is_multiple_of(*of),
                    Self::Named(_) => parts.iter().any(|(part, _)| case.to_string().contains(*part)),
                };
                if is_taken {
                    put(&case);
                }
            });
        }
        let cut = |names: &[String]| {
            let count = names.len().div_ceil(CASES_A_PROCESS);
            let list = |first| names.iter().skip(first).step_by(count).cloned().collect::<Vec<_>>();
            (0..count).map(list).enumerate().collect::<Vec<_>>()
        };
        let mut lists: Vec<_> = lists.iter().flat_map(|(_, names)| cut(names)).collect();
        lists.sort_by_key(|(number, _)| *number);
        lists.into_iter().map(|(_, list)| list).collect()
    }
}

#[test]
fn every_nest_ends_well() {
    if env::var_os(driver::CHILD_VARIABLE).is_some() {
        worker::run();
    }
    let seed = seed();
    let depth = number("HIVE_COMPOSITIONS_DEPTH").map_or(DEPTH, |depth| depth as usize);
    let enough = number("HIVE_COMPOSITIONS_MAX_FAILURES").map_or(MAX_FAILURES, |most| most as usize);
    let (asked, begin, mut cases) = (Asked::read(), Instant::now(), 0);
    let lists = asked.lists(depth, seed);
    println!("{} cases, by HIVE_COMPOSITIONS_SEED={seed}", lists.iter().map(Vec::len).sum::<usize>());
    let is_in_time = |_: &_| asked.is_to_end() || begin.elapsed() < Duration::from_secs(SECONDS);
    let lists = lists.into_iter().take_while(is_in_time).inspect(|list| cases += list.len());
    let summary = driver::run("every_nest_ends_well", lists, enough);
    println!("{summary}");
    // The rules cannot always tell what other threads of a case do at the same time. Such a case may end differently
    // now and then, but not twice; a fault of hive's appears again. A process that dies has a fault in any case.
    let again = summary.failures.iter().map(|failure| vec![failure.case.clone(); RETRIES]);
    if !summary.failures.is_empty() {
        let second = driver::run("every_nest_ends_well", again, enough);
        println!("those that failed, {RETRIES} times more: {second}");
        let times = |case: &str| second.failures.iter().filter(|failed| failed.case == case).count();
        let is_firm = |failure: &&Failure| failure.is_firm || times(&failure.case) == RETRIES;
        let firm: Vec<_> = summary.failures.iter().filter(is_firm).map(|failure| &failure.case).collect();
        assert!(firm.is_empty(), "{firm:?}: see above; HIVE_COMPOSITIONS=NAME runs one case");
        assert!(summary.failures.len() < enough, "too many cases to be run again");
    }
    assert!(cases > 0 && summary.cases() == cases, "{} of {cases} cases were run", summary.cases());
}

#[test]
fn names_are_read_back() {
    let mut cases = 0;
    select::all(2, 1, &mut |case| {
        let name = case.to_string();
        assert_eq!(name.parse::<Case>(), Ok(case), "{name}");
        cases += 1;
    });
    assert!(cases > 20_000, "{cases}");
    let unknown = "outside/a2.install/c1.team".parse::<Case>().unwrap_err();
    assert!(unknown.contains("a hive is a, b or new"), "{unknown}");
    let other_size = "outside/a2.install/a3.team".parse::<Case>().unwrap_err();
    assert!(other_size.contains("of 2 before"), "{other_size}");
}

#[test]
fn every_text_that_a_case_may_end_with_is_in_the_documentation() {
    let page = include_str!("../docs/composition.md");
    for text in panic_hook::DOCUMENTED {
        assert!(page.contains(text), "{text:?} is not in docs/composition.md");
    }
}
