//! Seccomp filters, by which the kernel refuses system calls as in a sandbox.

#![allow(unsafe_code, reason = "C calls")]

use std::hint::black_box;
use std::io::Error;
use std::sync::Barrier;
use std::thread;

const DENY: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// No flags: the filter is that of the calling thread, and of those that it starts.
const OF_CALLING_THREAD: libc::c_ulong = 0;

/// Makes the kernel refuse these system calls of the calling thread, and of the threads that it starts from now on,
/// with "operation not permitted". Returns false and prints the reason if this kernel does not accept the filter.
pub(crate) fn deny_syscalls(calls: &[libc::c_long]) -> bool {
    set_filter(calls, DENY, libc::SECCOMP_RET_ALLOW, OF_CALLING_THREAD)
}

/// The same for all threads of the process.
pub(crate) fn deny_syscalls_of_all_threads(calls: &[libc::c_long]) -> bool {
    set_filter(calls, DENY, libc::SECCOMP_RET_ALLOW, libc::SECCOMP_FILTER_FLAG_TSYNC)
}

/// Makes the kernel kill the process if the calling thread makes one of these system calls from now on. The result is
/// that of [`deny_syscalls`].
pub(crate) fn die_of_syscalls(calls: &[libc::c_long]) -> bool {
    set_filter(calls, libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_ALLOW, OF_CALLING_THREAD)
}

/// Makes the kernel kill the process if one of its threads makes another system call than these from now on. The result
/// is that of [`deny_syscalls`].
pub(crate) fn die_of_all_syscalls_but(calls: &[libc::c_long]) -> bool {
    // The allocator of glibc reads a file, once, when it makes its ninth arena. Each thread here has one.
    let all = Barrier::new(16);
    thread::scope(|scope| {
        (0..16).for_each(|_| {
            scope.spawn(|| {
                let memory = black_box(vec![1_u8; 100]);
                all.wait();
                drop(memory);
            });
        });
    });
    set_filter(calls, libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_FILTER_FLAG_TSYNC)
}

/// What a program on Rust's standard library may have to do at any time: wait, allocate, start and end threads, write
/// to standard error, and end. `docs/sleep.md` lists these calls.
pub(crate) const CALLS_OF_STD: [libc::c_long; 24] = [
    // Waiting.
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_restart_syscall,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Threads: their start and their end.
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_prctl,
    libc::SYS_gettid,
    libc::SYS_sched_getaffinity,
    libc::SYS_exit,
    // The program's output and its end.
    libc::SYS_write,
    libc::SYS_exit_group,
    libc::SYS_rt_sigreturn,
];

/// Sets a filter by which the kernel does `action` at each of `calls`, and `otherwise` at all others.
fn set_filter(calls: &[libc::c_long], action: u32, otherwise: u32, flags: libc::c_ulong) -> bool {
    let instruction = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let number = 0;
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, number)];
    for (index, &call) in calls.iter().enumerate() {
        let others = calls.len() - 1 - index;
        // On a match, jump over the other comparisons and over the instruction for all other calls.
        program.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, others as u8 + 1, call as u32));
    }
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, otherwise));
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, action));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the call takes numbers and sets an attribute of the thread.
    let no_more_rights = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1_u64, 0_u64, 0_u64, 0_u64) };
    // SAFETY: the filter points to the program, which is valid for this call and as long as the filter says.
    let set = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter) };
    if (no_more_rights, set) == (0, 0) {
        return true;
    }
    println!("skipped: the kernel takes no filter: {}", Error::last_os_error());
    false
}
