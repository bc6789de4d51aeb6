//! The limits that Linux has on threads and their memory, as /proc and the control groups show them.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::Limit;
use crate::topology::group_directories;

/// Mappings that a thread takes: its stack, and the stack of its signal handlers, each with a guard page, which is a
/// mapping of its own.
const MAPPINGS: u64 = 4;

/// Mappings that are left over for what the threads allocate, and for the rest of the program.
const LEFT_OVER: u64 = 512;

/// Address space that a thread takes beside its stack: guard pages, the stack of its signal handlers, its local variables.
const BESIDE_STACK: u64 = 1 << 16;

/// Address space that is left over for the same.
const SPACE_LEFT_OVER: u64 = 1 << 20;

/// All that can be read, for threads with such stacks.
pub(super) fn limits(stack: Option<usize>) -> Vec<Limit> {
    // Not kernel.pid_max: it may be that of a namespace, whose threads nobody counts, and is no fault past which a
    // process ends.
    let alone = [mappings(), address_space(stack), of_the_system(), of_the_user()];
    alone.into_iter().flatten().chain(of_groups()).collect()
}

/// Past this one a thread that has been made ends the process.
fn mappings() -> Option<Limit> {
    Some(Limit {
        name: "memory mappings of a process (vm.max_map_count)".to_owned(),
        most: number("/proc/sys/vm/max_map_count")?,
        used: lines("/proc/self/maps").ok()?,
        left_over: LEFT_OVER,
        each: MAPPINGS,
        remedy: "have the administrator raise it (sysctl -w vm.max_map_count=...)".to_owned(),
    })
}

/// Past this one as well. Others that make threads at the same time may have larger stacks; that is not known here.
fn address_space(stack: Option<usize>) -> Option<Limit> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes: u64 = field(&status, "VmSize")?.strip_suffix("kB")?.trim().parse().ok()?;
    let stack = stack.unwrap_or_else(standard_stack) as u64;
    Some(Limit {
        name: "bytes of address space (ulimit -v)".to_owned(),
        most: soft_limit(space_limit)?,
        used: kilobytes << 10,
        left_over: SPACE_LEFT_OVER,
        each: stack.saturating_add(BESIDE_STACK),
        remedy: "a smaller stack_size, or raise it (ulimit -v)".to_owned(),
    })
}

/// What the standard library gives a thread that is not told otherwise.
fn standard_stack() -> usize {
    env::var("RUST_MIN_STACK").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(2 << 20)
}

fn of_the_system() -> Option<Limit> {
    Some(Limit {
        name: "threads of the system (kernel.threads-max)".to_owned(),
        most: number("/proc/sys/kernel/threads-max")?,
        used: running(&fs::read_to_string("/proc/loadavg").ok()?)?,
        left_over: 0,
        each: 1,
        remedy: "have the administrator raise it (sysctl -w kernel.threads-max=...)".to_owned(),
    })
}

/// How many threads the system has, from a line such as `0.20 0.18 0.12 1/80 11206`.
fn running(text: &str) -> Option<u64> {
    text.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// The limit on a user's threads. Of those only the process's own are counted here: that there is no room for the
/// others is for the system to say.
fn of_the_user() -> Option<Limit> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    if may_exceed(&status)? {
        return None;
    }
    Some(Limit {
        name: "threads of the user (ulimit -u)".to_owned(),
        most: soft_limit(threads_limit)?,
        used: field(&status, "Threads")?.parse().ok()?,
        left_over: 0,
        each: 1,
        remedy: "raise it (ulimit -u)".to_owned(),
    })
}

/// Whether the limit on a user's threads does not hold: for the superuser, and with CAP_SYS_ADMIN or CAP_SYS_RESOURCE.
fn may_exceed(status: &str) -> Option<bool> {
    const EXEMPT: u64 = 1 << 21 | 1 << 24;
    let capabilities = u64::from_str_radix(field(status, "CapEff")?, 16).ok()?;
    let user = field(status, "Uid")?.split_whitespace().next()?;
    Some(user == "0" || capabilities & EXEMPT != 0)
}

fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

#[expect(unsafe_code, reason = "getrlimit fills in a C structure")]
fn threads_limit(limit: &mut libc::rlimit) -> libc::c_int {
    // SAFETY: the structure is valid for this call.
    unsafe { libc::getrlimit(libc::RLIMIT_NPROC, limit) }
}

#[expect(unsafe_code, reason = "getrlimit fills in a C structure")]
fn space_limit(limit: &mut libc::rlimit) -> libc::c_int {
    // SAFETY: the structure is valid for this call.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, limit) }
}

/// `get` is a call of `getrlimit`, whose first argument has another type in each C library. None: there is no limit.
fn soft_limit(get: impl FnOnce(&mut libc::rlimit) -> libc::c_int) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let failed = get(&mut limit) != 0;
    (!failed && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Of the process's control groups, and of those above them.
fn of_groups() -> Vec<Limit> {
    group_directories("pids").iter().filter_map(|directory| of_group(directory)).collect()
}

/// None: the group has no limit, as "max" says.
fn of_group(directory: &Path) -> Option<Limit> {
    let file = directory.join("pids.max");
    Some(Limit {
        name: format!("threads of the control group ({})", file.display()),
        most: number(&file)?,
        used: number(directory.join("pids.current"))?,
        left_over: 0,
        each: 1,
        remedy: "raise it (as of a container: docker run --pids-limit, TasksMax of systemd)".to_owned(),
    })
}

fn number(file: impl AsRef<Path>) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Counted piece by piece: there may be tens of thousands.
fn lines(file: &str) -> io::Result<u64> {
    let (mut file, mut piece, mut lines) = (File::open(file)?, [0; 1 << 14], 0);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(lines);
        }
        lines += piece[..read].iter().filter(|&&byte| byte == b'\n').count() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        assert_eq!(running("0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(running(""), None);
        let status = |user: &str, capabilities: &str| format!("Name:\tx\nUid:\t{user}\t0\t0\t0\nCapEff:\t{capabilities}\n");
        assert_eq!(may_exceed(&status("0", "0000000000000000")), Some(true));
        assert_eq!(may_exceed(&status("1000", "0000000000000000")), Some(false));
        assert_eq!(may_exceed(&status("1000", "0000000001000000")), Some(true));
        assert_eq!(may_exceed("Name:\tx\n"), None);
    }

    #[test]
    fn this_process_is_within_its_limits() {
        let found = limits(None);
        assert!(found.iter().any(|limit| limit.each == MAPPINGS), "{found:?}");
        assert!(found.iter().all(|limit| limit.used > 0 && limit.used <= limit.most), "{found:?}");
    }
}
