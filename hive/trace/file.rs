//! The file: Chrome's trace event format, which is JSON, of a slice for all that lasts and an instant for what does not.

use std::fmt;
use std::io::{self, Write};
use std::process;

use super::event::Event;
use super::log::{Log, MOST, now};

/// What the file says of the hive.
pub(super) struct About<'a> {
    /// What its threads are called.
    pub(super) name: &'a str,
    pub(super) build: &'a str,
}

/// Writes the members' logs, in their order, and the hive's sizes, as they are now.
pub(super) fn write(out: &mut impl Write, about: &About<'_>, sizes: &[(u64, Event)], logs: &[&Log]) -> io::Result<()> {
    let dropped: usize = logs.iter().map(|log| log.dropped()).sum();
    writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{")?;
    writeln!(out, "\"hive\":{},\"members\":\"{}\",", Quoted(about.build), logs.len())?;
    writeln!(out, "\"events kept of each member\":\"{MOST}\",\"dropped events\":\"{dropped}\"}},\"traceEvents\":[")?;
    let pid = process::id();
    let name = format!("{}, {} members", about.name, logs.len());
    write!(out, "{{\"ph\":\"M\",\"pid\":{pid},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}", Quoted(&name))?;
    // What has not ended ends here.
    let end = now();
    let mut hive = Lane { out, pid, member: 0, open: Vec::new() };
    sizes.iter().try_for_each(|(time, size)| hive.event(*time, *size))?;
    for (member, log) in logs.iter().enumerate() {
        Lane { out, pid, member, open: Vec::new() }.write(log, end)?;
    }
    writeln!(out, "\n]}}")
}

/// The timeline of one member, as it is written.
struct Lane<'o, W> {
    out: &'o mut W,
    pid: u32,
    member: usize,
    /// What has begun and not ended, outermost first.
    open: Vec<Event>,
}

impl<W: Write> Lane<'_, W> {
    fn write(mut self, log: &Log, end: u64) -> io::Result<()> {
        let name = if self.member == 0 { "queen".to_owned() } else { format!("member {}", self.member) };
        let Self { pid, member, .. } = self;
        write!(self.out, ",\n{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{member},")?;
        write!(self.out, "\"name\":\"thread_name\",\"args\":{{\"name\":\"{name}\"}}}}")?;
        // Before the entries: those that are dropped while this goes on are beyond what it reads.
        let is_full = log.dropped() > 0;
        let mut last = 0;
        for (time, event) in log.entries() {
            self.event(time, event)?;
            last = time;
        }
        if is_full {
            self.line('i', last, ",\"s\":\"t\",\"name\":\"the log is full\"")?;
        }
        // Whoever was parked while asleep writes that down when it is up again.
        if self.open.last() == Some(&Event::Sleep)
            && let Some(mark) = log.mark_since(last).filter(|_| !is_full)
        {
            self.event(mark, Event::Up { is_woken: false })?;
            self.event(mark, Event::Park)?;
            last = mark;
        }
        let end = if is_full { last } else { end.max(last) };
        while self.open.pop().is_some() {
            self.line('E', end, "")?;
        }
        Ok(())
    }

    fn event(&mut self, time: u64, event: Event) -> io::Result<()> {
        match event {
            Event::Left
            | Event::Passed
            | Event::Come
            | Event::Called
            | Event::Gone
            | Event::Done
            | Event::Found
            | Event::Up { .. } => self.end(time, event),
            Event::Size(_) => self.line('C', time, Words(event)),
            Event::Steal { .. } | Event::Woken { .. } => self.line('i', time, format_args!(",\"s\":\"t\"{}", Words(event))),
            _ => {
                self.open.push(event);
                self.line('B', time, Words(event))
            }
        }
    }

    /// Ends what `event` is the end of, and with it what has begun since.
    fn end(&mut self, time: u64, event: Event) -> io::Result<()> {
        let Some(depth) = self.open.iter().rposition(|begin| event.ends(*begin)) else { return Ok(()) };
        while self.open.len() > depth {
            self.open.pop();
            self.line('E', time, Words(event))?;
        }
        Ok(())
    }

    /// One event of the file, and what else is said of it. Times are in microseconds there.
    fn line(&mut self, kind: char, time: u64, more: impl fmt::Display) -> io::Result<()> {
        let Self { pid, member, .. } = *self;
        let (micros, nanos) = (time / 1_000, time % 1_000);
        write!(self.out, ",\n{{\"ph\":\"{kind}\",\"pid\":{pid},\"tid\":{member},\"ts\":{micros}.{nanos:03}{more}}}")
    }
}

