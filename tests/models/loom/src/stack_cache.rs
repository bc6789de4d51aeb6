//! Reuses the stacks of loom's threads. loom gives each thread of each execution a new stack, and there are millions of
//! executions: mapping, guarding, faulting in and unmapping the stacks took a third of the time.
//!
//! This file defines `mmap`, `mprotect` and `munmap` in the place of the C library's functions. Calls that concern a
//! stack are answered from a list; all others go to the system. Other libraries go on calling the C library's
//! functions.

use std::ffi::{c_int, c_long, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mapped stack. Its lowest page may be a guard page.
struct Stack {
    begin: usize,
    len: usize,
    is_free: bool,
    is_guarded: bool,
}

/// All stacks so far: as many as an execution has threads.
static STACKS: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

fn stacks() -> MutexGuard<'static, Vec<Stack>> {
    STACKS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(unsafe_code, reason = "a function of the C library")]
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    address: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    let map = || {
        // SAFETY: the caller's own duty: this passes its arguments on.
        let mapped = unsafe { libc::syscall(libc::SYS_mmap, address, len, protection, flags, file, offset) };
        mapped as *mut c_void
    };
    if flags & libc::MAP_STACK == 0 {
        return map();
    }
    let mut stacks = stacks();
    if let Some(stack) = stacks.iter_mut().find(|stack| stack.is_free && stack.len == len) {
        stack.is_free = false;
        return stack.begin as *mut c_void;
    }
    let mapped = map();
    if mapped != libc::MAP_FAILED {
        stacks.push(Stack { begin: mapped as usize, len, is_free: false, is_guarded: false });
    }
    mapped
}

#[expect(unsafe_code, reason = "a function of the C library")]
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(address: *mut c_void, len: usize, protection: c_int) -> c_int {
    if protection == libc::PROT_NONE
        && let Some(stack) = stacks().iter_mut().find(|stack| stack.begin == address as usize)
        && std::mem::replace(&mut stack.is_guarded, true)
    {
        return 0;
    }
    // SAFETY: the caller's own duty: this passes its arguments on.
    let done: c_long = unsafe { libc::syscall(libc::SYS_mprotect, address, len, protection) };
    done as c_int
}

#[expect(unsafe_code, reason = "a function of the C library")]
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, len: usize) -> c_int {
    if let Some(stack) = stacks().iter_mut().find(|stack| stack.begin == address as usize && stack.len == len) {
        stack.is_free = true;
        return 0;
    }
    // SAFETY: the caller's own duty: this passes its arguments on.
    let done: c_long = unsafe { libc::syscall(libc::SYS_munmap, address, len) };
    done as c_int
}
