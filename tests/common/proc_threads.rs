//! What Linux says under /proc about threads, and about a process's files.

use std::fs;

use super::{sys, wait_until};

/// The threads of this process.
pub(crate) fn own_tids() -> Vec<i32> {
    tids_in("/proc/self/task")
}

fn tids_in(directory: &str) -> Vec<i32> {
    let list = || {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut tids: Vec<_> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        tids.sort_unstable();
        tids
    };
    // A list may lack the thread that follows one which is just ending, so two have to agree.
    let mut tids = list();
    loop {
        let again = list();
        if again == tids {
            return tids;
        }
        tids = again;
    }
}

/// How many files of this name the process has open.
pub(crate) fn open_files(name: &str) -> usize {
    let files = fs::read_dir("/proc/self/fd").expect("the kernel lists them").flatten();
    files.filter(|file| fs::read_link(file.path()).is_ok_and(|target| target.ends_with(name))).count()
}

/// How many threads this process has.
pub(crate) fn count() -> usize {
    own_tids().len()
}

/// The threads of this process whose names begin with `prefix`.
pub(crate) fn named(prefix: &str) -> Vec<i32> {
    let name = |tid: &i32| fs::read_to_string(format!("/proc/self/task/{tid}/comm")).unwrap_or_default();
    own_tids().into_iter().filter(|tid| name(tid).starts_with(prefix)).collect()
}

/// Waits until all threads whose names begin with `prefix` have ended. A thread that has been joined is still listed
/// for a moment.
pub(crate) fn wait_until_ended(prefix: &str) {
    wait_until(|| named(prefix).is_empty());
}

/// The state of a thread of this process: R for running or waiting for a CPU, S for sleeping, and so on. None: the
/// thread has ended.
pub(crate) fn state(tid: i32) -> Option<char> {
    state_in(&format!("/proc/self/task/{tid}"))
}

fn state_in(directory: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("{directory}/stat")).ok()?;
    // The state follows the thread's name, which is in parentheses and may contain any character.
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

pub(crate) fn is_asleep(tid: i32) -> bool {
    state(tid) == Some('S')
}

/// Whether a thread is in the middle of writing to standard error.
pub(crate) fn is_writing_to_stderr(tid: i32) -> bool {
    let call = fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).unwrap_or_default();
    call.starts_with(&format!("{} 0x2 ", libc::SYS_write))
}

/// Waits until all these threads sleep, or have ended.
pub(crate) fn wait_until_asleep(tids: &[i32]) {
    wait_until(|| tids.iter().all(|&tid| state(tid).is_none_or(|state| state == 'S')));
}

/// A line of a thread's status by its name, such as `Cpus_allowed_list`.
pub(crate) fn status(tid: i32, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/self/task/{tid}/status")).expect("a living thread has a status");
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {field} in {text}")).trim().to_owned()
}

/// The CPUs that a thread may run on. The kernel keeps CPUs that are offline in a thread's mask, for when they come
/// back; they are left out here.
pub(crate) fn cpus(tid: i32) -> Vec<usize> {
    let allowed = parse_cpu_list(&status(tid, "Cpus_allowed_list"));
    let online = fs::read_to_string("/sys/devices/system/cpu/online");
    let Ok(online) = online.map(|text| parse_cpu_list(text.trim())) else { return allowed };
    allowed.into_iter().filter(|cpu| online.contains(cpu)).collect()
}

/// The CPUs that the calling thread may run on.
pub(crate) fn own_cpus() -> Vec<usize> {
    cpus(sys::tid())
}

/// The CPU that a thread runs on or ran on last.
pub(crate) fn last_cpu(tid: i32) -> usize {
    let stat = fs::read_to_string(format!("/proc/self/task/{tid}/stat")).expect("a living thread has a line");
    // The CPU is the 39th field. The second is the thread's name, which is in parentheses and may contain any
    // character.
    let after_name = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(36));
    after_name.and_then(|field| field.parse().ok()).unwrap_or_else(|| panic!("no CPU in {stat}"))
}

/// The numbers of a list such as "0-2,4".
pub(crate) fn parse_cpu_list(text: &str) -> Vec<usize> {
    let range = |entry: &str| {
        let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
        let number = |text: &str| text.parse::<usize>().expect("a CPU");
        number(first)..=number(last)
    };
    text.split(',').filter(|entry| !entry.is_empty()).flat_map(range).collect()
}

/// Whether a thread has `signal` blocked.
pub(crate) fn has_blocked(tid: i32, signal: i32) -> bool {
    let mask = u64::from_str_radix(&status(tid, "SigBlk"), 16).expect("a hexadecimal mask");
    mask & (1 << (signal - 1)) != 0
}

/// How often a thread has gone to sleep.
pub(crate) fn sleep_count(tid: i32) -> u64 {
    status(tid, "voluntary_ctxt_switches").parse().expect("a count")
}

/// The threads of a process, or of this one, with their names and states, for a person to read.
pub(crate) fn list(pid: Option<u32>) -> String {
    let process = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    let line = |tid: i32| {
        let directory = format!("/proc/{process}/task/{tid}");
        let name = fs::read_to_string(format!("{directory}/comm")).unwrap_or_default();
        format!("  {tid} {} {}\n", state_in(&directory).unwrap_or('?'), name.trim())
    };
    tids_in(&format!("/proc/{process}/task")).into_iter().map(line).collect()
}

/// A process and those that it has forked.
pub(crate) fn with_children(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    for tid in tids_in(&format!("/proc/{pid}/task")) {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")).unwrap_or_default();
        family.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    family
}
