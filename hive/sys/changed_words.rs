//! Copying without writing what is the same already: a cache line that is written to has to be fetched anew by each
//! core that reads it.

#![allow(unsafe_code, reason = "copies words whose bytes need not be initialised")]

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::mem::MaybeUninit;

/// Copies `words` words from `from` to `to`, unless they are the same.
///
/// # Safety
/// `from` is valid for reading them and `to` for writing, both are aligned, and they do not overlap. No other thread
/// accesses them meanwhile.
#[inline(always)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) unsafe fn copy_changed_words(from: *const MaybeUninit<u64>, to: *mut MaybeUninit<u64>, words: usize) {
    // SAFETY: as the caller promises.
    if unsafe { are_same(from, to, words) } {
        // What lies there is what has been copied: addresses in it are those of now, not what they were before. For
        // all that the compiler knows, this copies it.
        // SAFETY: it is no instruction at all.
        unsafe { std::arch::asm!("/* {0} {1} */", in(reg) from, in(reg) to, options(nostack, preserves_flags)) };
    } else {
        // SAFETY: as the caller promises.
        unsafe { from.copy_to_nonoverlapping(to, words) };
    }
}

/// On other processors they are always written.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) use std::ptr::copy_nonoverlapping as copy_changed_words;

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

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::copy_changed_words;

    #[test]
    fn words_are_the_same_afterwards() {
        let mut to = [0_u64; 5];
        for from in [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 2, 3, 4, 6]] {
            // SAFETY: two arrays.
            unsafe { copy_changed_words(from.as_ptr().cast::<MaybeUninit<u64>>(), to.as_mut_ptr().cast(), 5) };
            assert_eq!(from, to);
        }
    }
}
