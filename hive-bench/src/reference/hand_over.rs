//! The limit of sleeping: a thread that waits in the kernel is woken by a semaphore and answers with a store. No
//! runtime whose threads sleep can start a region sooner than that.

#[cfg(target_os = "linux")]
pub(crate) use linux::measure;

/// Unnamed semaphores are not everywhere: no reference then.
#[cfg(not(target_os = "linux"))]
pub(crate) fn measure(_here: usize, _there: usize, _gap: std::time::Duration, _samples: u32) -> Vec<f64> {
    Vec::new()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::UnsafeCell;
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::Duration;

    use crate::cpus;
    use crate::timing::nanoseconds;

    /// A POSIX semaphore that stays where it was made.
    struct Semaphore(Box<UnsafeCell<libc::sem_t>>);

    // SAFETY: a semaphore is made to be used by several threads; no call moves it or frees it before drop.
    #[allow(unsafe_code)]
    unsafe impl Sync for Semaphore {}

    #[allow(unsafe_code)]
    impl Semaphore {
        fn new() -> Self {
            let place = Box::new(UnsafeCell::new(MaybeUninit::<libc::sem_t>::uninit()));
            // SAFETY: the place is large enough and nobody else knows it yet.
            let failed = unsafe { libc::sem_init(place.get().cast(), 0, 0) };
            assert_eq!(failed, 0, "sem_init fails only for a value that is too large");
            // SAFETY: MaybeUninit has the layout of what it holds, and sem_init has filled it in.
            Self(unsafe { Box::from_raw(Box::into_raw(place).cast()) })
        }

        fn post(&self) {
            // SAFETY: the semaphore was initialised in `new` and lives as long as `self`.
            unsafe { libc::sem_post(self.0.get()) };
        }

        fn wait(&self) {
            // A signal may end the wait early.
            // SAFETY: as in `post`.
            while unsafe { libc::sem_wait(self.0.get()) } != 0 {}
        }
    }

    impl Drop for Semaphore {
        fn drop(&mut self) {
            // SAFETY: initialised in `new`; with `&mut self` nobody waits.
            #[allow(unsafe_code)]
            unsafe {
                libc::sem_destroy(self.0.get())
            };
        }
    }

    /// Nanoseconds from the post to the answer, after `gap` without anything to do.
    pub(crate) fn measure(here: usize, there: usize, gap: Duration, samples: u32) -> Vec<f64> {
        let wake = Semaphore::new();
        let answer = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                cpus::pin(there);
                for turn in 0..=samples {
                    wake.wait();
                    // Release: pairs with the Acquire in `ask`.
                    answer.store(turn + 1, Ordering::Release);
                }
            });
            let asking = scope.spawn(|| {
                cpus::pin(here);
                ask(&wake, &answer, gap, samples)
            });
            asking.join().expect("the asking thread does not panic")
        })
    }

    /// The first turn finds the other thread not yet waiting and does not count.
    fn ask(wake: &Semaphore, answer: &AtomicU32, gap: Duration, samples: u32) -> Vec<f64> {
        let mut taken = Vec::new();
        for turn in 0..=samples {
            thread::sleep(if turn == 0 { Duration::from_micros(100) } else { gap });
            let took = nanoseconds(|| {
                wake.post();
                // Acquire: pairs with the Release of the answer.
                while answer.load(Ordering::Acquire) != turn + 1 {
                    std::hint::spin_loop();
                }
            });
            taken.push(took);
        }
        taken.split_off(1)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn every_post_is_answered() {
            let cpus = cpus::in_order_of_use();
            let samples = measure(cpus[0], *cpus.last().unwrap(), Duration::from_micros(50), 5);
            assert_eq!(samples.len(), 5);
            assert!(samples.iter().all(|ns| *ns > 0.0));
        }
    }
}
