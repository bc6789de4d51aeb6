//! How much is left of a thread's stack. A wait that runs tasks runs them on top of whatever waits, and a task that
//! waits as well has further tasks on top of it. Only the end of the stack would bound that, so each such wait asks
//! here first. The stack is the thread's, and so is what is known of it.

use std::cell::Cell;
#[cfg(any(target_os = "linux", target_os = "android", test))]
use std::ops::Range;
use std::time::{Duration, Instant};

/// One part in so many of the stack is not for waits, but for what the last task does that a wait has run.
const PARTS: usize = 4;

/// What is taken for the size of a stack that nothing is known of: threads have at least as much by default, wherever
/// this runs.
const USUAL_SIZE: usize = 512 << 10;

/// How long a wait without room lets others go on before it runs tasks all the same.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// How often that time is doubled at most.
const MAX_DOUBLINGS: u32 = 6;

// None of these has a destructor, so they are there until the thread has ended.
thread_local! {
    static ROOM: Cell<Room> = const { Cell::new(Room { start: 0, lowest: usize::MAX }) };
    /// How many tasks the thread is in that it has run although no room was left.
    static LATE_RUNS: Cell<u32> = const { Cell::new(0) };
    /// Since when yields have run nothing for lack of room.
    static VAIN_YIELDS_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The part of a thread's stack on which waits run tasks.
#[derive(Clone, Copy)]
struct Room {
    /// The lowest address of the stack; 0 if it is not known.
    start: usize,
    /// The lowest address at which a wait still runs tasks; `usize::MAX`: nobody has asked yet.
    lowest: usize,
}

impl Room {
    #[cfg(any(target_os = "linux", target_os = "android", test))]
    fn on(stack: &Range<usize>) -> Self {
        Self { start: stack.start, lowest: stack.start + stack.len() / PARTS }
    }

    /// A part of a stack that is said to be of this size, if the system does not say where it ends. Nobody has gone
    /// further up on it than `top`.
    fn below(top: usize, size: usize) -> Self {
        Self { start: 0, lowest: top.saturating_sub(size / PARTS * (PARTS - 1)) }
    }

    /// Whether a wait at this address may run tasks. Below the thread's own stack it may: then the code runs on a stack
    /// of the program's own, such as that of a coroutine, and nothing is known of its end. (For one that lies above,
    /// the first comparison says so.)
    fn is_left_at(self, here: usize) -> bool {
        here >= self.lowest || here < self.start
    }
}

/// Whether the calling function, which waits, may run a task.
#[inline(always)]
pub(crate) fn has_stack_room() -> bool {
    let here = address_on_stack();
    cfg!(miri) || here >= ROOM.get().lowest || is_left_at(here)
}

#[cold]
#[inline(never)]
fn is_left_at(here: usize) -> bool {
    if ROOM.get().lowest == usize::MAX {
        ROOM.set(callers_room(here));
    }
    ROOM.get().is_left_at(here)
}

/// Has a thread of hive's own, or of a pool, ask at once where its stack ends. `size`: that of the stack, if it is
/// known.
pub(crate) fn ask_for_end_of_stack(size: Option<usize>) {
    let here = address_on_stack();
    // It asks what `std` has asked as the thread began. (The first thread of a process, which `std` has not begun, may
    // call for a pool, too: there the C library reads a file.)
    ROOM.set(own_room().unwrap_or(Room::below(here, size.unwrap_or(USUAL_SIZE))));
}

/// Calls `run` for a wait without room that first had nothing to run at `since`, if that is long enough ago, and
/// returns what it returns; or else false.
///
/// The time is doubled with each task that the thread is in the middle of because of this. So at worst the stack is
/// used up very slowly.
pub(crate) fn run_late(since: Instant, run: impl FnOnce() -> bool) -> bool {
    let outer = LATE_RUNS.get();
    if since.elapsed() < FIRST_PAUSE * (1 << outer.min(MAX_DOUBLINGS)) {
        return false;
    }
    LATE_RUNS.set(outer + 1);
    let has_run = run();
    LATE_RUNS.set(outer);
    has_run
}

/// The same for a yield without room. It does not know what is waited for, so it counts from the first of these yields
/// on that has run nothing.
pub(crate) fn run_late_in_yield(run: impl FnOnce() -> bool) -> bool {
    let since = VAIN_YIELDS_SINCE.get().unwrap_or_else(Instant::now);
    // For yields in the task.
    VAIN_YIELDS_SINCE.set(None);
    let has_run = run_late(since, run);
    VAIN_YIELDS_SINCE.set(Some(since));
    has_run
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

/// The room on the stack of the calling thread, which is here.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[expect(unsafe_code, reason = "the system's interface is C's")]
fn callers_room(here: usize) -> Room {
    // The calls below are none that `std` makes.
    if crate::sys::sandbox::has_come() {
        return Room::below(here, USUAL_SIZE);
    }
    // SAFETY: the call has no preconditions.
    let process = unsafe { libc::getpid() };
    // SAFETY: nor has this one.
    let is_first = process == unsafe { libc::gettid() };
    // A child has been forked by some thread, which is its first one and has kept its stack.
    let first = if is_first { first_threads_stack().filter(|stack| stack.contains(&here)) } else { None };
    first.map(|stack| Room::on(&stack)).or_else(own_room).unwrap_or(Room::below(here, USUAL_SIZE))
}

/// What the C library knows of the calling thread's stack. For the first thread of the process, whose stack grows as it
/// is used, it would have to read a file.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[expect(unsafe_code, reason = "the system's interface is C's")]
fn own_room() -> Option<Room> {
    use std::mem::MaybeUninit;
    use std::ptr;

    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the call has no preconditions.
    let thread = unsafe { libc::pthread_self() };
    // SAFETY: the calling thread exists, and the pointer is valid. The call initialises the attributes if it succeeds.
    if unsafe { libc::pthread_getattr_np(thread, attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut start, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the attributes were initialised above, and the other two pointers are valid.
    unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size) };
    // SAFETY: they were initialised above, and are not used again.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    Some(Room::on(&(start.addr()..start.addr() + size)))
}

/// The stack of the first thread of the process: it grows down to its limit from where the kernel has put the name of
/// the program.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[expect(unsafe_code, reason = "the system's interface is C's")]
fn first_threads_stack() -> Option<Range<usize>> {
    // SAFETY: it reads what the kernel has handed to the process.
    let top = unsafe { libc::getauxval(libc::AT_EXECFN) } as usize;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is valid and writable during the call.
    let is_known = top != 0 && unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } == 0;
    let size = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX);
    is_known.then(|| top.saturating_sub(size)..top)
}

