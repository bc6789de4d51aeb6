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
