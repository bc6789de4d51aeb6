//! The limits that Linux has on threads and their memory, as /proc and the control groups show them. `thread_limits.rs`
//! asks for them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::{env, io};

use crate::sys::cgroups::CgroupReader;
use crate::sys::kernel_file::{self, status_field, threads_in_loadavg};
use crate::sys::thread_limits::ThreadLimit;

/// Memory mappings that a thread takes: its stack and the stack of its signal handlers, each with a guard page, which
/// is a mapping of its own.
const MAPPINGS_PER_THREAD: u64 = 4;

/// Mappings that are left for what the threads allocate and for the rest of the program.
const RESERVED_MAPPINGS: u64 = 512;

/// Address space that a thread takes besides its stack: guard pages, the stack of its signal handlers, its thread-local
/// variables.
const SPACE_BESIDE_STACK: u64 = 1 << 16;

/// Address space that is left for what the threads allocate and for the rest of the program.
const RESERVED_SPACE: u64 = 1 << 20;

/// The limits on memory, as far as they can be read, for `threads` threads with stacks of this size. If one of them is
/// exceeded, a thread that has been made ends the process.
pub(crate) fn memory_limits(threads: u64, stack: Option<usize>) -> Vec<ThreadLimit> {
    [mapping_limit(threads), address_space_limit(stack)].into_iter().flatten().collect()
}

/// A limit on the number of threads.
fn limit_on_threads(name: &str, max: u64, used: u64, remedy: &str) -> ThreadLimit {
    ThreadLimit { name: name.to_owned(), max, used, reserved: 0, per_thread: 1, remedy: remedy.to_owned() }
}

/// The limits on the number of threads, as far as they can be read. If one of them is exceeded, making a thread fails,
/// and the process does not end.
pub(crate) fn number_limits() -> Vec<ThreadLimit> {
    // kernel.pid_max is left out: it may be that of a namespace, whose threads nobody counts.
    [system_thread_limit(), user_thread_limit()].into_iter().flatten().chain(cgroup_limits()).collect()
}

/// The limit on memory mappings, for `threads` threads.
fn mapping_limit(threads: u64) -> Option<ThreadLimit> {
    let max = kernel_file::value("/proc/sys/vm/max_map_count")?;
    // Each mapping has a page at least. The pages of a process are soon read, and a small process has fewer than it may
    // have mappings; the mappings themselves have to be counted one by one.
    let needed = threads.saturating_mul(MAPPINGS_PER_THREAD).saturating_add(RESERVED_MAPPINGS);
    let pages = mapped_pages().filter(|pages| pages.saturating_add(needed) <= max);
    Some(ThreadLimit {
        name: "memory mappings of a process (vm.max_map_count)".to_owned(),
        max,
        used: pages.or_else(|| count_lines("/proc/self/maps").ok())?,
        reserved: RESERVED_MAPPINGS,
        per_thread: MAPPINGS_PER_THREAD,
        remedy: "have the administrator raise it (sysctl -w vm.max_map_count=...)".to_owned(),
    })
}

/// The number of pages in the mappings of this process.
fn mapped_pages() -> Option<u64> {
    kernel_file::line("/proc/self/statm")?.split_whitespace().next()?.parse().ok()
}

/// The limit on address space. Threads that others are about to make are taken to have stacks of the same size, because
/// their size is not known here.
fn address_space_limit(stack: Option<usize>) -> Option<ThreadLimit> {
    let max = soft_limit(libc::RLIMIT_AS)?;
    let status = kernel_file::text("/proc/self/status")?;
    let kilobytes: u64 = status_field(&status, "VmSize")?.strip_suffix("kB")?.trim().parse().ok()?;
    let stack = stack.unwrap_or_else(default_stack_size) as u64;
    Some(ThreadLimit {
        name: "bytes of address space (ulimit -v)".to_owned(),
        max,
        used: kilobytes << 10,
        reserved: RESERVED_SPACE,
        per_thread: stack.saturating_add(SPACE_BESIDE_STACK),
        remedy: "a smaller stack_size, or raise it (ulimit -v)".to_owned(),
    })
}

/// The stack size that the standard library gives a thread by default.
fn default_stack_size() -> usize {
    env::var("RUST_MIN_STACK").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(2 << 20)
}

