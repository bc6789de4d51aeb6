//! The C calls that the tests need; all of their unsafe code.

#![allow(unsafe_code, reason = "C calls")]

use std::cell::{Cell, UnsafeCell};
use std::ffi::CString;
use std::io::{Error, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::time_limit;

/// A word that is not atomic, for what threads hand each other over: a race on it is for ThreadSanitizer to see.
#[derive(Default)]
pub(crate) struct UnsyncCell(UnsafeCell<u64>);

// SAFETY: the tests write and read it in turns that hive's barriers and regions order; whether they do is what is tested.
unsafe impl Sync for UnsyncCell {}

impl UnsyncCell {
    pub(crate) fn set(&self, value: u64) {
        // SAFETY: as above.
        unsafe { self.0.get().write(value) }
    }

    pub(crate) fn get(&self) -> u64 {
        // SAFETY: as above.
        unsafe { self.0.get().read() }
    }
}

/// The calling thread's number, as /proc has it.
pub(crate) fn tid() -> i32 {
    // SAFETY: it only returns a number.
    unsafe { libc::gettid() }
}

/// The CPU time that this process has used.
pub(crate) fn cpu_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call fills in the structure.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) };
    check(status);
    // SAFETY: filled in above.
    let time = unsafe { time.assume_init() };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[track_caller]
fn check(status: i32) {
    assert_eq!(status, 0, "{}", Error::last_os_error());
}

/// Ends a process that was started as the first of a group, and all others in that group.
pub(crate) fn kill_process_group(leader: u32) {
    // SAFETY: it only sends a signal. That there is no such group any more is as good.
    unsafe { libc::kill(-(leader as i32), libc::SIGKILL) };
}

/// Has the calling process end when the thread that has started it does.
pub(crate) fn end_with_parent() {
    // SAFETY: it takes numbers, and sets a mark of the process.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) });
}

/// Sends SIGALRM to one thread of this process.
pub(crate) fn send_sigalrm(tid: i32) {
    // SAFETY: it only sends a signal, which `ring` has given a handler.
    let status = unsafe { libc::syscall(libc::SYS_tgkill, std::process::id() as i32, tid, libc::SIGALRM) };
    check(status as i32);
}

/// A forked child.
pub(crate) struct Forked(i32);

/// Forks, and runs `part` in the child, which ends with it.
pub(crate) fn fork(part: impl FnOnce()) -> Forked {
    // SAFETY: the child runs Rust code although other threads of the parent may have held locks; glibc keeps its own usable, and that hive
    // does the same for what it promises is what is tested.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", Error::last_os_error()),
        0 => {
            let code = if catch_unwind(AssertUnwindSafe(part)).is_ok() { 0 } else { 1 };
            exit_now(code)
        }
        pid => Forked(pid),
    }
}

/// Who may make a PID namespace: whoever has the rights to, or who is given them by a user namespace of its own.
const NAMESPACES: [libc::c_int; 2] = [libc::CLONE_NEWPID, libc::CLONE_NEWPID | libc::CLONE_NEWUSER];

/// Has the children that this process makes from now on be in a new PID namespace, of which the first is number 1.
pub(crate) fn new_process_namespace() -> Result<(), Error> {
    // SAFETY: it takes a number.
    let made = NAMESPACES.into_iter().any(|flags| unsafe { libc::unshare(flags) } == 0);
    if made { Ok(()) } else { Err(Error::last_os_error()) }
}

/// Makes a child that is the first of a new PID namespace, and runs `part` in it. Not by the C library, which would run
/// its handlers.
pub(crate) fn clone_into_namespace(part: impl FnOnce()) -> Result<Forked, Error> {
    let nothing = null_mut::<libc::c_void>();
    for flags in NAMESPACES {
        let flags = libc::c_long::from(flags | libc::SIGCHLD);
        // SAFETY: without memory in common the child goes on with a copy of this stack, as after a fork. What the C
        // library does for a fork is left undone: `part` must not ask it for the thread's number.
        match unsafe { libc::syscall(libc::SYS_clone, flags, nothing, nothing, nothing, nothing) } {
            -1 => {}
            0 => exit_now(if catch_unwind(AssertUnwindSafe(part)).is_ok() { 0 } else { 1 }),
            pid => return Ok(Forked(pid as i32)),
        }
    }
    Err(Error::last_os_error())
}

/// Forks. None: this is the child, which goes on from here, and has to end by [`leave`].
pub(crate) fn fork_here() -> Option<Forked> {
    // SAFETY: as in `fork`.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", Error::last_os_error()),
        0 => None,
        pid => Some(Forked(pid)),
    }
}

