//! The lower limit for runtimes whose threads sleep: a thread that waits in the kernel is woken and answers with a
//! store. No such runtime can start a region sooner than that. The post alone, the call that wakes it without the
//! answer, is what a thread pays that wakes another one and does not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::system::cpus;

/// What a question cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The call that wakes the thread.
    pub(crate) post: f64,
    /// From before that call to the answer.
    pub(crate) hand_over: f64,
}

/// What questions cost after the thread has had nothing to do for `gap`. The asking thread is bound to `here` and the
/// sleeping one to `there`, if they are bound.
pub(crate) fn measure(here: Option<usize>, there: Option<usize>, gap: Duration, samples: u32) -> Vec<Asked> {
    let asking = thread::spawn(move || {
        here.map(cpus::pin);
        let mut hand_over = HandOver::start(there);
        let sample = |_| {
            thread::sleep(gap);
            hand_over.ask()
        };
        (0..samples).map(sample).collect()
    });
    asking.join().expect("the asking thread does not panic")
}

/// A thread that sleeps until it is asked, and answers. It ends with the process.
pub(crate) struct HandOver {
    shared: Arc<Shared>,
    asked: u32,
    thread: Thread,
}

/// The numbers of the latest question, and of the latest that has been answered.
#[derive(Default)]
struct Shared {
    question: AtomicU32,
    answer: AtomicU32,
}

impl HandOver {
    /// Starts the thread, on CPU `there` if it is to be bound. An unbound thread gets the binding of the caller.
    pub(crate) fn start(there: Option<usize>) -> Self {
        let shared = Arc::new(Shared::default());
        let thread = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                there.map(cpus::pin);
                for turn in 1.. {
                    // Relaxed, here and where it is asked: parking and unparking order the question.
                    while shared.question.load(Ordering::Relaxed) < turn {
                        thread::park();
                    }
                    // Release: pairs with the Acquire in `ask`.
                    shared.answer.store(turn, Ordering::Release);
                }
            }
        });
        let mut hand_over = Self { shared, asked: 0, thread: thread.thread().clone() };
        // The first question may come before the thread waits, so it does not count.
        hand_over.ask();
        hand_over
    }

    /// Wakes the thread, and waits for its answer.
    pub(crate) fn ask(&mut self) -> Asked {
        self.asked += 1;
        let begin = Instant::now();
        self.shared.question.store(self.asked, Ordering::Relaxed);
        self.thread.unpark();
        let post = begin.elapsed().as_nanos() as f64;
        // Acquire: pairs with the Release of the answer.
        while self.shared.answer.load(Ordering::Acquire) != self.asked {
            std::hint::spin_loop();
        }
        Asked { post, hand_over: begin.elapsed().as_nanos() as f64 }
    }
}

#[cfg(test)]
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