/// The limit on the threads of the whole system.
fn system_thread_limit() -> Option<ThreadLimit> {
    let max = kernel_file::value("/proc/sys/kernel/threads-max")?;
    let (_, used) = threads_in_loadavg(&kernel_file::line("/proc/loadavg")?)?;
    let remedy = "have the administrator raise it (sysctl -w kernel.threads-max=...)";
    Some(limit_on_threads("threads of the system (kernel.threads-max)", max, used, remedy))
}

/// The limit on the threads of a user. Only this process's threads are counted as in use. If other processes of the
/// user leave too little room, making a thread fails, and the system reports that.
fn user_thread_limit() -> Option<ThreadLimit> {
    let max = soft_limit(libc::RLIMIT_NPROC)?;
    let status = kernel_file::text("/proc/self/status")?;
    if is_exempt(&status)? {
        return None;
    }
    let used = status_field(&status, "Threads")?.parse().ok()?;
    Some(limit_on_threads("threads of the user (ulimit -u)", max, used, "raise it (ulimit -u)"))
}

/// Whether the limit on a user's threads does not apply: it does not to the superuser, nor with CAP_SYS_ADMIN or
/// CAP_SYS_RESOURCE.
fn is_exempt(status: &str) -> Option<bool> {
    const EXEMPT: u64 = 1 << 21 | 1 << 24;
    let capabilities = u64::from_str_radix(status_field(status, "CapEff")?, 16).ok()?;
    let user = status_field(status, "Uid")?.split_whitespace().next()?;
    Some(user == "0" || capabilities & EXEMPT != 0)
}

/// The soft limit on a resource, whose number has a different type in each C library. None: there is no limit.
#[expect(unsafe_code, reason = "getrlimit fills in a C structure")]
#[allow(clippy::unnecessary_cast, reason = "on machines of 32 bits a limit has as many")]
fn soft_limit(resource: impl Into<i64>) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is valid and writable during the call.
    let failed = unsafe { libc::getrlimit(resource.into() as _, &raw mut limit) } != 0;
    (!failed && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64)
}

/// The limits of the process's control groups and of the groups above them.
fn cgroup_limits() -> Vec<ThreadLimit> {
    let mut reader = CgroupReader { read_file: &|path| kernel_file::read(path), warnings: Vec::new() };
    reader.directories("pids", "pids.max").iter().filter_map(|(_, directory)| cgroup_limit(directory)).collect()
}

/// The limit of one control group. None: the group has no limit (its file says "max").
fn cgroup_limit(directory: &Path) -> Option<ThreadLimit> {
    let file = directory.join("pids.max");
    let (max, used) = (kernel_file::value(&file)?, kernel_file::value(directory.join("pids.current"))?);
    let remedy = "raise it (as of a container: docker run --pids-limit, TasksMax of systemd)";
    Some(limit_on_threads(&format!("threads of the control group ({})", file.display()), max, used, remedy))
}

/// The number of lines of a file. It is read piece by piece, because it may have tens of thousands of lines.
fn count_lines(file: &str) -> io::Result<u64> {
    let (mut file, mut lines) = (BufReader::with_capacity(1 << 14, File::open(file)?), 0);
    while file.skip_until(b'\n')? > 0 {
        lines += 1;
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        let status =
            |user: &str, capabilities: &str| format!("Name:\tx\nUid:\t{user}\t0\t0\t0\nCapEff:\t{capabilities}\n");
        assert_eq!(is_exempt(&status("0", "0000000000000000")), Some(true));
        assert_eq!(is_exempt(&status("1000", "0000000000000000")), Some(false));
        assert_eq!(is_exempt(&status("1000", "0000000001000000")), Some(true));
        assert_eq!(is_exempt("Name:\tx\n"), None);
    }

    #[test]
    fn this_process_is_within_its_limits() {
        let found: Vec<_> = memory_limits(1, None).into_iter().chain(number_limits()).collect();
        assert!(found.iter().any(|limit| limit.per_thread == MAPPINGS_PER_THREAD), "{found:?}");
        assert!(found.iter().all(|limit| limit.used > 0 && limit.used <= limit.max), "{found:?}");
    }

    #[test]
    fn mappings_are_counted_where_the_pages_leave_room_in_doubt() {
        let (pages, mappings) = (mapped_pages().unwrap(), count_lines("/proc/self/maps").unwrap());
        assert!(mappings <= pages, "{mappings} mappings of {pages} pages");
        let many = mapping_limit(u64::MAX).unwrap();
        // Other tests make mappings meanwhile.
        assert!(many.used.abs_diff(mappings) < pages - mappings, "{many:?}: of {mappings}, not of {pages}");
    }
}
