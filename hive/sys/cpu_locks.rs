//! Which CPUs the hives of other processes have bound threads to: locks on CPUs that all processes of a machine see.
//!
//! A process locks the byte *n* of a file that the kernel has on every machine for CPU *n*, and one more byte as long
//! as it has a hive that is bound to none. Nothing is written, and the file's contents do not matter. The locks are for
//! reading, because only root may open the file for writing. So two processes could lock the same byte, but each can
//! ask whether another one has. The kernel releases the locks when the process ends, however it ends.
//!
//! The locks belong to the open file ("open file description locks"), not to the process. So two copies of hive in one
//! process see each other's, and nobody else who opens and closes the file in this process takes them away. Containers
//! with a network of their own have a `/sys` of their own and do not see the locks of others; nor does a process whom
//! the file is refused. These choose CPUs as if they were alone.

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
pub(crate) use linux::CpuLocks;
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
pub(crate) use unknown::CpuLocks;

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
mod linux {
    #![allow(unsafe_code, reason = "C calls")]

    use std::fs::File;
    use std::mem::{self, ManuallyDrop};
    use std::os::fd::{AsRawFd, FromRawFd, RawFd};
    use std::sync::atomic::{AtomicI32, AtomicI64, AtomicUsize, Ordering};

    use crate::on_drop::on_drop;
    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::{clock, sandbox};

    /// The byte that a process locks while it has a hive whose bees are bound to no CPU: no CPU has this number.
    const UNBOUND: usize = 1 << 40;

    /// Every user may read it, on every machine.
    const FILE: &str = "/sys/devices/system/cpu/kernel_max";

    /// The file of this process, for its forked children; negative if there is none. Threads write to this and to its
    /// mark while no thread forks.
    static OPEN_FILE: AtomicI32 = AtomicI32::new(-1);

    /// As [`CpuLocks::mark`].
    static OPEN_MARK: AtomicI64 = AtomicI64::new(0);

    /// How many hives this process has, as of `note_hives`.
    static HIVES: AtomicUsize = AtomicUsize::new(0);

    /// How many of them are bound to no CPU.
    static UNBOUND_HIVES: AtomicUsize = AtomicUsize::new(0);

    /// The locks of this process. It is used while no thread forks.
    pub(crate) struct CpuLocks {
        /// Not closed without a look at `mark`: the program may have closed all files that it does not know, and
        /// another one may have the number by now.
        file: ManuallyDrop<File>,
        /// By which the file is known again: the position in it, which nobody else sets, and which is never 0.
        mark: libc::off_t,
    }

    impl CpuLocks {
        /// Called in a forked child, which has none of its parent's hives, and whose copy of the file would keep the
        /// locks after the end of the parent.
        pub(crate) fn forget() {
            Self::note_hives(0, 0);
            if sandbox::has_come() {
                return;
            }
            // Relaxed, both: the child has one thread.
            let (file, mark) = (OPEN_FILE.swap(-1, Ordering::Relaxed), OPEN_MARK.load(Ordering::Relaxed));
            if file >= 0 && mark_of(file) == mark {
                // SAFETY: a number. It is the file that the parent has opened, and the child does not use it again.
                unsafe { libc::close(file) };
            }
        }

        /// No locks yet. None: the file cannot be opened.
        pub(crate) fn open() -> Option<Self> {
            let file = open_file()?;
            let mark = (clock::nanos() & 0x3fff_ffff) as libc::off_t | 1;
            // SAFETY: the call takes numbers only.
            if unsafe { libc::lseek(file.as_raw_fd(), mark, libc::SEEK_SET) } != mark {
                return None;
            }
            // Relaxed, both: see `OPEN_FILE`.
            OPEN_MARK.store(mark, Ordering::Relaxed);
            OPEN_FILE.store(file.as_raw_fd(), Ordering::Relaxed);
            Some(Self { file: ManuallyDrop::new(file), mark })
        }

        /// Lets others know whether this process has a hive whose bees are bound to no CPU.
        pub(crate) fn show_unbound(&self, has_unbound: bool) {
            if self.are_usable() {
                self.call(libc::F_OFD_SETLK, if has_unbound { libc::F_RDLCK } else { libc::F_UNLCK }, UNBOUND, 1);
            }
        }

        /// Notes how many hives this process has, and how many of them are bound to no CPU.
        pub(crate) fn note_hives(all: usize, unbound: usize) {
            // Relaxed, as the loads: hints.
            HIVES.store(all, Ordering::Relaxed);
            UNBOUND_HIVES.store(unbound, Ordering::Relaxed);
        }

