//! The C calls that the tests need. All unsafe code of the tests is here.

#![allow(unsafe_code, reason = "C calls")]

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, CString};
use std::io::{Error, ErrorKind, PipeReader, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::time_limit;

/// A word that is not atomic, by which threads pass values to each other. ThreadSanitizer reports a race on it.
#[derive(Default)]
pub(crate) struct UnsyncCell(UnsafeCell<u64>);

// SAFETY: the tests write and read it in an order that hive's barriers and regions establish. Whether they do is what
// is tested.
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

/// The calling thread's number, as in /proc.
pub(crate) fn tid() -> i32 {
    // SAFETY: the call only returns a number.
    unsafe { libc::gettid() }
}

/// The CPU time that this process has used.
pub(crate) fn cpu_time() -> Duration {
    clock_time(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The CPU time that the calling thread has used.
pub(crate) fn thread_cpu_time() -> Duration {
    clock_time(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock_time(clock: libc::clockid_t) -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call fills in the structure, which is valid for writes.
    let status = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    check(status);
    // SAFETY: the call above has succeeded and so has filled in the structure.
    let time = unsafe { time.assume_init() };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[track_caller]
fn check(status: i32) {
    assert_eq!(status, 0, "{}", Error::last_os_error());
}

/// Kills a process that was started as the leader of a process group, and all other processes of that group.
pub(crate) fn kill_process_group(leader: u32) {
    // SAFETY: the call only sends a signal. An error is ignored, because the group may have ended already.
    unsafe { libc::kill(-(leader as i32), libc::SIGKILL) };
}

/// Makes the calling process end when the thread that started it ends.
pub(crate) fn end_with_parent() {
    // SAFETY: the call takes numbers and sets an attribute of the process.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) });
}

/// Checks what a call for a thread returned, which may have ended since its number was read: one that has been joined
/// is listed for a moment longer.
fn check_unless_ended(status: i32) {
    assert!(status == 0 || Error::last_os_error().raw_os_error() == Some(libc::ESRCH), "{}", Error::last_os_error());
}

/// Sends SIGALRM to one thread of this process.
pub(crate) fn send_sigalrm(tid: i32) {
    // SAFETY: the call only sends a signal, for which `start_alarms` has installed a handler.
    let status = unsafe { libc::syscall(libc::SYS_tgkill, std::process::id() as i32, tid, libc::SIGALRM) };
    check_unless_ended(status as i32);
}

/// A forked child.
pub(crate) struct Forked(i32);

/// Closes all files of the process from this number on.
pub(crate) fn close_files_from(first: u32) {
    let (last, flags) = (u32::MAX, 0);
    // SAFETY: the call takes numbers only. The test uses no file that it closes.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
}

/// Forks and runs `part` in the child, which then ends.
pub(crate) fn fork(part: impl FnOnce()) -> Forked {
    // SAFETY: the child runs Rust code although other threads of the parent may have held locks. glibc keeps its own
    // locks usable, and whether hive does the same, as it promises, is what is tested.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", Error::last_os_error()),
        0 => {
            let code = if catch_unwind(AssertUnwindSafe(part)).is_ok() { 0 } else { 1 };
            exit_now(code)
        }
        pid => Forked(pid),
    }
}

/// The flags to try for a PID namespace: alone, for a process that has the right to make one, and with a user
/// namespace, which gives that right.
const NAMESPACES: [libc::c_int; 2] = [libc::CLONE_NEWPID, libc::CLONE_NEWPID | libc::CLONE_NEWUSER];

/// Puts the children that this process makes from now on into a new PID namespace. The first of them has number 1
/// there.
pub(crate) fn new_process_namespace() -> Result<(), Error> {
    // SAFETY: the call takes a number.
    let made = NAMESPACES.into_iter().any(|flags| unsafe { libc::unshare(flags) } == 0);
    if made { Ok(()) } else { Err(Error::last_os_error()) }
}

/// Puts an empty file system, or a file, in the place of a directory or file, for the calling process, which has one
/// thread.
pub(crate) fn mount_over(place: &CStr, file: Option<&CStr>) -> Result<(), Error> {
    let flags = [libc::CLONE_NEWNS, libc::CLONE_NEWNS | libc::CLONE_NEWUSER];
    // SAFETY: the call takes a number.
    let made = flags.into_iter().any(|flags| unsafe { libc::unshare(flags) } == 0);
    let mount = |source: &CStr, place: &CStr, flags| {
        // SAFETY: the strings end in NUL and live until the call has returned; there is no data.
        unsafe { libc::mount(source.as_ptr(), place.as_ptr(), c"tmpfs".as_ptr(), flags, null()) == 0 }
    };
    // What is mounted afterwards stays in this namespace.
    let is_private = made && mount(c"none", c"/", libc::MS_REC | libc::MS_PRIVATE);
    let is_done =
        is_private && file.map_or_else(|| mount(c"tmpfs", place, 0), |file| mount(file, place, libc::MS_BIND));
    if is_done { Ok(()) } else { Err(Error::last_os_error()) }
}

/// Makes a child that is the first process of a new PID namespace, and runs `part` in it. This uses the system call
/// directly, because the C library would run its fork handlers.
pub(crate) fn clone_into_namespace(part: impl FnOnce()) -> Result<Forked, Error> {
    let nothing = null_mut::<libc::c_void>();
    for flags in NAMESPACES {
        let flags = libc::c_long::from(flags | libc::SIGCHLD);
        // SAFETY: without shared memory the child continues on a copy of this stack, as after a fork. What the C
        // library does for a fork is left out, so `part` must not ask it for the thread's number.
        match unsafe { libc::syscall(libc::SYS_clone, flags, nothing, nothing, nothing, nothing) } {
            -1 => {}
            0 => exit_now(if catch_unwind(AssertUnwindSafe(part)).is_ok() { 0 } else { 1 }),
            pid => return Ok(Forked(pid as i32)),
        }
    }
    Err(Error::last_os_error())
}

/// Forks. None: this is the child, which continues from here and must end by [`exit_now`].
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
    // SAFETY: the call ends the process without its exit handlers, which belong to the parent.
    unsafe { libc::_exit(code) }
}

impl Forked {
    /// Waits for the child's end and returns its wait status. None: the child hung and has been killed.
    pub(crate) fn outcome(self) -> Option<i32> {
        self.outcome_within(time_limit() / 20)
    }

    /// As [`outcome`](Self::outcome), for a child that itself calls `outcome` on children of its own and so needs more
    /// time.
    pub(crate) fn outcome_of_parent(self) -> Option<i32> {
        self.outcome_within(time_limit() / 10)
    }

    fn outcome_within(self, limit: Duration) -> Option<i32> {
        const STEP: Duration = Duration::from_micros(200);
        let (mut status, mut waited) = (0, Duration::ZERO);
        // The time is counted in steps, so that the time for which a virtual machine was halted does not count.
        while waited < limit {
            // SAFETY: the call waits for a child of this process.
            match unsafe { libc::waitpid(self.0, &raw mut status, libc::WNOHANG) } {
                0 => thread::sleep(STEP),
                -1 => panic!("waitpid: {}", Error::last_os_error()),
                _ => return Some(status),
            }
            waited += STEP;
        }
        // SAFETY: the call only sends a signal, to a child of this process.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        // SAFETY: the call waits for a child of this process.
        unsafe { libc::waitpid(self.0, &raw mut status, 0) };
        None
    }

    /// Waits for the child, which must end with success.
    #[track_caller]
    pub(crate) fn join(self) {
        let mut status = 0;
        // SAFETY: the call waits for a child of this process.
        while unsafe { libc::waitpid(self.0, &raw mut status, 0) } == -1 {
            let error = Error::last_os_error();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "waitpid: {error}");
        }
        assert_eq!(status, 0, "the forked child's wait status; its own words are above");
    }
}

/// Binds the calling thread to these CPUs.
pub(crate) fn bind(cpus: &[usize]) {
    bind_thread(0, cpus);
}

/// Binds a thread of this process to these CPUs.
pub(crate) fn bind_thread(tid: i32, cpus: &[usize]) {
    // SAFETY: all zeros is a valid value, the empty set.
    let mut set = unsafe { MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init() };
    for &cpu in cpus {
        // SAFETY: this writes within the set; the C library ignores numbers beyond it.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the set is valid for this call, and 0 means the calling thread.
    check_unless_ended(unsafe { libc::sched_setaffinity(tid, size_of::<libc::cpu_set_t>(), &raw const set) });
}

/// The CPUs that the calling thread may run on. This takes much less time than to read them from /proc.
pub(crate) fn own_mask() -> Vec<usize> {
    // SAFETY: all bits 0 is a set without CPUs.
    let mut set = unsafe { MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init() };
    // SAFETY: the set is writable and as long as the call is told, and 0 means the calling thread.
    check(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) });
    // SAFETY: all numbers are below the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Puts the calling thread under SCHED_FIFO with this priority. The threads that it starts from then on are, too.
pub(crate) fn schedule_fifo(priority: i32) -> Result<(), Error> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the structure is valid for this call, and 0 means the calling thread.
    let status = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if status == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// Makes standard error a pipe without a reader.
pub(crate) fn silence_stderr() {
    let (_, writer) = std::io::pipe().expect("a pipe");
    // SAFETY: the call takes numbers; both descriptors are open.
    let status = unsafe { libc::dup2(writer.as_raw_fd(), libc::STDERR_FILENO) };
    assert_eq!(status, libc::STDERR_FILENO, "{}", Error::last_os_error());
}

/// Makes standard error a pipe that is full. Its reader is returned.
pub(crate) fn redirect_stderr_to_full_pipe() -> PipeReader {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // SAFETY: the calls take numbers; the descriptor is open.
    let set_flags = |flags: i32| check(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, flags) });
    set_flags(libc::O_NONBLOCK);
    while (&writer).write(&[b'x'; 4096]).is_ok() {}
    set_flags(0);
    // SAFETY: the call takes numbers; both descriptors are open.
    assert_eq!(unsafe { libc::dup2(writer.as_raw_fd(), libc::STDERR_FILENO) }, libc::STDERR_FILENO);
    reader
}