/// For other systems, which are not asked.
#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
fn callers_room(here: usize) -> Room {
    Room::below(here, USUAL_SIZE)
}

#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
fn own_room() -> Option<Room> {
    None
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// How many bytes of the calling thread's stack are in use when no room is left for the first time.
    #[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
    #[inline(never)]
    fn bytes_until_none_is_left(began: usize) -> usize {
        let frame = std::hint::black_box([0_u8; 500]);
        let end = if has_stack_room() { bytes_until_none_is_left(began) } else { began - address_on_stack() };
        std::hint::black_box(frame);
        end
    }

    #[test]
    #[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
    fn three_quarters_of_a_threads_stack_are_for_waits() {
        for size in [64 << 10, 1 << 20, 8 << 20] {
            let measure = || {
                let used = bytes_until_none_is_left(address_on_stack());
                let room = own_room().unwrap();
                (used, (room.lowest - room.start) * PARTS)
            };
            let (used, all) = thread::Builder::new().stack_size(size).spawn(measure).unwrap().join().unwrap();
            // The thread may have got a larger stack: one that another thread has left.
            assert!(all >= size && (all / 2..all * 7 / 8).contains(&used), "{used} of {all}");
        }
    }

    #[test]
    fn only_the_end_of_the_threads_own_stack_is_no_room() {
        let room = Room::on(&(0x10_0000..0x20_0000));
        let is_left = |at: &[usize]| at.iter().map(|&here| room.is_left_at(here)).collect::<Vec<_>>();
        assert_eq!(is_left(&[0x1f_ff00, 0x14_0000, 0x13_ffff, 0x10_0000]), [true, true, false, false]);
        // On the stack of a coroutine, which is mapped elsewhere.
        assert_eq!(is_left(&[0x0f_ff00, 0x100, 0x90_0000]), [true; 3]);
    }

    #[test]
    fn a_stack_of_unknown_place_ends_after_its_size() {
        for size in [64 << 10, 512 << 10] {
            let (top, quarter) = (0x80_0000, size / 4);
            let room = Room::below(top, size);
            let is_left = [0, 3 * quarter, 3 * quarter + 1, size, top].map(|used| room.is_left_at(top - used));
            assert_eq!(is_left, [true, true, false, false, false]);
        }
    }

    #[test]
    #[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
    #[expect(unsafe_code, reason = "forks")]
    fn the_first_thread_of_a_child_has_the_stack_of_the_thread_that_forked_it() {
        let status = thread::spawn(|| {
            // SAFETY: the child asks for its stack, and exits.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let (here, own) = (address_on_stack(), own_room().map(|room| room.start));
                let is_known = own == Some(callers_room(here).start);
                // SAFETY: `_exit` has no preconditions; it ends the child.
                unsafe { libc::_exit(i32::from(!is_known)) };
            }
            let mut status = 0;
            // SAFETY: `status` is a valid place for the result, and the child was made above.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status
        });
        assert_eq!(status.join().unwrap(), 0);
    }

    #[test]
    #[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
    fn the_first_threads_stack_is_where_the_kernel_says() {
        use crate::sys::kernel_file;

        let maps = kernel_file::text("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with("[stack]")).unwrap();
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16).unwrap());
        let stack = first_threads_stack().unwrap();
        assert!(stack.start <= start && (start..end).contains(&stack.end), "{stack:x?} and {line}");
    }
}
