//! `hive-bench crowd`, `numeric`, `captures` and `sweep` as their users run them. Nothing here looks at how long
//! anything took.

mod common;

use common::{hive_bench, refused, stderr, stdout};

#[test]
fn every_way_has_a_figure() {
    let output = hive_bench(&["crowd", "--seconds", "0.01", "--rounds=1", "--work=5", "--scene", "alone,free,two"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let text = stdout(&output);
    let lines: Vec<_> = text.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines.iter().map(|words| words[0]).collect::<Vec<_>>(), ["alone", "free", "two"], "{text}");
    assert!(lines.iter().all(|words| words.len() >= 3 + 2 * 6 && !words.contains(&"-")), "{text}");
}

#[test]
fn every_program_is_run_every_way() {
    let output = hive_bench(&["numeric", "--quick", "--program", "red-black,sort"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let text = stdout(&output);
    let words: Vec<Vec<_>> = text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    let begins = ["red-black alone", "red-black free", "red-black rayon", "sort alone", "sort free", "sort rayon"];
    for (words, begin) in words.iter().zip(begins) {
        assert_eq!(words[..2].join(" "), begin, "{text}");
        // The radix sort is not written as a region.
        let missing = words.iter().filter(|word| **word == "-").count();
        assert_eq!(missing, if words[0] == "sort" { 2 } else { 0 }, "{text}");
    }
    assert_eq!(words.iter().filter(|words| words[0] == "mean").count(), 3, "{text}");
    assert!(text.lines().last().is_some_and(|line| line.starts_with("worst: a hive's loops take ")), "{text}");
}

#[test]
fn captures_are_measured_for_both_calls() {
    let output = hive_bench(&["captures"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(["spmd", "par_for", "16 words"].iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn a_sweep_ends_with_the_line_that_matters() {
    let output = hive_bench(&["sweep"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 2 + 21 + 1, "{text}");
    assert!(text.lines().last().is_some_and(|line| line.starts_with("worst: par_")), "{text}");
}

#[test]
fn bad_usage_names_the_flag() {
    refused(&["crowd", "--scene", "crowded"], &["--scene", "crowded", "alone"]);
    refused(&["crowd", "--seconds", "0"], &["--seconds", "such as 1 or 0.2"]);
    refused(&["numeric", "--program", "chess"], &["--program", "chess", "wavefront"]);
    refused(&["sweep", "--pause", "0"], &["--pause"]);
}

#[cfg(target_os = "linux")]
mod busy {
    use std::fs;
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    const PROGRAM: &str = env!("CARGO_BIN_EXE_hive-bench");

    /// Waits until there is something. The limit is only there so that a test ends that would never end.
    fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = find() {
                return found;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
            sleep(Duration::from_millis(5));
        }
    }

    /// The state of a process and its parent, from `/proc`, as long as there is such a process.
    fn state_and_parent(process: u32) -> Option<(String, u32)> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // After the name, which is in brackets and may have spaces.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
    }

    /// The busy process that this parent has started.
    fn busy_of(parent: u32) -> Option<u32> {
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.find(|process| {
            let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let is_busy = arguments.split(|byte| *byte == 0).nth(1) == Some(b"busy");
            is_busy && state_and_parent(*process).is_some_and(|(_, of)| of == parent)
        })
    }

    #[test]
    fn it_ends_with_its_pipe() {
        let mut child = Command::new(PROGRAM).arg("busy").stdin(Stdio::piped()).spawn().expect("hive-bench starts");
        sleep(Duration::from_millis(20));
        assert!(child.try_wait().expect("its state").is_none(), "it must not end by itself");
        drop(child.stdin.take());
        wait_for("the end of the busy process", || child.try_wait().expect("its state"));
    }

    #[test]
    fn it_ends_with_its_parent() {
        // The parent has no time to clean up. Its other child, which measures, ends by itself soon.
        let line = ["crowd", "--scene=free", "--work=10", "--rounds=1", "--seconds=2"];
        let mut parent =
            Command::new(PROGRAM).args(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let busy = wait_for("a busy process", || busy_of(parent.id()));
        parent.kill().expect("it can be killed");
        parent.wait().expect("it ends");
        // Whoever inherits it may leave its entry: a zombie has ended, too.
        wait_for("the end of the busy process", || {
            state_and_parent(busy).is_none_or(|(state, _)| state == "Z").then_some(())
        });
    }
}
