//! Copying without writing what is the same already: a cache line that is written to has to be fetched anew by each
//! core that reads it.

#![expect(unsafe_code, reason = "copies words whose bytes need not be initialised")]

use std::mem::MaybeUninit;
use std::ptr;

/// Copies `words` words from `from` to `to`, unless they are the same.
///
/// # Safety
/// `from` is valid for reading them and `to` for writing, both are aligned, and they do not overlap. No other thread
/// accesses them meanwhile.
#[inline(always)]
pub(crate) unsafe fn copy_changed_words(from: *const MaybeUninit<u64>, to: *mut MaybeUninit<u64>, words: usize) {
    // SAFETY: as the caller promises.
    if unsafe { are_same(from, to, words) } {
        // What lies there is what has been copied: addresses in it are those of now, not what they were before.
        pretend_to_copy(from, to);
    } else {
        // SAFETY: as the caller promises.
        unsafe { ptr::copy_nonoverlapping(from, to, words) };
    }
}

/// Does nothing that the compiler could know not to be a copy.
#[inline(always)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn pretend_to_copy(from: *const MaybeUninit<u64>, to: *mut MaybeUninit<u64>) {
    // SAFETY: it is no instruction at all.
    unsafe { std::arch::asm!("/* {0} {1} */", in(reg) from, in(reg) to, options(nostack, preserves_flags)) };
}

#[inline(always)]
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn pretend_to_copy(_: *const MaybeUninit<u64>, _: *mut MaybeUninit<u64>) {}

/// Whether they are. The bytes between the fields of a value have none that Rust would let one look at, so the
/// processor is asked.
#[inline(always)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn are_same(a: *const MaybeUninit<u64>, b: *const MaybeUninit<u64>, words: usize) -> bool {
    let mut difference = 0;
    for word in 0..words {
        let (a, b) = (a.wrapping_add(word), b.wrapping_add(word));
        let mut own: u64;
        // SAFETY: it reads two words that the caller may read, and changes a register.
        unsafe {
            std::arch::asm!(
                "mov {own}, [{a}]", "xor {own}, [{b}]",
                own = out(reg) own, a = in(reg) a, b = in(reg) b, options(pure, readonly, nostack)
            );
        }
        difference |= own;
    }
    difference == 0
}

/// On other processors they are always written.
#[inline(always)]
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn are_same(_: *const MaybeUninit<u64>, _: *const MaybeUninit<u64>, _: usize) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_afterwards() {
        let mut to = [0_u64; 5];
        for from in [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 2, 3, 4, 6]] {
            // SAFETY: two arrays.
            unsafe { copy_changed_words(from.as_ptr().cast(), to.as_mut_ptr().cast(), 5) };
            assert_eq!(from, to);
        }
    }
}
