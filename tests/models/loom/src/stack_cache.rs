//! Stacks that are used again. loom gives each thread of each execution a new one, and there are millions: to map, guard, fault in and unmap them took a third
//! of the time. What the checker calls of the system for a stack comes here, in the place of the C library's functions of these names, which other
//! libraries go on calling; the system gets all but what is known here.

use std::ffi::{c_int, c_long, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One that is mapped. The lowest of its pages may be its guard.
struct Stack {
    begin: usize,
    len: usize,
    is_free: bool,
    is_guarded: bool,
}

/// A few: as many as an execution has threads.
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
        // SAFETY: what the caller asks for.
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
    // SAFETY: what the caller asks for.
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
    // SAFETY: what the caller asks for.
    let done: c_long = unsafe { libc::syscall(libc::SYS_munmap, address, len) };
    done as c_int
}
