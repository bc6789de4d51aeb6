//! `hive-bench-mpi` as its users run it, by one process and by several on this machine, more of them than it has CPUs.
//! Nothing here looks at how long anything took.
#![cfg(feature = "mpi")]

use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

/// Ranks that wait for one another for ever are ended.
const SECONDS: &str = "120";

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_hive-bench-mpi");

/// Runs so many ranks; `None` where there is no mpirun.
fn mpirun(ranks: usize, options: &[&str], arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new("timeout");
    command.args([SECONDS, "mpirun", "-n", &ranks.to_string()]).args(options);
    command.arg(PROGRAM).args(arguments);
    // As variables, because only Open MPI has these options: more ranks than CPUs, and also where tests are root's.
    let variables = ["OMPI_MCA_rmaps_base_oversubscribe", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
    variables.iter().for_each(|name| {
        command.env(name, "1");
    });
    ["HIVE_NUM_BEES", "HIVE_PIN", "HIVE_PLACES", "HIVE_PROC_BIND", "HIVE_SPIN"].iter().for_each(|name| {
        command.env_remove(name);
    });
    // One at a time: each is several processes, which have two CPUs or so among them.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = command.output().expect("timeout starts");
    // What timeout says of a program that is not there.
    if output.status.code() == Some(127) {
        println!("skipped: there is no mpirun here");
        return None;
    }
    Some(output)
}

/// The lines that do not depend on who has which rows: the last sum's bits, and the checksum of the answer.
fn result(output: &Output) -> [String; 2] {
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(output), stderr(output));
    let text = stdout(output);
    ["last sum: ", "answer: "].map(|begin| {
        let line = text.lines().find(|line| line.starts_with(begin));
        line.unwrap_or_else(|| panic!("{begin:?} is missing: {text}")).to_owned()
    })
}

/// Any number of ranks, with hives of any size, come to what one process comes to.
fn come_to_the_same(arguments: &[&str]) {
    let alone = result(&Command::new(PROGRAM).args(arguments).args(["--bees", "1"]).output().expect("it starts"));
    for (ranks, bees) in [(1, "3"), (2, "1"), (2, "2"), (3, "1"), (4, "2")] {
        let Some(output) = mpirun(ranks, &[], &[arguments, &["--bees", bees, "--check"]].concat()) else { return };
        assert_eq!(result(&output), alone, "{ranks} ranks of {bees}");
        let text = stdout(&output);
        assert!(text.contains("have the same bits as in one process"), "{text}");
        let of_ranks = text.lines().filter(|line| line.starts_with("rank ")).count();
        assert_eq!(of_ranks, ranks, "{text}");
    }
}

#[test]
fn heat_steps_have_the_same_bits() {
    come_to_the_same(&["--side", "70", "--steps", "12"]);
}

#[test]
fn ranks_may_have_one_row_or_none() {
    come_to_the_same(&["--side", "3", "--steps", "5"]);
    come_to_the_same(&["--side", "40", "--steps", "5", "--blocks", "2"]);
    come_to_the_same(&["--side", "1", "--steps", "2"]);
}

#[test]
fn hives_keep_to_the_masks_that_mpirun_gives() {
    let Some(version) = mpirun(1, &["--version"], &[]) else { return };
    let allowed = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let several = allowed.lines().any(|line| line.starts_with("Cpus_allowed_list:") && line.contains(['-', ',']));
    if !stdout(&version).contains("Open MPI") || !several {
        println!("skipped: needs Open MPI and two CPUs");
        return;
    }
    let Some(output) = mpirun(2, &["--bind-to", "core"], &["--side", "20", "--steps", "2"]) else { return };
    result(&output);
    let text = stdout(&output);
    let of_hives: Vec<_> =
        text.lines().filter_map(|line| line.trim().strip_prefix("allowed CPUs:")).map(str::trim).collect();
    assert!(of_hives.len() == 2 && of_hives[0] != of_hives[1], "{text}");
    for (rank, cpus) in of_hives.iter().enumerate() {
        let begin = format!("rank {rank} of 2 on ");
        let line = text
            .lines()
            .find(|line| line.starts_with(&begin))
            .unwrap_or_else(|| panic!("no line of rank {rank}: {text}"));
        assert!(line.contains(&format!("CPUs {cpus};")), "{line}");
    }
}

#[test]
fn ranks_that_share_cpus_do_not_poll() {
    let Some(output) = mpirun(4, &[], &["--side", "20", "--steps", "2"]) else { return };
    result(&output);
    let text = stdout(&output);
    // Four ranks on more CPUs than three may have been bound to one each.
    let shared = text.lines().filter(|line| line.contains("which other ranks have as well")).count();
    let polls_not = text.lines().filter(|line| line.contains("polls for 0ns")).count();
    assert_eq!(shared, polls_not, "{text}");
}

/// All ranks end with this code, and the first one says why, once.
fn fails(ranks: usize, arguments: &[&str], code: i32, mentions: &[&str]) {
    let Some(output) = mpirun(ranks, &[], arguments) else { return };
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
    for mention in mentions {
        assert!(text.contains(mention), "{mention} is missing: {text}");
    }
}

#[test]
fn what_goes_wrong_is_reported_once() {
    fails(2, &["--bees", "0"], 2, &["rank 0: no such hive", "0 bees"]);
    // Two programs at once: the second rank's hive cannot be, the first one's can.
    let second = [":", "-n", "1", PROGRAM, "--bees", "0"];
    fails(1, &[&["--bees", "1"], &second[..]].concat(), 2, &["rank 1: no such hive"]);
}

#[test]
fn bad_usage_says_what_is_possible() {
    for (flag, wrong, right) in [("--side", "0", "1.."), ("--steps", "0", "1.."), ("--blocks", "65537", "65536")] {
        let output = Command::new(PROGRAM).args([flag, wrong]).output().expect("it starts");
        let text = stderr(&output);
        assert!(output.status.code() == Some(2) && text.contains(flag) && text.contains(right), "{text}");
    }
}
