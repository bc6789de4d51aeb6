//! How long a thread has waited for a CPU while it could have run.

/// That time of the calling thread, in nanoseconds since it began. None where the system does not say it.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn nanos() -> Option<u64> {
    // The fields: how long the thread has run, how long it has waited, and how often it has been put on a CPU. The
    // second one stays 0 if the kernel does not measure it.
    crate::sys::kernel_file::line("/proc/thread-self/schedstat")?.split(' ').nth(1)?.parse().ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn nanos() -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::sys::clock;

    #[test]
    fn it_grows_with_time_and_no_faster() {
        let begin = clock::nanos();
        // Systems that do not say it are none that hive has to be tested on, but a sandbox may be one.
        let Some(before) = nanos() else { return };
        for _ in 0..100 {
            std::thread::yield_now();
        }
        let after = nanos().expect("it was known before");
        assert!(after >= before && after - before <= clock::nanos_since(begin), "{before} {after}");
    }
}
