//! The lower limit for runtimes whose threads sleep: a thread that waits in the kernel is woken by a semaphore and
//! answers with a store. No such runtime can start a region sooner than that. The post alone, the call without the
//! answer, is what a thread pays that wakes another one and does not wait for it.

use std::thread;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(crate) use linux::HandOver;

use crate::system::cpus;

/// What a question cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The call that posts the semaphore.
    pub(crate) post: f64,
    /// From before that call to the answer.
    pub(crate) hand_over: f64,
}

/// What questions cost after the thread has had nothing to do for `gap`. The asking thread is bound to `here` and the
/// sleeping one to `there`, if they are bound.
pub(crate) fn measure(here: Option<usize>, there: Option<usize>, gap: Duration, samples: u32) -> Vec<Asked> {
    let asking = thread::spawn(move || {
        here.map(cpus::pin);
        let Some(mut hand_over) = HandOver::start(there) else { return Vec::new() };
        let sample = |_| {
            thread::sleep(gap);
            hand_over.ask()
        };
        (0..samples).map(sample).collect()
    });
    asking.join().expect("the asking thread does not panic")
}

/// Not every system has unnamed semaphores. Without them there is no reference.
#[cfg(not(target_os = "linux"))]
pub(crate) enum HandOver {}

#[cfg(not(target_os = "linux"))]
impl HandOver {
    pub(crate) fn start(_there: Option<usize>) -> Option<Self> {
        None
    }

    pub(crate) fn ask(&mut self) -> Asked {
        match *self {}
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::UnsafeCell;
    use std::mem::MaybeUninit;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread::{self, JoinHandle};

    use std::time::Instant;

    use super::Asked;
    use crate::system::cpus;

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

    /// A thread that sleeps until it is asked, and answers.
    pub(crate) struct HandOver {
        shared: Arc<Shared>,
        asked: u32,
        thread: Option<JoinHandle<()>>,
    }

    struct Shared {
        wake: Semaphore,
        /// The number of the latest question that has been answered.
        answer: AtomicU32,
        over: AtomicBool,
    }

    impl HandOver {
        /// Starts the thread, on CPU `there` if it is to be bound. An unbound thread gets the binding of the caller.
        pub(crate) fn start(there: Option<usize>) -> Option<Self> {
            let shared =
                Arc::new(Shared { wake: Semaphore::new(), answer: AtomicU32::new(0), over: AtomicBool::new(false) });
            let thread = thread::spawn({
                let shared = Arc::clone(&shared);
                move || {
                    there.map(cpus::pin);
                    for turn in 1.. {
                        shared.wake.wait();
                        // Relaxed: the semaphore orders it.
                        if shared.over.load(Ordering::Relaxed) {
                            return;
                        }
                        // Release: pairs with the Acquire in `ask`.
                        shared.answer.store(turn, Ordering::Release);
                    }
                }
            });
            let mut hand_over = Self { shared, asked: 0, thread: Some(thread) };
            // The first question may come before the thread waits, so it does not count.
            hand_over.ask();
            Some(hand_over)
        }

        /// Posts, and waits for the answer.
        pub(crate) fn ask(&mut self) -> Asked {
            self.asked += 1;
            let begin = Instant::now();
            self.shared.wake.post();
            let post = begin.elapsed().as_nanos() as f64;
            // Acquire: pairs with the Release of the answer.
            while self.shared.answer.load(Ordering::Acquire) != self.asked {
                std::hint::spin_loop();
            }
            Asked { post, hand_over: begin.elapsed().as_nanos() as f64 }
        }
    }

    impl Drop for HandOver {
        fn drop(&mut self) {
            // Relaxed: the semaphore orders it.
            self.shared.over.store(true, Ordering::Relaxed);
            self.shared.wake.post();
            if let Some(thread) = self.thread.take() {
                thread.join().expect("the answering thread does not panic");
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn every_post_is_answered() {
        let cpus = cpus::in_order_of_use();
        for [here, there] in [[Some(cpus[0]), cpus.last().copied()], [None, None]] {
            let samples = measure(here, there, Duration::from_micros(50), 5);
            assert_eq!(samples.len(), 5);
            assert!(samples.iter().all(|asked| asked.post > 0.0 && asked.post <= asked.hand_over), "{samples:?}");
        }
    }
}
