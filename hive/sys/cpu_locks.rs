//! Which CPUs the hives of other processes have bound threads to: locks on CPUs that all processes of a machine see.
//!
//! A process locks the byte *n* of a file that the kernel has on every machine for CPU *n*. Nothing is written, and the
//! file's contents do not matter. The locks are for reading, because only root may open the file for writing. So two
//! processes could lock the same byte, but each can ask whether another one has. The kernel releases the locks when the
//! process ends, however it ends.
//!
//! The locks belong to the open file ("open file description locks"), not to the process. So two copies of hive in one
//! process see each other's, and nobody else who opens and closes the file in this process takes them away. Containers
//! with a network of their own have a `/sys` of their own and do not see the locks of others; nor does a process whom
//! the file is refused. These choose CPUs as if they were alone.

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
pub(crate) use linux::{CpuLocks, take_turn};
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
pub(crate) use unknown::{CpuLocks, take_turn};

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
mod linux {
    #![allow(unsafe_code, reason = "C calls")]

    use std::fs::File;
    use std::mem::{self, ManuallyDrop};
    use std::os::fd::{AsRawFd, RawFd};
    use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::fork::{self, Inherited, forget_in_children};
    use crate::sys::sandbox;

    /// Every user may read it, on every machine. The C library does not, and so does hardly anybody else.
    const FILE: &str = "/sys/devices/system/cpu/kernel_max";

    /// The file in which this process has its locks, for its forked children.
    static OPEN: OpenFile = OpenFile { file: AtomicI32::new(-1), number: AtomicU64::new(0) };

    struct OpenFile {
        /// Negative: there is none.
        file: AtomicI32,
        /// The second half of its [`FileId`].
        number: AtomicU64,
    }

    impl Inherited for OpenFile {
        /// A child's copy would keep the locks after the end of the parent.
        fn forget(&self) {
            // Relaxed, both: the child has one thread, and the parent's threads write while no thread forks.
            let (file, number) = (self.file.swap(-1, Ordering::Relaxed), self.number.load(Ordering::Relaxed));
            if file >= 0 && id_of(file).is_some_and(|(_, found)| found == number) {
                // SAFETY: a number. It is the file that the parent has opened, and the child does not use it again.
                unsafe { libc::close(file) };
            }
        }
    }

    /// The locks of this process.
    pub(crate) struct CpuLocks {
        /// Not closed without a look at `id`: the program may have closed all files that it does not know, and another
        /// one may have the number by now.
        file: ManuallyDrop<File>,
        /// The device and the number by which the file is known again.
        id: FileId,
        /// The fork generation in which it was opened. In a forked child it has been closed.
        generation: u32,
    }

    impl CpuLocks {
        /// No locks yet. None: the file cannot be opened.
        pub(crate) fn open() -> Option<Self> {
            let file = open_file()?;
            let id = id_of(file.as_raw_fd())?;
            forget_in_children(&OPEN);
            Some(Self { file: ManuallyDrop::new(file), id, generation: fork::generation() })
        }

        /// Says that these are the locks which the process keeps. Called while forks wait.
        pub(crate) fn keep(&self) {
            // Relaxed, both: see `OpenFile::forget`.
            OPEN.number.store(self.id.1, Ordering::Relaxed);
            OPEN.file.store(self.file.as_raw_fd(), Ordering::Relaxed);
        }

        /// Locks the CPUs.
        pub(crate) fn lock(&self, cpus: &CpuMask) {
            self.set(libc::F_RDLCK, cpus);
        }

        /// Releases the CPUs.
        pub(crate) fn unlock(&self, cpus: &CpuMask) {
            self.set(libc::F_UNLCK, cpus);
        }

        fn set(&self, kind: libc::c_int, cpus: &CpuMask) {
            if self.is_usable() {
                cpus.iter().for_each(|cpu| _ = self.call(libc::F_OFD_SETLK, kind, cpu, 1));
            }
        }

        /// Those of the CPUs that another process has locked, or another copy of hive in this one.
        pub(crate) fn locked_by_others(&self, among: &CpuMask) -> CpuMask {
            // The question is which lock would be in the way of one for writing.
            let is_locked = |cpu, cpus| self.call(libc::F_OFD_GETLK, libc::F_WRLCK, cpu, cpus) == Some(libc::F_RDLCK);
            // Mostly nobody has any.
            let all = among.iter().next().zip(among.last());
            let is_any = self.is_usable() && all.is_some_and(|(first, last)| is_locked(first, last - first + 1));
            among.iter().filter(|cpu| is_any && is_locked(*cpu, 1)).collect()
        }

        /// Whether the program has closed the file before `other` was opened.
        pub(crate) fn are_lost_before(&self, other: &Self) -> bool {
            self.file.as_raw_fd() == other.file.as_raw_fd() || !self.is_open()
        }

        /// Whether the program has left the file open.
        fn is_open(&self) -> bool {
            self.generation == fork::generation() && id_of(self.file.as_raw_fd()) == Some(self.id)
        }

        /// Whether that is so, and the program allows calls that use it.
        fn is_usable(&self) -> bool {
            !sandbox::has_come() && self.is_open()
        }

        /// Calls the system with a lock of this kind on the bytes of so many CPUs. Returns the kind of lock that is in
        /// the result. None: the call is refused.
        fn call(&self, call: libc::c_int, kind: libc::c_int, cpu: usize, cpus: usize) -> Option<libc::c_int> {
            // SAFETY: it has numbers only, of which any may be zero. (Its other fields have to be zero for this call.)
            let mut lock: libc::flock = unsafe { mem::zeroed() };
            lock.l_type = kind as libc::c_short;
            lock.l_whence = libc::SEEK_SET as libc::c_short;
            lock.l_start = libc::off_t::try_from(cpu).ok()?;
            lock.l_len = libc::off_t::try_from(cpus).ok()?;
            // SAFETY: the call reads and writes the structure, during the call only.
            let result = unsafe { libc::fcntl(self.file.as_raw_fd(), call, &raw mut lock) };
            (result == 0).then_some(libc::c_int::from(lock.l_type))
        }
    }

