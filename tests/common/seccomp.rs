//! A kernel that refuses system calls, as sandboxes make it: seccomp filters.

#![allow(unsafe_code, reason = "C calls")]

use std::io::Error;

/// Has the kernel refuse these system calls of the calling thread, and of those that it makes from now on, with
/// "operation not permitted". False: this kernel takes no such filter, as the line says that is printed.
pub(crate) fn deny_syscalls(calls: &[libc::c_long]) -> bool {
    const DENY: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let instruction = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let number = 0;
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, number)];
    for (index, &call) in calls.iter().enumerate() {
        let others = calls.len() - 1 - index;
        // Past the others, and past the permission.
        program.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, others as u8 + 1, call as u32));
    }
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, DENY));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: it takes numbers, and sets a mark of the thread.
    let no_more_rights = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1_u64, 0_u64, 0_u64, 0_u64) };
    // SAFETY: the program is there for this call, and as long as said.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::c_ulong::from(libc::SECCOMP_MODE_FILTER), &raw const filter) };
    if (no_more_rights, set) == (0, 0) {
        return true;
    }
    println!("skipped: the kernel takes no filter: {}", Error::last_os_error());
    false
}