        /// Whether two hives may want the same CPUs, as one of them is bound to none: two of this process, or one of
        /// this process and one of another, or of another copy of hive in this one. May be wrong while a hive is built
        /// or ends.
        pub(crate) fn may_share() -> bool {
            let (all, unbound) = (HIVES.load(Ordering::Relaxed), UNBOUND_HIVES.load(Ordering::Relaxed));
            if unbound > 0 && all > 1 {
                return true;
            }
            // Relaxed, both: see `OPEN_FILE`. If the number is another file's by now, the answer is about that one.
            let (file, mark) = (OPEN_FILE.load(Ordering::Relaxed), OPEN_MARK.load(Ordering::Relaxed));
            file >= 0 && !sandbox::has_come() && mark_of(file) == mark && are_others_than(file, unbound > 0)
        }

        /// Locks the CPUs `now`, where the CPUs `before` are locked, and releases the others.
        pub(crate) fn change(&self, before: &CpuMask, now: &CpuMask) {
            self.set(libc::F_RDLCK, &now.difference(before));
            self.set(libc::F_UNLCK, &before.difference(now));
        }

        fn set(&self, kind: libc::c_int, cpus: &CpuMask) {
            if self.are_usable() {
                cpus.iter().for_each(|cpu| _ = self.call(libc::F_OFD_SETLK, kind, cpu, 1));
            }
        }

        /// Those of the CPUs that another process has locked, or another copy of hive in this one.
        pub(crate) fn locked_by_others(&self, among: &CpuMask) -> CpuMask {
            // The question is which lock would be in the way of one for writing.
            let is_free = |cpu, cpus| self.call(libc::F_OFD_GETLK, libc::F_WRLCK, cpu, cpus) == Some(libc::F_UNLCK);
            // Mostly nobody has any.
            let all = among.iter().next().zip(among.last());
            let is_any = self.are_usable() && all.is_some_and(|(first, last)| !is_free(first, last - first + 1));
            among.iter().filter(|cpu| is_any && !is_free(*cpu, 1)).collect()
        }

        /// Keeps hives of other processes from choosing CPUs until the result is dropped, before the locks are. None:
        /// another process does so now.
        pub(crate) fn take_turn(&self) -> Option<impl Drop + use<>> {
            let file = self.file.as_raw_fd();
            // SAFETY: the calls take numbers only.
            let call = move |operation| unsafe { libc::flock(file, operation) };
            let is_usable = self.are_usable();
            let is_own = !is_usable || call(libc::LOCK_EX | libc::LOCK_NB) == 0;
            is_own.then(|| on_drop(move || _ = is_usable.then(|| call(libc::LOCK_UN))))
        }

        /// Whether the program has left the file open.
        pub(crate) fn are_there(&self) -> bool {
            mark_of(self.file.as_raw_fd()) == self.mark
        }

        /// Whether that is so, and the program allows calls that use it.
        pub(crate) fn are_usable(&self) -> bool {
            !sandbox::has_come() && self.are_there()
        }

        /// Calls the system with a lock of this kind on the bytes of so many CPUs. Returns the kind of lock that is in
        /// the result. None: the call is refused.
        fn call(&self, call: libc::c_int, kind: libc::c_int, cpu: usize, cpus: usize) -> Option<libc::c_int> {
            call_with(self.file.as_raw_fd(), call, kind, cpu, cpus)
        }
    }

    /// Whether others than whoever has this file have hives, of any kind or those that are bound to no CPU.
    fn are_others_than(file: RawFd, of_any_kind: bool) -> bool {
        // No length is all of the file from there on.
        let (first, length) = if of_any_kind { (0, 0) } else { (UNBOUND, 1) };
        call_with(file, libc::F_OFD_GETLK, libc::F_WRLCK, first, length) == Some(libc::F_RDLCK)
    }