    impl Drop for CpuLocks {
        fn drop(&mut self) {
            // Relaxed: see `OpenFile::forget`.
            let _ = OPEN.file.compare_exchange(self.file.as_raw_fd(), -1, Ordering::Relaxed, Ordering::Relaxed);
            if self.is_usable() {
                // SAFETY: the file is not used any more.
                unsafe { ManuallyDrop::drop(&mut self.file) }
            }
        }
    }

    /// Held while a hive chooses its CPUs, so that no hive of another process chooses the same ones meanwhile.
    pub(crate) struct Turn(File);

    impl Drop for Turn {
        fn drop(&mut self) {
            // A child that was forked meanwhile has the file, too, and is not to keep the turn.
            // SAFETY: the call takes numbers only.
            unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
        }
    }

    /// Waits for the calling process's turn. None: it has been another one's for too long, or the file cannot be
    /// opened.
    pub(crate) fn take_turn() -> Option<Turn> {
        const TRIES: u32 = 50;
        const BETWEEN_TRIES: Duration = Duration::from_micros(100);
        let file = open_file()?;
        let try_lock = || {
            // SAFETY: the call takes numbers only.
            (unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) == 0
        };
        let is_own = (0..TRIES).any(|nth| {
            if nth > 0 {
                thread::sleep(BETWEEN_TRIES);
            }
            try_lock()
        });
        is_own.then(|| Turn(file))
    }

    fn open_file() -> Option<File> {
        // A program without standard streams does not get this file in the place of one of them.
        let is_stream = |file: &File| file.as_raw_fd() <= libc::STDERR_FILENO;
        if sandbox::has_come() { None } else { File::open(FILE).ok().filter(|file| !is_stream(file)) }
    }

    /// The device and the number of a file.
    type FileId = (libc::dev_t, libc::ino_t);

    /// That of an open file.
    fn id_of(file: RawFd) -> Option<FileId> {
        // SAFETY: it has numbers only, of which any may be zero.
        let mut stat: libc::stat = unsafe { mem::zeroed() };
        // SAFETY: the call writes to the structure, during the call only.
        let result = unsafe { libc::fstat(file, &raw mut stat) };
        (result == 0).then_some((stat.st_dev, stat.st_ino))
    }

    #[cfg(test)]
    mod tests {
        use std::os::fd::{FromRawFd, OwnedFd};

        use super::*;

        /// CPUs that no machine has, nor another process that runs these tests.
        fn cpus<const N: usize>(numbers: [usize; N]) -> CpuMask {
            numbers.into_iter().map(|number| 1_000_000 + 16 * std::process::id() as usize + number).collect()
        }

        #[test]
        fn locks_are_seen_by_others_until_they_are_released() {
            let (one, other) = (CpuLocks::open().unwrap(), CpuLocks::open().unwrap());
            let all = cpus([0, 1, 2, 3]);
            one.lock(&cpus([1, 2]));
            assert_eq!((one.locked_by_others(&all), other.locked_by_others(&all)), (cpus([]), cpus([1, 2])));
            one.unlock(&cpus([1]));
            other.lock(&cpus([2]));
            assert_eq!((one.locked_by_others(&all), other.locked_by_others(&all)), (cpus([2]), cpus([2])));
            one.unlock(&all);
            assert_eq!(other.locked_by_others(&all), cpus([]));
        }

        #[test]
        fn turns_are_taken_one_at_a_time() {
            // Hives of other tests and programs have turns, too.
            let own_turn = || (0..1_000).find_map(|_| take_turn()).expect("it comes");
            let turn = own_turn();
            assert!(take_turn().is_none());
            drop(turn);
            drop(own_turn());
        }

        /// As a program does that closes all files which it does not know.
        #[test]
        fn a_file_that_the_program_has_closed_is_not_closed_again() {
            let locks = CpuLocks::open().unwrap();
            // SAFETY: the locks do not use a file that is not their own any more.
            let closed = unsafe { OwnedFd::from_raw_fd(locks.file.as_raw_fd()) };
            let number = closed.as_raw_fd();
            let others = File::open("/dev/null").unwrap();
            // SAFETY: both are numbers of open files. The second one becomes the same as the first.
            assert_eq!(unsafe { libc::dup2(others.as_raw_fd(), number) }, number);
            assert!(!locks.is_open());
            locks.lock(&cpus([5]));
            drop(locks);
            assert!(id_of(number) == id_of(others.as_raw_fd()), "it is still open");
            assert_eq!(CpuLocks::open().unwrap().locked_by_others(&cpus([5])), cpus([]));
        }
    }
}

/// Other systems, where nothing is known of other processes.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
mod unknown {
    use crate::sys::cpu_mask::CpuMask;

    pub(crate) enum CpuLocks {}

    impl CpuLocks {
        pub(crate) fn open() -> Option<Self> {
            None
        }

        pub(crate) fn keep(&self) {
            match *self {}
        }

        pub(crate) fn are_lost_before(&self, _: &Self) -> bool {
            match *self {}
        }

        pub(crate) fn lock(&self, _: &CpuMask) {
            match *self {}
        }

        pub(crate) fn unlock(&self, _: &CpuMask) {
            match *self {}
        }

        pub(crate) fn locked_by_others(&self, _: &CpuMask) -> CpuMask {
            match *self {}
        }
    }

    pub(crate) fn take_turn() -> Option<CpuLocks> {
        None
    }
}