/// An event's name and what else is known of it, as they follow the rest. An end needs no name.
struct Words(Event);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Event::Region { number, team } => {
                return write!(f, ",\"name\":\"region\",\"args\":{{\"number\":{number},\"team\":{team}}}");
            }
            Event::Barrier(number) => return write!(f, ",\"name\":\"barrier\",\"args\":{{\"number\":{number}}}"),
            Event::Steal { from, distance } => {
                let distance = ["core", "cluster", "node", "far"].get(distance as usize).unwrap_or(&"far");
                return write!(f, ",\"name\":\"steal\",\"args\":{{\"from\":{from},\"distance\":\"{distance}\"}}");
            }
            Event::Woken { by } => return write!(f, ",\"name\":\"woken\",\"args\":{{\"by\":{by}}}"),
            Event::Size(bees) => return write!(f, ",\"name\":\"members\",\"args\":{{\"members\":{bees}}}"),
            Event::Up { is_woken } => return write!(f, ",\"args\":{{\"woken\":{is_woken}}}"),
            Event::Wait => "wait",
            Event::End => "end of region",
            Event::Call => "wake bees",
            Event::Place => "queen's place",
            Event::Task => "task",
            Event::Search => "search",
            Event::Sleep => "sleep",
            Event::Park => "parked",
            Event::Doze => "doze",
            Event::Left | Event::Passed | Event::Come | Event::Called | Event::Gone | Event::Done | Event::Found => return Ok(()),
        };
        write!(f, ",\"name\":\"{name}\"")
    }
}

/// A text as JSON has it.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
                other => write!(f, "{other}")?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// The file of these logs, parsed; its events as kind, name and arguments.
    fn written(name: &str, logs: &[&Log]) -> (Value, Vec<(String, String, Value)>) {
        let mut out = Vec::new();
        write(&mut out, &About { name, build: "build" }, &[(5, Event::Size(2))], logs).unwrap();
        let file: Value = serde_json::from_slice(&out).unwrap();
        let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let event = |event: &Value| (text(event, "ph"), text(event, "name"), event["args"].clone());
        let events = file["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .map(event)
            .filter(|(kind, _, _)| !["M", "C"].contains(&&**kind))
            .collect();
        (file, events)
    }

    fn log(most: usize, events: &[Event]) -> Log {
        let log = Log::default();
        log.open(most);
        events.iter().for_each(|event| log.write(*event));
        log
    }

    fn kinds(events: &[(String, String, Value)]) -> String {
        events.iter().map(|(kind, _, _)| kind.as_str()).collect()
    }

    #[test]
    fn slices_have_their_names_and_numbers() {
        let region = Event::Region { number: 7, team: 3 };
        let steal = Event::Steal { from: 2, distance: 1 };
        let log =
            log(MOST, &[region, Event::Barrier(1), Event::Passed, Event::End, Event::Left, steal, Event::Task, Event::Done]);
        let (file, events) = written("a \"name\"\n", &[&log]);
        assert_eq!(kinds(&events), "BBEBEEiBE");
        assert_eq!(events[0].1, "region");
        assert_eq!(events[0].2, serde_json::json!({"number": 7, "team": 3}));
        assert_eq!(events[6].2, serde_json::json!({"from": 2, "distance": "cluster"}));
        let events = file["traceEvents"].as_array().unwrap();
        assert_eq!(events[0]["args"]["name"], "a \"name\"\n, 1 members");
        assert_eq!((&events[1]["ts"], &events[1]["args"]["members"]), (&0.005.into(), &2.into()));
        assert_eq!(events[2]["args"]["name"], "queen");
        assert_eq!(file["otherData"]["dropped events"], "0");
    }

    #[test]
    fn what_is_open_ends_with_the_file_and_an_end_without_its_begin_is_left_out() {
        let (_, events) = written("x", &[&log(MOST, &[Event::Found, Event::Search, Event::Sleep])]);
        assert_eq!(kinds(&events), "BBEE");
        let (_, events) = written("x", &[&log(MOST, &[Event::Task, Event::Search, Event::Done])]);
        assert_eq!(kinds(&events), "BBEE", "an outer end ends the inner ones");
    }

    #[test]
    fn who_lies_parked_where_it_slept_is_shown_so() {
        let log = log(MOST, &[Event::Sleep]);
        std::thread::sleep(std::time::Duration::from_millis(1));
        log.mark();
        let (_, events) = written("x", &[&log]);
        assert_eq!(kinds(&events), "BEBE");
        assert_eq!([&events[0].1, &events[2].1], ["sleep", "parked"]);
    }

    #[test]
    fn a_log_that_was_full_says_so() {
        let log = log(1, &[Event::Search; 5_000]);
        let (file, events) = written("x", &[&log]);
        assert_eq!(file["otherData"]["dropped events"], "904");
        assert!(events.iter().any(|(_, name, _)| name == "the log is full"));
        let count = |wanted: &str| events.iter().filter(|(kind, _, _)| kind == wanted).count();
        assert_eq!((count("B"), count("E")), (4_096, 4_096));
    }
}