/// Ends the process at once, as a forked child should.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process without its exit handlers, which are the parent's.
    unsafe { libc::_exit(code) }
}

impl Forked {
    /// Waits for the child's end, and returns its wait status. None: it hangs, and has been killed.
    pub(crate) fn outcome(self) -> Option<i32> {
        self.outcome_within(time_limit() / 20)
    }

    /// As [`outcome`](Self::outcome), of a child that sees such outcomes of children of its own.
    pub(crate) fn outcome_of_parent(self) -> Option<i32> {
        self.outcome_within(time_limit() / 10)
    }

    fn outcome_within(self, limit: Duration) -> Option<i32> {
        const STEP: Duration = Duration::from_micros(200);
        let (mut status, mut waited) = (0, Duration::ZERO);
        // In steps, as elsewhere: a machine that was halted has taken one.
        while waited < limit {
            // SAFETY: looks after a child of this process.
            match unsafe { libc::waitpid(self.0, &raw mut status, libc::WNOHANG) } {
                0 => thread::sleep(STEP),
                -1 => panic!("waitpid: {}", Error::last_os_error()),
                _ => return Some(status),
            }
            waited += STEP;
        }
        // SAFETY: it only sends a signal, to a child of this process.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        // SAFETY: waits for a child of this process.
        unsafe { libc::waitpid(self.0, &raw mut status, 0) };
        None
    }

    /// Waits for the child; it must have ended well.
    #[track_caller]
    pub(crate) fn join(self) {
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        while unsafe { libc::waitpid(self.0, &raw mut status, 0) } == -1 {
            let error = Error::last_os_error();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "waitpid: {error}");
        }
        assert_eq!(status, 0, "the forked child's wait status; its own words are above");
    }
}

/// Binds the calling thread to these CPUs.
pub(crate) fn bind(cpus: &[usize]) {
    // SAFETY: all zeros is the empty set.
    let mut set = unsafe { MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init() };
    for &cpu in cpus {
        // SAFETY: writes within the set; the C library ignores numbers beyond it.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the set is valid for this call, 0 is the calling thread.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) });
}

/// From now on standard error is a pipe whose reader has gone.
pub(crate) fn silence_stderr() {
    let (_, writer) = std::io::pipe().expect("a pipe");
    // SAFETY: it takes numbers; both are open.
    let status = unsafe { libc::dup2(writer.as_raw_fd(), libc::STDERR_FILENO) };
    assert_eq!(status, libc::STDERR_FILENO, "{}", Error::last_os_error());
}

/// Makes a named pipe.
pub(crate) fn make_fifo(path: &Path) {
    let name = CString::new(path.as_os_str().as_bytes()).expect("no NUL byte");
    // SAFETY: the name is a C string.
    check(unsafe { libc::mkfifo(name.as_ptr(), 0o600) });
}

/// From now on no huge pages come by themselves: one is on one node as a whole, and whether there is one depends on the address.
pub(crate) fn disable_huge_pages() {
    let (yes, nothing) = (1_u64, 0_u64);
    // SAFETY: it takes numbers, and sets a mark of the process.
    check(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, yes, nothing, nothing, nothing) });
}

/// Limits the process's address space.
pub(crate) fn limit_address_space(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid for this call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) });
}

/// Limits the memory that the process may write to, which no hive counts beforehand.
pub(crate) fn limit_data(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid for this call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) });
}

/// Makes so many mappings of memory, or one more.
pub(crate) fn make_mappings(count: usize) {
    const PAGE: usize = 4 << 10;
    let bytes = count * PAGE;
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: fresh memory, wherever there is room.
    let start = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_NONE, private, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED, "{}", Error::last_os_error());
    // Neighbours that may be read and that may not are mappings of their own.
    for page in (0..count).step_by(2) {
        // SAFETY: within what was mapped.
        check(unsafe { libc::mprotect(start.wrapping_byte_add(page * PAGE), PAGE, libc::PROT_READ) });
    }
}

/// Alarms that have come since [`ring`].
static ALARMS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn alarm_count() -> u64 {
    ALARMS.load(Ordering::Relaxed)
}

extern "C" fn on_alarm(_: i32) {
    ALARMS.fetch_add(1, Ordering::Relaxed);
}

/// SIGALRM to this process, over and over, with a handler that lets system calls be interrupted.
pub(crate) fn start_alarms(every: Duration) {
    // SAFETY: all zeros: an empty mask and no flags, SA_RESTART not among them.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = on_alarm as *const () as usize;
    // SAFETY: the handler is async-signal-safe: one atomic addition.
    check(unsafe { libc::sigaction(libc::SIGALRM, &raw const action, null_mut()) });
    set_timer(libc::ITIMER_REAL as _, every);
}

