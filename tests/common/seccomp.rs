//! Seccomp filters, by which the kernel refuses system calls as in a sandbox.

#![allow(unsafe_code, reason = "C calls")]

use std::io::Error;

/// Makes the kernel refuse these system calls of the calling thread, and of the threads that it starts from now on,
/// with "operation not permitted". Returns false and prints the reason if this kernel does not accept the filter.
pub(crate) fn deny_syscalls(calls: &[libc::c_long]) -> bool {
    const DENY: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let instruction = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let number = 0;
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, number)];
    for (index, &call) in calls.iter().enumerate() {
        let others = calls.len() - 1 - index;
        // On a match, jump over the other comparisons and over the instruction that permits the call.
        program.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, others as u8 + 1, call as u32));
    }
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, DENY));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the call takes numbers and sets an attribute of the thread.
    let no_more_rights = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1_u64, 0_u64, 0_u64, 0_u64) };
    // SAFETY: the filter points to the program, which is valid for this call and as long as the filter says.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::c_ulong::from(libc::SECCOMP_MODE_FILTER), &raw const filter) };
    if (no_more_rights, set) == (0, 0) {
        return true;
    }
    println!("skipped: the kernel takes no filter: {}", Error::last_os_error());
    false
}
