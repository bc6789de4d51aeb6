//! Runs the cases in child processes, many in each, and starts another process when one hangs or dies.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::super::common::{proc_threads, process, sys, time_limit};
use super::case::{Case, Groups};
use super::summary::{Failure, Summary};
use super::worker::{CASE_ENDS, CASE_FAILS};

/// Set in the processes that run cases.
pub(crate) const CHILD_VARIABLE: &str = "HIVE_COMPOSITIONS_CHILD";

/// Runs the lists of cases side by side, each in processes of its own. No case is begun any more when `most` have
/// failed.
pub(crate) fn run(test: &str, lists: impl Iterator<Item = Vec<String>> + Send, most: usize) -> Summary {
    let lists = Mutex::new(lists);
    let summary = Mutex::new(Summary::default());
    let next = || lists.lock().unwrap_or_else(PoisonError::into_inner).next();
    let workers = thread::available_parallelism().map_or(2, |cpus| cpus.get().min(8));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(list) = next() {
                    run_list(test, &list, &summary, most);
                }
            });
        }
    });
    summary.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn run_list(test: &str, mut cases: &[String], summary: &Mutex<Summary>, most: usize) {
    let lock = || summary.lock().unwrap_or_else(PoisonError::into_inner);
    while !cases.is_empty() && lock().failures.len() < most {
        let mut worker = CaseProcess::start(test, cases);
        let ended = worker.read_until_end(cases.len(), |ending| lock().passed(ending));
        let said = worker.end();
        let (passed, rest) = cases.split_at(ended.passed);
        cases = rest;
        if let Some(mut how) = ended.how {
            if !said.is_empty() {
                how = format!("{how} [{said}]");
            }
            match cases.split_first() {
                Some((case, rest)) => {
                    lock().failed(Failure { case: case.clone(), how, is_firm: ended.is_death });
                    cases = rest;
                }
                // The last case has passed and has been counted already; the process failed at its end.
                None => lock().failed_at_end(passed.last().map_or("", String::as_str), how),
            }
        }
    }
}

/// How far a process has come with its list. If something failed, it was the case after those that passed. If all have
/// passed, the process itself may have failed at its end.
struct ProcessEnd {
    passed: usize,
    how: Option<String>,
    /// Whether the process has ended when it should not have, or with a wrong status.
    is_death: bool,
}

/// A process that runs cases.
struct CaseProcess {
    child: Child,
    lines: Receiver<String>,
    said: JoinHandle<String>,
}

impl CaseProcess {
    fn start(test: &str, cases: &[String]) -> Self {
        let mut command = process::command_for(test);
        command.env(CHILD_VARIABLE, "1");
        // All cases of a list wait in the same way.
        let is_in_groups = |name: &String| name.parse::<Case>().is_ok_and(|case| case.waiting.groups != Groups::One);
        if cases.first().is_some_and(is_in_groups) {
            command.envs(Groups::MACHINE);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the test program runs");
        let (mut input, names) = (child.stdin.take().expect("piped"), cases.join("\n"));
        // This thread ends when the child does, at the latest.
        thread::spawn(move || input.write_all(names.as_bytes()));
        let (output, errors) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let said = thread::spawn(move || last_lines(errors));
        Self { child, lines, said }
    }

    /// Reads the child's output until the child has run `count` cases and has ended, until a case fails, or until the
    /// child is silent for too long.
    fn read_until_end(&mut self, count: usize, mut passed: impl FnMut(&str)) -> ProcessEnd {
        let mut ended = ProcessEnd { passed: 0, how: None, is_death: false };
        while ended.how.is_none() {
            match self.lines.recv_timeout(case_time_limit()) {
                Ok(line) => {
                    if let Some(ending) = line.strip_prefix(CASE_ENDS) {
                        ended.passed += 1;
                        passed(ending);
                    }
                    ended.how = line.strip_prefix(CASE_FAILS).map(ToOwned::to_owned);
                }
                Err(RecvTimeoutError::Timeout) => {
                    process::print_stacks(self.child.id());
                    let threads = proc_threads::list(Some(self.child.id()));
                    ended.how = Some(format!(
                        "hangs; its threads: {}",
                        threads.split_whitespace().collect::<Vec<_>>().join(" ")
                    ));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait().expect("it is our child");
                    // A sanitizer also reports at the end of the process.
                    if ended.passed == count && status.success() {
                        break;
                    }
                    ended.is_death = true;
                    ended.how = Some(format!("dies: {status}"));
                }
            }
        }
        ended
    }

    /// Ends the process if it still runs, and returns the end of what it has written.
    fn end(mut self) -> String {
        sys::kill_process_group(self.child.id());
        self.child.wait().expect("it was killed");
        self.said.join().expect("reading does not panic")
    }
}

/// How long a process may be silent. A case takes milliseconds.
fn case_time_limit() -> Duration {
    time_limit().min(Duration::from_secs(20))
}

/// The last lines of what a process has written on standard error, as one line; or the beginning of a sanitizer's
/// report.
fn last_lines(errors: impl Read) -> String {
    const LINES: usize = 6;
    const REPORT_WIDTH: usize = 100;
    let (mut last, mut is_report) = (Vec::new(), false);
    for line in BufReader::new(errors).lines().map_while(Result::ok).filter(|line| !line.is_empty()) {
        if !is_report && line.contains("Sanitizer: ") {
            is_report = true;
            last.clear();
        }
        last.push(line);
        if is_report {
            last.truncate(REPORT_WIDTH);
        } else if last.len() > LINES {
            last.remove(0);
        }
    }
    last.join(" | ")
}