/// A profiler's signals that have come since [`profile`].
static PROFILE_SIGNALS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Those that have come to this thread.
    static THREAD_PROFILE_SIGNALS: Cell<u64> = const { Cell::new(0) };
}

pub(crate) fn profile_signals() -> u64 {
    PROFILE_SIGNALS.load(Ordering::Relaxed)
}

/// Those that have come to the calling thread.
pub(crate) fn profile_signals_here() -> u64 {
    THREAD_PROFILE_SIGNALS.get()
}

extern "C" fn on_profile(_: i32) {
    PROFILE_SIGNALS.fetch_add(1, Ordering::Relaxed);
    THREAD_PROFILE_SIGNALS.set(THREAD_PROFILE_SIGNALS.get() + 1);
}

/// SIGPROF to whichever thread uses CPU time, over and over, as a profiler asks for it, with a handler that lets system calls be interrupted.
pub(crate) fn start_profiling(every: Duration) {
    // SAFETY: all zeros: an empty mask and no flags, SA_RESTART not among them.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = on_profile as *const () as usize;
    // SAFETY: the handler is async-signal-safe: two additions, one of them to a word of the thread's that needs no making.
    check(unsafe { libc::sigaction(libc::SIGPROF, &raw const action, null_mut()) });
    set_timer(libc::ITIMER_PROF as _, every);
}

fn set_timer(timer: libc::c_int, every: Duration) {
    let interval =
        libc::timeval { tv_sec: every.as_secs() as libc::time_t, tv_usec: every.subsec_micros() as libc::suseconds_t };
    let value = libc::itimerval { it_interval: interval, it_value: interval };
    // SAFETY: the structure is valid for this call.
    check(unsafe { libc::setitimer(timer as _, &raw const value, null_mut()) });
}

/// Blocks a signal in the calling thread.
pub(crate) fn block_signal(signal: i32) {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: initialises the set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the set is initialised.
    check(unsafe { libc::sigaddset(set.as_mut_ptr(), signal) });
    // SAFETY: the set is initialised.
    check(unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), null_mut()) });
}

/// Has `work` be called when the process ends.
pub(crate) fn at_exit(work: fn()) {
    static HANDLER: OnceLock<fn()> = OnceLock::new();
    extern "C" fn call() {
        HANDLER.get().expect("it was set")();
    }
    HANDLER.set(work).expect("called once");
    // SAFETY: the function does not unwind: the process would end.
    check(unsafe { libc::atexit(call) });
}

/// Has `work` be called when the calling thread ends, after its thread-locals have gone.
pub(crate) fn at_thread_exit(work: fn()) {
    static HANDLER: OnceLock<fn()> = OnceLock::new();
    unsafe extern "C" fn call(_: *mut libc::c_void) {
        HANDLER.get().expect("it was set")();
    }
    HANDLER.set(work).expect("called once");
    let mut key = 0;
    // SAFETY: writes the key's number; the function does not unwind: the process would end.
    check(unsafe { libc::pthread_key_create(&raw mut key, Some(call)) });
    let something: *const u64 = &raw const NON_NULL;
    // SAFETY: the key is there. Nobody reads what is at the address.
    check(unsafe { libc::pthread_setspecific(key, something.cast()) });
}

static NON_NULL: u64 = 0;

/// From now on these system calls fail with EPERM, for all threads of this process or for the calling one only.
#[cfg(target_os = "linux")]
pub(crate) fn forbid_syscalls(calls: &[libc::c_long], all_threads: bool) {
    let step = |code: u32, jump: u8, value: u32| libc::sock_filter { code: code as u16, jt: jump, jf: 0, k: value };
    let steps = calls.len() as u8;
    // What is filtered begins with the call's number. One that is equal jumps over the others and what lets the rest
    // pass.
    let mut program = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    let compare = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    program.extend((1..).zip(calls).map(|(place, &call): (u8, _)| step(compare, steps - place + 1, call as u32)));
    program.push(step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    program.push(step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    let (yes, nothing) = (1_u64, 0_u64);
    // SAFETY: it takes numbers, and sets a mark of the thread.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, nothing, nothing, nothing) });
    let flags = if all_threads { libc::SECCOMP_FILTER_FLAG_TSYNC } else { 0 };
    // SAFETY: the program is as long as said, and valid for this call.
    check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter) } as i32);
}

/// Whether the kernel takes a heavy fence of the calling thread, whose process has registered for it.
#[cfg(target_os = "linux")]
pub(crate) fn has_membarrier() -> bool {
    let (flags, cpu) = (0_u32, 0_i32);
    // SAFETY: the call touches no memory of the caller's.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED, flags, cpu) == 0 }
}
