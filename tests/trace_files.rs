//! Which files traced hives write, and when.

#![cfg(target_os = "linux")]

mod common;

use std::fs;

use common::process::{in_own_process, in_own_process_with};
use common::sys::fork;
use common::trace::{Room, Trace};
use common::{assert_says, assert_works};
use hive::Hive;

#[test]
fn the_global_hive_writes_when_the_process_ends() {
    let name = "the_global_hive_writes_when_the_process_ends";
    let room = Room::new("exit");
    let file = room.file();
    in_own_process_with(name, &[("HIVE_TRACE", file.to_str().unwrap()), ("HIVE_NUM_BEES", "2")], || {
        hive::spmd(2, |bee| bee.barrier());
        assert!(hive::global().report().warnings().is_empty(), "{}", hive::global().report());
        // One of its own: beside the first.
        Hive::new(2).unwrap().spmd(2, |_| ());
    });
    assert_eq!(Trace::read(&file).count("barrier"), 2);
    let second = Trace::read(&file.with_extension("2.json"));
    assert_eq!((second.count("region"), second.count("barrier")), (2, 0));
}

#[test]
fn a_forked_child_writes_nothing_of_its_parent_s() {
    let name = "a_forked_child_writes_nothing_of_its_parent_s";
    let room = Room::new("fork");
    let file = room.file();
    in_own_process_with(name, &[("HIVE_TRACE", file.to_str().unwrap()), ("HIVE_NUM_BEES", "2")], || {
        hive::spmd(2, |_| ());
        let own = hive::global().write_trace().unwrap();
        fs::write(&own, "untouched").unwrap();
        let child = fork(|| {
            assert_says(&hive::global().write_trace().unwrap_err().to_string(), &["forked"]);
            assert_works(&Hive::new(2).unwrap(), 2);
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
        assert_works(&hive, 2);
        assert_says(&hive.report().warnings().join("\n"), &["nothing is traced", "/nowhere/at/all.json"]);
        assert_says(&hive.write_trace().unwrap_err().to_string(), &["not traced"]);
    });
    assert!(!output.contains("cannot be written"), "{output}");
}

#[test]
fn an_empty_name_is_a_warning() {
    in_own_process_with("an_empty_name_is_a_warning", &[("HIVE_TRACE", " ")], || {
        let hive = Hive::new(2).unwrap();
        assert_works(&hive, 2);
        assert_says(&hive.report().warnings().join("\n"), &["HIVE_TRACE", "name of a file"]);
        assert!(!hive.report().to_string().contains("tracing:"));
    });
}
