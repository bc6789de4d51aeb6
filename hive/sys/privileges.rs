//! Whether the program has more rights than the user who has started it.

/// Whether it has: it is set-uid or set-gid, or its file has capabilities. The environment is the user's. So whatever
/// names a file there is ignored: the program would read or write that file with rights that the user does not have.
/// (What only changes how fast hive is, such as `HIVE_SPIN`, is obeyed.)
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[expect(unsafe_code, reason = "a C call")]
pub(crate) fn are_raised() -> bool {
    // SAFETY: the call takes a number and returns one that the kernel has put beside the environment.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Not known on these systems.
#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) fn are_raised() -> bool {
    false
}
