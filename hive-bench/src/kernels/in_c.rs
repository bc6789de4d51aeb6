//! The kernels of `c/kernels`, which are compiled twice: with OpenMP, and without it as plain loops.

use std::ffi::c_int;

/// Which of the two compiled versions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InC {
    /// With OpenMP, by a team of so many threads.
    OpenMp { threads: c_int },
    /// As plain loops, on the calling thread.
    Plain,
}

/// Declares both versions of a function, and one function for Rust that calls either, by its first argument `by: InC`.
macro_rules! compiled_twice {
    ($(fn $name:ident = $openmp:ident, $plain:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        /// # Safety
        /// Pointers lead to as much memory as the function in `c/kernels` says, and no other thread uses what it
        /// writes.
        #[expect(unsafe_code, reason = "a function in C")]
        unsafe fn $name(by: $crate::kernels::in_c::InC, $($argument: $type),*) $(-> $result)? {
            unsafe extern "C" {
                fn $openmp(threads: std::ffi::c_int, $($argument: $type),*) $(-> $result)?;
                fn $plain(threads: std::ffi::c_int, $($argument: $type),*) $(-> $result)?;
            }
            match by {
                // SAFETY: the caller's promise.
                $crate::kernels::in_c::InC::OpenMp { threads } => unsafe { $openmp(threads, $($argument),*) },
                // SAFETY: the caller's promise.
                $crate::kernels::in_c::InC::Plain => unsafe { $plain(1, $($argument),*) },
            }
        }
    )*};
}
pub(crate) use compiled_twice;

/// Declares the body of a loop in C, over a part of the loop's indices. Teams other than OpenMP's call it on their
/// threads.
macro_rules! parts_in_c {
    ($(fn $name:ident = $part:literal($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        /// # Safety
        /// Pointers lead to as much memory as the function in `c/kernels` says, and meanwhile no other thread uses what
        /// it writes for the indices of `part`.
        #[expect(unsafe_code, reason = "a function in C")]
        unsafe fn $name($($argument: $type,)* part: std::ops::Range<usize>) $(-> $result)? {
            unsafe extern "C" {
                #[link_name = $part]
                fn in_c($($argument: $type,)* begin: usize, end: usize) $(-> $result)?;
            }
            // SAFETY: the caller's promise.
            unsafe { in_c($($argument,)* part.start, part.end) }
        }
    )*};
}
pub(crate) use parts_in_c;

/// Pointers that all threads of a team pass to loops in C.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointers<P>(P);

// SAFETY: threads only copy the pointers. Whoever calls C with them promises that the threads do not collide.
#[expect(unsafe_code, reason = "pointers are not Sync by themselves")]
unsafe impl<P> Sync for Pointers<P> {}

impl<P: Copy> Pointers<P> {
    pub(crate) const fn new(pointers: P) -> Self {
        Self(pointers)
    }

    pub(crate) const fn get(&self) -> P {
        self.0
    }
}
