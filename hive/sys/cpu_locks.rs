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
    use std::os::fd::AsRawFd;
    use std::thread;
    use std::time::Duration;

    use crate::sys::cpu_mask::CpuMask;
    use crate::sys::sandbox;

    /// Every user may read it, on every machine.
    const FILE: &str = "/sys/devices/system/cpu/possible";

    /// The locks of this process.
    pub(crate) struct CpuLocks {
        /// Not closed without a look at `id`: the program may have closed all files that it does not know, and another
        /// one may have the number by now.
        file: ManuallyDrop<File>,
        /// The device and the number by which the file is known again.
        id: (libc::dev_t, libc::ino_t),
    }

    impl CpuLocks {
        /// No locks yet. None: the file cannot be opened.
        pub(crate) fn open() -> Option<Self> {
            let file = open_file()?;
            let id = id_of(&file)?;
            Some(Self { file: ManuallyDrop::new(file), id })
        }

        /// Locks the CPU.
        pub(crate) fn lock(&self, cpu: usize) {
            self.call(libc::F_OFD_SETLK, libc::F_RDLCK, cpu);
        }

        /// Releases the CPU.
        pub(crate) fn unlock(&self, cpu: usize) {
            self.call(libc::F_OFD_SETLK, libc::F_UNLCK, cpu);
        }

        /// Those of the CPUs that another process has locked, or another copy of hive in this one.
        pub(crate) fn locked_by_others(&self, among: &CpuMask) -> CpuMask {
            // The question is which lock would be in the way of one for writing.
            let is_locked = |cpu: &usize| self.call(libc::F_OFD_GETLK, libc::F_WRLCK, *cpu) == Some(libc::F_RDLCK);
            among.iter().filter(is_locked).collect()
        }

        /// Whether the program has left the file open, and allows calls that use it.
        fn is_usable(&self) -> bool {
            !sandbox::has_come() && id_of(&self.file) == Some(self.id)
        }

        /// Calls the system with a lock of this kind on the byte of the CPU. Returns the kind of lock that is in the
        /// result. None: the call is refused.
        fn call(&self, call: libc::c_int, kind: libc::c_int, cpu: usize) -> Option<libc::c_int> {
            if !self.is_usable() {
                return None;
            }
            // SAFETY: it has numbers only, of which any may be zero. (Its other fields have to be zero for this call.)
            let mut lock: libc::flock = unsafe { mem::zeroed() };
            lock.l_type = kind as libc::c_short;
            lock.l_whence = libc::SEEK_SET as libc::c_short;
            lock.l_start = libc::off_t::try_from(cpu).ok()?;
            lock.l_len = 1;
            // SAFETY: the call reads and writes the structure, during the call only.
            let result = unsafe { libc::fcntl(self.file.as_raw_fd(), call, &raw mut lock) };
            (result == 0).then_some(libc::c_int::from(lock.l_type))
        }
    }

    impl Drop for CpuLocks {
        fn drop(&mut self) {
            if self.is_usable() {
                // SAFETY: the file is not used any more.
                unsafe { ManuallyDrop::drop(&mut self.file) }
            }
        }
    }

    /// Held while a hive chooses its CPUs, so that no hive of another process chooses the same ones meanwhile. None: it
    /// has been another one's turn for too long, or the file cannot be opened.
    pub(crate) fn take_turn() -> Option<File> {
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
        is_own.then_some(file)
    }

    fn open_file() -> Option<File> {
        if sandbox::has_come() { None } else { File::open(FILE).ok() }
    }

    /// The device and the number of an open file.
    fn id_of(file: &File) -> Option<(libc::dev_t, libc::ino_t)> {
        // SAFETY: it has numbers only, of which any may be zero.
        let mut stat: libc::stat = unsafe { mem::zeroed() };
        // SAFETY: the call writes to the structure, during the call only.
        let result = unsafe { libc::fstat(file.as_raw_fd(), &raw mut stat) };
        (result == 0).then_some((stat.st_dev, stat.st_ino))
    }

    #[cfg(test)]
    mod tests {
        use std::os::fd::{FromRawFd, OwnedFd};

        use super::*;

        /// CPUs that no machine has, so no hive has bound threads to them.
        fn mask(text: &str) -> CpuMask {
            text.parse().unwrap()
        }

        #[test]
        fn locks_are_seen_by_others_until_they_are_released() {
            let (one, other) = (CpuLocks::open().unwrap(), CpuLocks::open().unwrap());
            let all = mask("43000-43003");
            one.lock(43_001);
            one.lock(43_002);
            assert_eq!((one.locked_by_others(&all), other.locked_by_others(&all)), (mask(""), mask("43001-43002")));
            one.unlock(43_001);
            other.lock(43_002);
            assert_eq!((one.locked_by_others(&all), other.locked_by_others(&all)), (mask("43002"), mask("43002")));
            drop(one);
            assert_eq!(other.locked_by_others(&all), mask(""));
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
            locks.lock(43_010);
            drop(locks);
            assert!(id_of(&File::from(closed)) == id_of(&others), "it is still open");
            assert_eq!(CpuLocks::open().unwrap().locked_by_others(&mask("43010")), mask(""));
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

        pub(crate) fn lock(&self, _: usize) {
            match *self {}
        }

        pub(crate) fn unlock(&self, _: usize) {
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
