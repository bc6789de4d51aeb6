//! The functions of the C library by which hive asks something of the system, in a form that refuses when it is told
//! to.
//!
//! The linker takes a program's own function for the callers in the program, the standard library's and hive's among
//! them, where the C library has one of the same name. These here hand on to that one, unless a [`Fault`] is on.

#![allow(unsafe_code, reason = "C functions")]

use std::ffi::CStr;
use std::mem::transmute_copy;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    MakeThread,
    SetAffinity,
    GetAffinity,
    SignalMask,
}

/// How a call is counted, and which are refused.
struct Refusal {
    /// Calls since the fault began.
    calls: AtomicUsize,
    /// The first and the last that are refused, from 1. 0: none.
    first: AtomicUsize,
    last: AtomicUsize,
    /// With which error.
    errno: AtomicUsize,
}

impl Refusal {
    const fn off() -> Self {
        let [calls, first, last, errno] = [const { AtomicUsize::new(0) }; 4];
        Self { calls, first, last, errno }
    }
}

static REFUSALS: [Refusal; Call::SignalMask as usize + 1] = [const { Refusal::off() }; Call::SignalMask as usize + 1];

impl Call {
    fn refusal(self) -> &'static Refusal {
        &REFUSALS[self as usize]
    }

    /// The error of a call that is made now and is to be refused.
    fn next_errno(self) -> Option<i32> {
        let switch = self.refusal();
        let first = switch.first.load(Ordering::SeqCst);
        if first == 0 {
            return None;
        }
        let number = switch.calls.fetch_add(1, Ordering::SeqCst) + 1;
        (first..=switch.last.load(Ordering::SeqCst))
            .contains(&number)
            .then(|| switch.errno.load(Ordering::SeqCst) as i32)
    }
}

/// Calls are refused as long as this lives.
pub(crate) struct FaultGuard(Call);

impl FaultGuard {
    /// Has the calls with these numbers, from 1, fail with this error, on whichever thread.
    pub(crate) fn new(call: Call, numbers: RangeInclusive<usize>, errno: i32) -> Self {
        let switch = call.refusal();
        switch.calls.store(0, Ordering::SeqCst);
        switch.errno.store(errno as usize, Ordering::SeqCst);
        switch.last.store(*numbers.end(), Ordering::SeqCst);
        switch.first.store(*numbers.start(), Ordering::SeqCst);
        Self(call)
    }

    /// Whether a call has been refused.
    pub(crate) fn was_refused(&self) -> bool {
        let switch = self.0.refusal();
        switch.calls.load(Ordering::SeqCst) >= switch.first.load(Ordering::SeqCst)
    }
}

impl Drop for FaultGuard {
    fn drop(&mut self) {
        self.0.refusal().first.store(0, Ordering::SeqCst);
    }
}

/// The C library's own function of a name, as a function of type `F`.
///
/// # Safety
/// It is of that type.
unsafe fn real_function<F>(name: &CStr, found: &AtomicUsize) -> F {
    let mut address = found.load(Ordering::Relaxed);
    if address == 0 {
        // SAFETY: the name is a C string.
        address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }.addr();
        assert_ne!(address, 0, "the C library has no {name:?}");
        found.store(address, Ordering::Relaxed);
    }
    // SAFETY: the caller's promise; a function's address is as large as a number.
    unsafe { transmute_copy(&address) }
}

/// Defines a C function that hands on to the C library's own unless it is refused. `$refusal` makes the error the
/// function's result.
macro_rules! refusable {
    ($call:ident, $name:ident($($argument:ident: $type:ty),*), $refusal:expr) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> libc::c_int {
            static FOUND: AtomicUsize = AtomicUsize::new(0);
            if let Some(error) = Call::$call.next_errno() {
                let refuse: fn(i32) -> libc::c_int = $refusal;
                return refuse(error);
            }
            type Real = unsafe extern "C" fn($($type),*) -> libc::c_int;
            let name = c_name(concat!(stringify!($name), "\0"));
            // SAFETY: the C library's function is of the type that the `libc` crate declares, as is this one.
            let real: Real = unsafe { real_function(name, &FOUND) };
            // SAFETY: the caller's promise, whatever it is.
            unsafe { real($($argument),*) }
        }
    };
}

fn c_name(name: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(name.as_bytes()).expect("it ends with a NUL byte")
}

/// As POSIX has it of threads: the error is the result.
fn return_error(error: i32) -> libc::c_int {
    error
}

/// As of other calls: the error is in `errno`.
fn set_errno(error: i32) -> libc::c_int {
    // SAFETY: the address is valid on the calling thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(error) };
    -1
}

type Start = extern "C" fn(*mut libc::c_void) -> *mut libc::c_void;

refusable!(
    MakeThread,
    pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: Start,
        argument: *mut libc::c_void
    ),
    return_error
);
refusable!(
    SetAffinity,
    sched_setaffinity(pid: libc::pid_t, size: libc::size_t, mask: *const libc::cpu_set_t),
    set_errno
);
refusable!(GetAffinity, sched_getaffinity(pid: libc::pid_t, size: libc::size_t, mask: *mut libc::cpu_set_t), set_errno);
refusable!(
    SignalMask,
    pthread_sigmask(how: libc::c_int, mask: *const libc::sigset_t, before: *mut libc::sigset_t),
    return_error
);
