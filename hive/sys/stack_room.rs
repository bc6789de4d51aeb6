//! How much is left of a thread's stack. A wait that runs tasks runs them on top of whatever waits, and a task that
//! waits as well has further tasks on top of it. Only the end of the stack would bound that, so each such wait asks
//! here first.

use std::cell::Cell;
use std::ops::Range;

/// One part in so many of the stack is not for waits, but for what the last task does that a wait has run.
const PARTS: usize = 4;

/// As long as a thread has gone no further than so many bytes from where it began to run tasks, it does not ask where
/// its stack ends.
const UNQUESTIONED: usize = 16 << 10;

/// The room on the stack of the thread that has made this.
pub(crate) struct StackRoom {
    /// The lowest address at which a wait still runs tasks.
    lowest: Cell<usize>,
    /// Whether `lowest` follows from where the stack ends, and not just from where the thread began.
    is_exact: Cell<bool>,
}

impl StackRoom {
    /// For a thread that begins to run tasks here.
    #[inline]
    pub(crate) fn new() -> Self {
        Self { lowest: Cell::new(address_on_stack().saturating_sub(UNQUESTIONED)), is_exact: Cell::new(false) }
    }

    /// Whether the calling function, which waits, may run a task.
    #[inline(always)]
    pub(crate) fn is_left(&self) -> bool {
        let here = address_on_stack();
        here >= self.lowest.get() || self.is_left_at(here)
    }

    #[cold]
    #[inline(never)]
    fn is_left_at(&self, here: usize) -> bool {
        self.ask();
        here >= self.lowest.get()
    }

    /// Asks where the stack ends, unless that has been done.
    pub(crate) fn ask(&self) {
        if self.is_exact.replace(true) {
            return;
        }
        let stack = callers_stack(self.lowest.get() + UNQUESTIONED);
        // On a stack of the program's own, such as that of a coroutine, nothing is known of its end.
        let is_known = stack.contains(&address_on_stack());
        self.lowest.set(if is_known { stack.start + stack.len() / PARTS } else { 0 });
    }
}

/// An address in the frame of the calling function.
///
/// It is asked of the processor, because a local variable may lie elsewhere: under the address sanitizer, for one.
#[inline(always)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "std has no safe name for this register")]
fn address_on_stack() -> usize {
    let here;
    // SAFETY: it copies one register to another.
    unsafe { std::arch::asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags)) };
    here
}

/// The same for other processors.
#[inline(always)]
#[cfg(any(not(target_arch = "x86_64"), miri))]
fn address_on_stack() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

/// The stack of the calling thread, which began to run tasks at `began`. Of the stack of the process's first thread,
/// which grows as it is used, the C library would learn from a file.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(unsafe_code, reason = "the system's interface is C's")]
fn callers_stack(began: usize) -> Range<usize> {
    use std::mem::MaybeUninit;
    use std::ptr;

    // SAFETY: the call has no preconditions.
    let process = unsafe { libc::getpid() };
    // SAFETY: nor has this one.
    if process == unsafe { libc::gettid() } {
        return first_threads_stack(began);
    }
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the call has no preconditions.
    let thread = unsafe { libc::pthread_self() };
    // SAFETY: the calling thread exists, and the pointer is valid. The call initialises the attributes if it succeeds.
    if unsafe { libc::pthread_getattr_np(thread, attributes.as_mut_ptr()) } != 0 {
        return stack_of_unknown_size(began);
    }
    let (mut start, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes were initialised above, and the other two pointers are valid.
    unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size) };
    // SAFETY: they were initialised above, and are not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    start.addr()..start.addr() + size
}

/// The stack of the first thread of the process: it grows down to its limit from where the kernel has put the name of
/// the program.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(unsafe_code, reason = "the system's interface is C's")]
fn first_threads_stack(began: usize) -> Range<usize> {
    use std::mem::MaybeUninit;

    // SAFETY: it reads what the kernel has handed to the process.
    let top = unsafe { libc::getauxval(libc::AT_EXECFN) } as usize;
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the pointer is valid, and the call initialises what is there if it succeeds.
    if top == 0 || unsafe { libc::getrlimit(libc::RLIMIT_STACK, limit.as_mut_ptr()) } != 0 {
        return stack_of_unknown_size(began);
    }
    // SAFETY: the call has succeeded.
    let limit = unsafe { limit.assume_init() }.rlim_cur;
    top.saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX))..top
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn callers_stack(began: usize) -> Range<usize> {
    stack_of_unknown_size(began)
}

/// What is taken for the stack of a thread that has gone as far as `began` where the system does not say how large it
/// is: threads have at least as much by default, wherever this runs.
fn stack_of_unknown_size(began: usize) -> Range<usize> {
    const USUAL_SIZE: usize = 512 << 10;
    began.saturating_sub(USUAL_SIZE)..began
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// How many bytes of the calling thread's stack are in use when no room is left for the first time.
    #[inline(never)]
    fn bytes_until_none_is_left(room: &StackRoom, began: usize) -> usize {
        let frame = std::hint::black_box([0_u8; 500]);
        let end = if room.is_left() { bytes_until_none_is_left(room, began) } else { began - address_on_stack() };
        std::hint::black_box(frame);
        end
    }

    #[test]
    fn three_quarters_of_a_threads_stack_are_for_waits() {
        for size in [64 << 10, 1 << 20, 8 << 20] {
            let measure = || {
                let used = bytes_until_none_is_left(&StackRoom::new(), address_on_stack());
                (used, callers_stack(address_on_stack()).len())
            };
            let (used, all) = thread::Builder::new().stack_size(size).spawn(measure).unwrap().join().unwrap();
            // The thread may have got a larger stack: one that another thread has left.
            assert!(all >= size && (all / 2..all * 7 / 8).contains(&used), "{used} of {all}");
        }
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn the_first_threads_stack_is_where_the_kernel_says() {
        use crate::sys::kernel_file;

        let maps = kernel_file::text("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with("[stack]")).unwrap();
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16).unwrap());
        let stack = first_threads_stack(0);
        assert!(stack.start <= start && (start..end).contains(&stack.end), "{stack:x?} and {line}");
    }
}