    /// `CpuLocks::call`, for this file.
    fn call_with(file: RawFd, call: libc::c_int, kind: libc::c_int, cpu: usize, cpus: usize) -> Option<libc::c_int> {
        // SAFETY: it has numbers only, of which any may be zero. (Its other fields have to be zero for this call.)
        let mut lock: libc::flock = unsafe { mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = libc::off_t::try_from(cpu).ok()?;
        lock.l_len = libc::off_t::try_from(cpus).ok()?;
        // SAFETY: the call reads and writes the structure, during the call only.
        let result = unsafe { libc::fcntl(file, call, &raw mut lock) };
        (result == 0).then_some(libc::c_int::from(lock.l_type))
    }

    impl Drop for CpuLocks {
        fn drop(&mut self) {
            if self.are_usable() {
                // Relaxed: see `OPEN_FILE`.
                let _ = OPEN_FILE.compare_exchange(self.file.as_raw_fd(), -1, Ordering::Relaxed, Ordering::Relaxed);
                // SAFETY: the file is not used any more.
                unsafe { ManuallyDrop::drop(&mut self.file) }
            }
        }
    }

    fn open_file() -> Option<File> {
        let file = if sandbox::has_come() { None } else { File::open(FILE).ok() }?;
        if file.as_raw_fd() > libc::STDERR_FILENO {
            return Some(file);
        }
        // A program without standard streams does not get this file in the place of one of them.
        // SAFETY: the call takes numbers only.
        let higher = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, libc::STDERR_FILENO + 1) };
        // SAFETY: it is the number of a file that has just been opened.
        (higher >= 0).then(|| unsafe { File::from_raw_fd(higher) })
    }

    /// The position in an open file.
    fn mark_of(file: RawFd) -> libc::off_t {
        // SAFETY: the call takes numbers only.
        unsafe { libc::lseek(file, 0, libc::SEEK_CUR) }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// CPUs that no machine has, nor another process that runs these tests.
        fn cpus<const N: usize>(numbers: [usize; N]) -> CpuMask {
            numbers.into_iter().map(|number| 1_000_000 + 16 * std::process::id() as usize + number).collect()
        }

        #[test]
        fn locks_are_seen_by_others_until_they_are_released() {
            let (one, other) = (CpuLocks::open().unwrap(), CpuLocks::open().unwrap());
            let all = cpus([0, 1, 2, 3]);
            one.change(&cpus([]), &cpus([1, 2]));
            assert_eq!((one.locked_by_others(&all), other.locked_by_others(&all)), (cpus([]), cpus([1, 2])));
            one.change(&cpus([1, 2]), &cpus([2]));
            other.change(&cpus([]), &cpus([2]));
            assert_eq!((one.locked_by_others(&all), other.locked_by_others(&all)), (cpus([2]), cpus([2])));
            one.change(&all, &cpus([]));
            assert_eq!(other.locked_by_others(&all), cpus([]));
        }

        #[test]
        fn who_is_bound_to_no_cpu_is_there_for_all_and_others_only_for_them() {
            let (one, other) = (CpuLocks::open().unwrap(), CpuLocks::open().unwrap());
            let sees = |locks: &CpuLocks, any| are_others_than(locks.file.as_raw_fd(), any);
            one.change(&cpus([]), &cpus([7]));
            assert!(sees(&other, true));
            other.show_unbound(true);
            assert!(sees(&one, false) && sees(&one, true));
            // Nobody has locked this file.
            assert!(!are_others_than(File::open("/proc/version").unwrap().as_raw_fd(), true));
        }

        #[test]
        fn turns_are_taken_one_at_a_time() {
            let (one, other) = (CpuLocks::open().unwrap(), CpuLocks::open().unwrap());
            // Hives of other tests and programs have turns, too.
            let wait = |locks: &CpuLocks| loop {
                if let Some(turn) = locks.take_turn() {
                    break turn;
                }
                std::thread::yield_now();
            };
            let turn = wait(&one);
            assert!(other.take_turn().is_none());
            drop(turn);
            drop(wait(&other));
        }

        /// As a program does that closes all files which it does not know.
        #[test]
        fn a_file_that_the_program_has_closed_is_not_closed_again() {
            let locks = CpuLocks::open().unwrap();
            let number = locks.file.as_raw_fd();
            // Another one of the same file gets the number.
            let others = File::open(FILE).unwrap();
            // SAFETY: both are numbers of open files. The second one becomes the same as the first.
            assert_eq!(unsafe { libc::dup2(others.as_raw_fd(), number) }, number);
            assert!(!locks.are_there());
            locks.change(&cpus([]), &cpus([5]));
            drop(locks);
            assert_eq!(mark_of(number), 0, "it is still open");
            assert_eq!(CpuLocks::open().unwrap().locked_by_others(&cpus([5])), cpus([]));
            // SAFETY: it is nobody else's.
            drop(unsafe { File::from_raw_fd(number) });
        }
    }
}

/// Other systems, where nothing is known of other processes.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
mod unknown {
    use crate::sys::cpu_mask::CpuMask;

    pub(crate) enum CpuLocks {}

    impl CpuLocks {
        #[cfg(unix)]
        pub(crate) fn forget() {}

        pub(crate) fn note_hives(_: usize, _: usize) {}

        pub(crate) fn show_unbound(&self, _: bool) {
            match *self {}
        }

        pub(crate) fn may_share() -> bool {
            false
        }

        pub(crate) fn open() -> Option<Self> {
            None
        }

        pub(crate) fn change(&self, _: &CpuMask, _: &CpuMask) {
            match *self {}
        }

        pub(crate) fn locked_by_others(&self, _: &CpuMask) -> CpuMask {
            match *self {}
        }

        pub(crate) fn take_turn(&self) -> Option<Self> {
            match *self {}
        }

        pub(crate) fn are_there(&self) -> bool {
            match *self {}
        }

        pub(crate) fn are_usable(&self) -> bool {
            match *self {}
        }
    }
}
