//! A cost that most programs ignore: lock and unlock of a std Mutex without contention.

use std::hint::black_box;
use std::sync::Mutex;

/// Locks and unlocks `times` times.
pub(crate) fn lock_and_unlock(mutex: &Mutex<u64>, times: u64) {
    for _ in 0..times {
        *black_box(mutex).lock().expect("nobody panics with this lock") += 1;
    }
}