/// Calls `part` while `descriptor` is a file of this name, which is made empty first. `part` gets a function that
/// writes there.
pub(crate) fn while_redirected(descriptor: i32, file: &Path, part: impl FnOnce(&dyn Fn(&str))) {
    let file = std::fs::File::create(file).expect("the file can be made");
    // SAFETY: the call takes a number. If nothing is open there, the result is -1.
    let original = unsafe { libc::dup(descriptor) };
    // SAFETY: the call takes numbers; the file is open.
    assert_eq!(unsafe { libc::dup2(file.as_raw_fd(), descriptor) }, descriptor);
    // SAFETY: the bytes are those of a text.
    part(&|text| assert!(unsafe { libc::write(descriptor, text.as_ptr().cast(), text.len()) } == text.len() as isize));
    if original < 0 {
        // SAFETY: the call takes a number, and nothing else uses the descriptor.
        check(unsafe { libc::close(descriptor) });
    } else {
        // SAFETY: as above.
        assert_eq!(unsafe { libc::dup2(original, descriptor) }, descriptor);
        // SAFETY: as above.
        check(unsafe { libc::close(original) });
    }
}

/// Closes standard output for as long as `part` runs.
pub(crate) fn without_stdout(part: impl FnOnce()) {
    // SAFETY: the call takes a number.
    let original = unsafe { libc::dup(libc::STDOUT_FILENO) };
    // SAFETY: as above; what is printed meanwhile is lost or goes to what `part` opens.
    check(unsafe { libc::close(libc::STDOUT_FILENO) });
    part();
    // SAFETY: as above.
    assert_eq!(unsafe { libc::dup2(original, libc::STDOUT_FILENO) }, libc::STDOUT_FILENO);
    // SAFETY: as above.
    check(unsafe { libc::close(original) });
}

