//! Which files hives with tracing on write, and when.
//!
//! See `docs/tracing.md`.

#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::os::fd::AsRawFd;

use common::process::{in_own_process, in_own_process_with};
use common::sys::fork;
use common::trace_reader::{Trace, TraceDirectory};
use common::{assert_contains_all, assert_hive_works, sys};
use hive::Hive;

#[test]
fn the_global_hive_writes_when_the_process_ends() {
    let name = "the_global_hive_writes_when_the_process_ends";
    let room = TraceDirectory::new("exit");
    let file = room.file();
    in_own_process_with(name, &[("HIVE_TRACE", file.to_str().unwrap()), ("HIVE_NUM_BEES", "2")], || {
        hive::spmd(2, |bee| bee.barrier());
        assert!(hive::global().report().warnings().is_empty(), "{}", hive::global().report());
        // A second hive writes a file of its own beside the first.
        Hive::new(2).unwrap().spmd(2, |_| ());
    });
    assert_eq!(Trace::read(&file).count("barrier"), 2);
    let second = Trace::read(&file.with_extension("2.json"));
    assert_eq!((second.count("region"), second.count("barrier")), (2, 0));
}

#[test]
fn a_forked_child_writes_nothing_of_its_parent_s() {
    let name = "a_forked_child_writes_nothing_of_its_parent_s";
    let room = TraceDirectory::new("fork");
    let file = room.file();
    in_own_process_with(name, &[("HIVE_TRACE", file.to_str().unwrap()), ("HIVE_NUM_BEES", "2")], || {
        hive::spmd(2, |_| ());
        let global = hive::global();
        let own = global.write_trace().unwrap();
        fs::write(&own, "untouched").unwrap();
        let child = fork(|| {
            assert_contains_all(&global.write_trace().unwrap_err().to_string(), &["forked"]);
            assert_hive_works(&Hive::new(2).unwrap(), 2);
            std::process::exit(0);
        });
        child.join();
        assert_eq!(fs::read_to_string(&own).unwrap(), "untouched");
    });
    assert_eq!(Trace::read(&file).count("region"), 2, "the parent's end");
    assert_eq!(Trace::read(&file.with_extension("2.json")).count("region"), 2, "of the child's own hive");
}

#[test]
fn a_file_that_cannot_be_made_is_a_warning() {
    let name = "a_file_that_cannot_be_made_is_a_warning";
    let output = in_own_process(name, || {
        let hive = Hive::builder().bees(2).trace("/nowhere/at/all.json").build().unwrap();
        assert_hive_works(&hive, 2);
        assert_contains_all(&hive.report().warnings().join("\n"), &["nothing is traced", "/nowhere/at/all.json"]);
        assert_contains_all(&hive.write_trace().unwrap_err().to_string(), &["not traced"]);
    });
    assert!(!output.contains("cannot be written"), "{output}");
}

/// The warning of a hive that is to write its trace there. (The second hive of a process gets another file name, so
/// that name is made a link to this file.)
fn tracer_s_warning(file: &std::path::Path) -> String {
    let link = file.with_extension("link");
    std::os::unix::fs::symlink(file, &link).unwrap();
    Hive::builder().bees(1).trace(link).build().unwrap().report().warnings().join("\n")
}

/// Opening a named pipe waits for the other end, which must not happen.
#[test]
fn a_named_pipe_is_refused_and_not_waited_for() {
    let name = "a_named_pipe_is_refused_and_not_waited_for";
    let room = TraceDirectory::new("pipe");
    let file = room.file();
    let output = in_own_process_with(name, &[("HIVE_TRACE", file.to_str().unwrap()), ("HIVE_NUM_BEES", "2")], || {
        sys::make_fifo(&file);
        let hive = Hive::new(2).unwrap();
        assert_hive_works(&hive, 2);
        assert_contains_all(
            &hive.report().warnings().join("\n"),
            &["nothing is traced", file.to_str().unwrap(), "it is a pipe", "a regular file"],
        );
        // It is refused even if a process reads the pipe.
        let _reader = fs::OpenOptions::new().read(true).write(true).open(&file).unwrap();
        assert_contains_all(&tracer_s_warning(&file), &["it is a pipe"]);
    });
    assert!(!output.contains("cannot be written"), "{output}");
}

/// A file that has become a pipe by the end of the process.
#[test]
fn the_end_of_the_process_does_not_wait_for_a_pipe() {
    let name = "the_end_of_the_process_does_not_wait_for_a_pipe";
    let room = TraceDirectory::new("late-pipe");
    let file = room.file();
    let output = in_own_process_with(name, &[("HIVE_TRACE", file.to_str().unwrap()), ("HIVE_NUM_BEES", "2")], || {
        hive::spmd(2, |_| ());
        assert!(hive::global().report().warnings().is_empty(), "{}", hive::global().report());
        fs::remove_file(&file).unwrap();
        sys::make_fifo(&file);
    });
    assert_contains_all(&output, &["the trace ", "cannot be written: it is a pipe"]);
}

