//! Counting semaphores. Each bee has one in its slot, and blocks on it when it sleeps, parks, or waits long at a
//! barrier.

// Where the native semaphore is used, the portable one is compiled for the tests only.
#[cfg(any(test, not(any(target_os = "linux", target_os = "android", target_os = "freebsd"))))]
pub(crate) mod portable;
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
pub(crate) mod posix;

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
pub(crate) use crate::sys::semaphore::posix::Semaphore;

// Other systems have no unnamed POSIX semaphores: on macOS `sem_init` fails with ENOSYS, and Windows has none.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
pub(crate) use crate::sys::semaphore::portable::Semaphore;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    macro_rules! semaphore_tests {
        ($name:ident, $semaphore:ty) => {
            mod $name {
                use super::*;

                #[test]
                fn a_permit_posted_before_the_wait_is_kept() {
                    let semaphore = <$semaphore>::new();
                    semaphore.post();
                    semaphore.post();
                    semaphore.wait();
                    semaphore.wait();
                }

                #[test]
                fn a_wait_with_an_end_says_whether_there_was_a_permit() {
                    let semaphore = <$semaphore>::new();
                    assert!(!semaphore.wait_for(Duration::from_millis(1)));
                    semaphore.post();
                    assert!(semaphore.wait_for(Duration::MAX));
                    assert!(!semaphore.wait_for(Duration::ZERO));
                }

                #[test]
                fn each_post_frees_one_waiter() {
                    let semaphore = <$semaphore>::new();
                    let freed = AtomicU32::new(0);
                    std::thread::scope(|scope| {
                        for _ in 0..4 {
                            scope.spawn(|| {
                                semaphore.wait();
                                freed.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                        for posted in 1..=4 {
                            semaphore.post();
                            while freed.load(Ordering::Relaxed) < posted {
                                std::thread::yield_now();
                            }
                            assert_eq!(freed.load(Ordering::Relaxed), posted);
                        }
                    });
                }
            }
        };
    }

    semaphore_tests!(native, super::super::Semaphore);
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    semaphore_tests!(portable, super::super::portable::Semaphore);
}
