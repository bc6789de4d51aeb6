//! Several test programs of a package as one, which is built and linked once: for the sanitizers (`.ci/sanitizers`).
//! Each is a module here, so a test is called `PROGRAM::TEST`, and that script runs the tests of each program in a
//! process of their own, as if it were still one.

// A file with a line `#[path = "..."] mod PROGRAM;` for each.
include!(env!("HIVE_TEST_PROGRAMS"));