/// Makes a named pipe.
pub(crate) fn make_fifo(path: &Path) {
    let name = CString::new(path.as_os_str().as_bytes()).expect("no NUL byte");
    // SAFETY: the name is a C string.
    check(unsafe { libc::mkfifo(name.as_ptr(), 0o600) });
}

/// Disables transparent huge pages from now on. A huge page is on one node as a whole, and whether memory gets one
/// depends on its address.
pub(crate) fn disable_huge_pages() {
    let (yes, nothing) = (1_u64, 0_u64);
    // SAFETY: the call takes numbers and sets an attribute of the process.
    check(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, yes, nothing, nothing, nothing) });
}

/// Limits the process's address space.
pub(crate) fn limit_address_space(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid for this call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) });
}

/// Limits the memory that the process may write to. No hive asks for this limit beforehand.
pub(crate) fn limit_data(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid for this call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) });
}

/// Makes `count` memory mappings, or one more.
pub(crate) fn make_mappings(count: usize) {
    const PAGE: usize = 4 << 10;
    let bytes = count * PAGE;
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the call maps fresh memory wherever there is room.
    let start = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_NONE, private, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED, "{}", Error::last_os_error());
    // Neighbouring pages with different protection are separate mappings.
    for page in (0..count).step_by(2) {
        // SAFETY: the page is within the memory that was mapped above.
        check(unsafe { libc::mprotect(start.wrapping_byte_add(page * PAGE), PAGE, libc::PROT_READ) });
    }
}

/// How many alarms have come since [`start_alarms`].
static ALARMS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn alarm_count() -> u64 {
    ALARMS.load(Ordering::Relaxed)
}

extern "C" fn on_alarm(_: i32) {
    ALARMS.fetch_add(1, Ordering::Relaxed);
}