#[test]
fn what_can_be_written_to_without_waiting_is_taken() {
    let name = "what_can_be_written_to_without_waiting_is_taken";
    let room = TraceDirectory::new("targets");
    let (file, directory) = (room.file(), room.file().with_extension("d"));
    in_own_process_with(name, &[("HIVE_TRACE", "/dev/null"), ("HIVE_NUM_BEES", "2")], || {
        assert!(hive::global().report().warnings().is_empty(), "{}", hive::global().report());
        assert_eq!(hive::global().write_trace().unwrap().to_str(), Some("/dev/null"));
        fs::create_dir_all(&directory).unwrap();
        let refused = Hive::builder().bees(1).trace(&directory).build().unwrap().report().warnings().join("\n");
        assert_contains_all(&refused, &["nothing is traced", "it is a directory"]);
        // The old content is gone.
        fs::write(&file, "x".repeat(1 << 20)).unwrap();
        drop(Hive::builder().bees(1).trace(&file).build().unwrap());
        assert!(fs::metadata(&file).unwrap().len() < 1 << 20);
    });
}

/// The file that standard output or standard error goes to is not emptied, whatever it is called, and what is written
/// before, by the timeline, and afterwards comes one after the other.
#[test]
fn the_file_behind_an_open_descriptor_is_continued() {
    let room = TraceDirectory::new("descriptors");
    let file = room.file();
    let own_name = file.to_str().unwrap().to_owned();
    in_own_process("the_file_behind_an_open_descriptor_is_continued", || {
        let names = ["/dev/stdout", "/proc/self/fd/1", "/dev/stderr", "/dev/fd/9", &own_name];
        for (name, descriptor) in names.into_iter().zip([1, 1, 2, 9, 1]) {
            sys::while_redirected(descriptor, &file, |write| {
                write("before\n");
                Hive::builder().bees(2).trace(name).build().unwrap().spmd(2, |_| ());
                write("after\n");
            });
            let text = fs::read_to_string(&file).unwrap();
            let trace = text.strip_prefix("before\n").and_then(|text| text.strip_suffix("after\n"));
            assert_eq!(Trace::parse(trace.unwrap_or_else(|| panic!("{name}: {text}"))).count("region"), 2, "{name}");
        }
    });
}

/// A file that the process reads by the descriptor, and one that is opened where standard output is closed, are written
/// to as others are.
#[test]
fn a_file_that_no_open_descriptor_writes_to_is_emptied() {
    let room = TraceDirectory::new("emptied");
    let file = room.file();
    in_own_process("a_file_that_no_open_descriptor_writes_to_is_emptied", || {
        let trace_to = |name: &str| {
            Hive::builder().bees(2).trace(name).build().unwrap().spmd(2, |_| ());
            assert_eq!(Trace::read(&file).count("region"), 2, "{name}");
        };
        let old = "x".repeat(1 << 20);
        fs::write(&file, &old).unwrap();
        let reader = fs::File::open(&file).unwrap();
        trace_to(&format!("/dev/fd/{}", reader.as_raw_fd()));
        fs::write(&file, &old).unwrap();
        sys::without_stdout(|| trace_to(file.to_str().unwrap()));
    });
}

#[test]
fn a_device_that_takes_nothing_is_told() {
    let output = in_own_process("a_device_that_takes_nothing_is_told", || {
        drop(Hive::builder().bees(2).trace("/dev/full").build().unwrap());
    });
    assert_contains_all(&output, &["the trace /dev/full cannot be written"]);
}

/// A hive that cannot be built leaves the name to the next one.
#[test]
fn a_build_that_fails_takes_no_name() {
    let room = TraceDirectory::new("failed");
    let file = room.file();
    in_own_process("a_build_that_fails_takes_no_name", || {
        let builder = || Hive::builder().bees(2).trace(&file);
        // No system has room for such a stack.
        (0..2).for_each(|_| drop(builder().stack_size(1 << 60).build().unwrap_err()));
        let hive = builder().build().unwrap();
        hive.spmd(2, |_| ());
        assert_eq!(hive.write_trace().unwrap(), file);
        drop(hive);
        assert_eq!(Trace::read(&file).count("region"), 2);
    });
}

#[test]
fn an_empty_name_is_a_warning() {
    in_own_process_with("an_empty_name_is_a_warning", &[("HIVE_TRACE", " ")], || {
        let hive = Hive::new(2).unwrap();
        assert_hive_works(&hive, 2);
        assert_contains_all(&hive.report().warnings().join("\n"), &["HIVE_TRACE", "name of a file"]);
        assert!(!hive.report().to_string().contains("tracing:"));
    });
}
