//! A number for each thread, cheaper to ask for than the standard library's.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Differs between any two threads of a process, living or dead; not 0 and not the largest number.
pub(crate) type ThreadToken = u64;

thread_local! {
    /// 0: not given yet.
    static TOKEN: Cell<ThreadToken> = const { Cell::new(0) };
}

/// The calling thread's.
#[inline(always)]
pub(crate) fn this_thread() -> ThreadToken {
    match TOKEN.get() {
        0 => give(),
        token => token,
    }
}

#[cold]
fn give() -> ThreadToken {
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    // Relaxed: only the numbers themselves must differ.
    let token = GIVEN.fetch_add(1, Ordering::Relaxed) + 1;
    TOKEN.set(token);
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_token_and_no_other_has_it() {
        let own = this_thread();
        let other = std::thread::spawn(this_thread).join().unwrap();
        assert_eq!(this_thread(), own);
        assert_ne!(other, own);
        assert!(own != 0 && other != 0, "{own}, {other}");
    }
}
