//! The kernels of `c/kernels`, which are compiled twice: with OpenMP, and without it as plain loops.

use std::ffi::c_int;

/// Which of the two.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InC {
    /// By a team of so many.
    OpenMp { members: c_int },
    /// On the calling thread.
    Plain,
}

/// A function of both kinds: gives it the name by which Rust calls it, with `by: InC` before its arguments.
macro_rules! compiled_twice {
    ($(fn $name:ident = $openmp:ident, $plain:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        /// # Safety
        /// Pointers lead to as much as the function in `c/kernels` says, and nobody else uses what it writes.
        #[expect(unsafe_code, reason = "a function in C")]
        unsafe fn $name(by: $crate::kernels::in_c::InC, $($argument: $type),*) $(-> $result)? {
            unsafe extern "C" {
                fn $openmp(members: std::ffi::c_int, $($argument: $type),*) $(-> $result)?;
                fn $plain(members: std::ffi::c_int, $($argument: $type),*) $(-> $result)?;
            }
            match by {
                // SAFETY: the caller's promise.
                $crate::kernels::in_c::InC::OpenMp { members } => unsafe { $openmp(members, $($argument),*) },
                // SAFETY: the caller's promise.
                $crate::kernels::in_c::InC::Plain => unsafe { $plain(1, $($argument),*) },
            }
        }
    )*};
}
pub(crate) use compiled_twice;