/// Sends SIGALRM to this process until the result is dropped, with a handler that lets system calls be interrupted.
pub(crate) fn start_alarms(every: Duration) -> Timer {
    // SAFETY: all zeros is a valid value: an empty mask and no flags, so SA_RESTART is not set.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = on_alarm as *const () as usize;
    // SAFETY: the handler is async-signal-safe: it makes one atomic addition.
    check(unsafe { libc::sigaction(libc::SIGALRM, &raw const action, null_mut()) });
    Timer::start(libc::ITIMER_REAL as _, every)
}

/// How many of a profiler's signals have come since [`start_profiling`].
static PROFILE_SIGNALS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// How many of them have come to this thread.
    static THREAD_PROFILE_SIGNALS: Cell<u64> = const { Cell::new(0) };
}

pub(crate) fn profile_signals() -> u64 {
    PROFILE_SIGNALS.load(Ordering::Relaxed)
}

/// How many of them have come to the calling thread.
pub(crate) fn profile_signals_here() -> u64 {
    THREAD_PROFILE_SIGNALS.get()
}

extern "C" fn on_profile(_: i32) {
    PROFILE_SIGNALS.fetch_add(1, Ordering::Relaxed);
    THREAD_PROFILE_SIGNALS.set(THREAD_PROFILE_SIGNALS.get() + 1);
}

/// Sends SIGPROF to threads that use CPU time, as a profiler does, until the result is dropped, with a handler that
/// lets system calls be interrupted.
pub(crate) fn start_profiling(every: Duration) -> Timer {
    // SAFETY: all zeros is a valid value: an empty mask and no flags, so SA_RESTART is not set.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = on_profile as *const () as usize;
    // SAFETY: the handler is async-signal-safe: it makes two additions, one of them to a thread-local that needs no
    // initialisation.
    check(unsafe { libc::sigaction(libc::SIGPROF, &raw const action, null_mut()) });
    Timer::start(libc::ITIMER_PROF as _, every)
}

/// A timer of this process that sends signals. It stops when this is dropped: AddressSanitizer's search for leaks at
/// the end of a process takes it that debugging is forbidden if a signal interrupts a wait of its own.
#[must_use]
pub(crate) struct Timer(libc::c_int);

impl Timer {
    fn start(timer: libc::c_int, every: Duration) -> Self {
        set_timer(timer, every);
        Self(timer)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        set_timer(self.0, Duration::ZERO);
    }
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
    // SAFETY: the call initialises the set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the set is initialised.
    check(unsafe { libc::sigaddset(set.as_mut_ptr(), signal) });
    // SAFETY: the set is initialised.
    check(unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), null_mut()) });
}

/// Makes the process call `work` when it ends.
pub(crate) fn at_exit(work: fn()) {
    static HANDLER: OnceLock<fn()> = OnceLock::new();
    extern "C" fn call() {
        HANDLER.get().expect("it was set")();
    }
    HANDLER.set(work).expect("called once");
    // SAFETY: the function does not unwind, because a panic in it ends the process.
    check(unsafe { libc::atexit(call) });
}

/// Makes the calling thread call `work` when it ends, after its thread-locals have been destroyed.
pub(crate) fn at_thread_exit(work: fn()) {
    static HANDLER: OnceLock<fn()> = OnceLock::new();
    unsafe extern "C" fn call(_: *mut libc::c_void) {
        HANDLER.get().expect("it was set")();
    }
    HANDLER.set(work).expect("called once");
    let mut key = 0;
    // SAFETY: the call writes the number of the key; the function does not unwind, because a panic in it ends the
    // process.
    check(unsafe { libc::pthread_key_create(&raw mut key, Some(call)) });
    let something: *const u64 = &raw const NON_NULL;
    // SAFETY: the key exists, and nothing reads what is at the address.
    check(unsafe { libc::pthread_setspecific(key, something.cast()) });
}

static NON_NULL: u64 = 0;

/// The calling thread, and those that it starts, can gain no rights any more by running other programs.
pub(crate) fn set_no_new_privs() {
    let (yes, nothing) = (1_u64, 0_u64);
    // SAFETY: the call takes numbers and sets an attribute of the thread.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, nothing, nothing, nothing) });
}

/// Whether the kernel accepts a heavy fence of the calling thread, whose process has registered for it.
#[cfg(target_os = "linux")]
pub(crate) fn has_membarrier() -> bool {
    let (flags, cpu) = (0_u32, 0_i32);
    // SAFETY: the call does not touch the caller's memory.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED, flags, cpu) == 0 }
}
