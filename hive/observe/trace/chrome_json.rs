//! The file: Chrome's trace event format, which is JSON, of a slice for all that lasts and an instant for what does not.

use std::io::Write;
use std::{fmt, io, process};

use crate::observe::trace::event::Event;
use crate::observe::trace::log::{Log, MAX_ENTRIES, nanos_since_start};

/// What the file says of the hive.
pub(crate) struct TraceHeader<'a> {
    /// What its threads are called.
    pub(crate) name: &'a str,
    pub(crate) build: &'a str,
}

/// Writes the bees' logs, in their order, and the hive's sizes, as they are now.
pub(crate) fn write_json(
    out: &mut impl Write,
    header: &TraceHeader<'_>,
    sizes: &[(u64, Event)],
    logs: &[&Log],
) -> io::Result<()> {
    let dropped: usize = logs.iter().map(|log| log.dropped()).sum();
    writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{")?;
    writeln!(out, "\"hive\":{},\"bees\":\"{}\",", JsonString(header.build), logs.len())?;
    writeln!(
        out,
        "\"events kept of each bee\":\"{MAX_ENTRIES}\",\"dropped events\":\"{dropped}\"}},\"traceEvents\":["
    )?;
    let pid = process::id();
    let name = format!("{}, {} bees", header.name, logs.len());
    write!(
        out,
        "{{\"ph\":\"M\",\"pid\":{pid},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}",
        JsonString(&name)
    )?;
    // What has not ended ends here.
    let end = nanos_since_start();
    let mut timeline = Timeline { out, pid, bee: 0, open_slices: Vec::new() };
    sizes.iter().try_for_each(|(time, size)| timeline.write_event(*time, *size))?;
    for (bee, log) in logs.iter().enumerate() {
        Timeline { out, pid, bee, open_slices: Vec::new() }.write_log(log, end)?;
    }
    writeln!(out, "\n]}}")
}

/// The timeline of one bee, as it is written.
struct Timeline<'o, W> {
    out: &'o mut W,
    pid: u32,
    bee: usize,
    /// What has begun and not ended, outermost first.
    open_slices: Vec<Event>,
}

impl<W: Write> Timeline<'_, W> {
    fn write_log(mut self, log: &Log, end: u64) -> io::Result<()> {
        let name = if self.bee == 0 { "queen".to_owned() } else { format!("bee {}", self.bee) };
        let Self { pid, bee, .. } = self;
        write!(self.out, ",\n{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{bee},")?;
        write!(self.out, "\"name\":\"thread_name\",\"args\":{{\"name\":\"{name}\"}}}}")?;
        // Before the entries: those that are dropped while this goes on are beyond what it reads.
        let is_full = log.dropped() > 0;
        let mut last = 0;
        for (time, event) in log.entries() {
            self.write_event(time, event)?;
            last = time;
        }
        if is_full {
            self.write_line('i', last, ",\"s\":\"t\",\"name\":\"the log is full\"")?;
        }
        // Whoever was parked while asleep writes that down when it is up again.
        if self.open_slices.last() == Some(&Event::Sleep)
            && let Some(marked) = log.marked_time_since(last).filter(|_| !is_full)
        {
            self.write_event(marked, Event::Resume { is_woken: false })?;
            self.write_event(marked, Event::Park)?;
            last = marked;
        }
        let end = if is_full { last } else { end.max(last) };
        while self.open_slices.pop().is_some() {
            self.write_line('E', end, "")?;
        }
        Ok(())
    }

    fn write_event(&mut self, time: u64, event: Event) -> io::Result<()> {
        match event {
            Event::RegionEnd
            | Event::BarrierEnd
            | Event::WaitEnd
            | Event::WakeEnd
            | Event::QueenSlotEnd
            | Event::TaskEnd
            | Event::SearchEnd
            | Event::Resume { .. } => self.write_end(time, event),
            Event::TeamSize(_) => self.write_line('C', time, EventFields(event)),
            Event::Steal { .. } | Event::Woken { .. } => {
                self.write_line('i', time, format_args!(",\"s\":\"t\"{}", EventFields(event)))
            }
            _ => {
                self.open_slices.push(event);
                self.write_line('B', time, EventFields(event))
            }
        }
    }

    /// Ends what `write_event` is the end of, and with it what has begun since.
    fn write_end(&mut self, time: u64, event: Event) -> io::Result<()> {
        let Some(depth) = self.open_slices.iter().rposition(|begin| event.is_end_of(*begin)) else { return Ok(()) };
        while self.open_slices.len() > depth {
            self.open_slices.pop();
            self.write_line('E', time, EventFields(event))?;
        }
        Ok(())
    }

    /// One event of the file, and what else is said of it. Times are in microseconds there.
    fn write_line(&mut self, kind: char, time: u64, details: impl fmt::Display) -> io::Result<()> {
        let Self { pid, bee, .. } = *self;
        let (micros, nanos) = (time / 1_000, time % 1_000);
        write!(self.out, ",\n{{\"ph\":\"{kind}\",\"pid\":{pid},\"tid\":{bee},\"ts\":{micros}.{nanos:03}{details}}}")
    }
}

/// An event's name and what else is known of it, as they follow the rest. An end needs no name.
struct EventFields(Event);

impl fmt::Display for EventFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Event::RegionBegin { number, bees } => {
                return write!(f, ",\"name\":\"region\",\"args\":{{\"number\":{number},\"team\":{bees}}}");
            }
            Event::BarrierBegin(number) => return write!(f, ",\"name\":\"barrier\",\"args\":{{\"number\":{number}}}"),
            Event::Steal { from, distance } => {
                let distance = ["core", "cluster", "node", "far"].get(distance as usize).unwrap_or(&"far");
                return write!(f, ",\"name\":\"steal\",\"args\":{{\"from\":{from},\"distance\":\"{distance}\"}}");
            }
            Event::Woken { by } => return write!(f, ",\"name\":\"woken\",\"args\":{{\"by\":{by}}}"),
            Event::TeamSize(bees) => return write!(f, ",\"name\":\"bees\",\"args\":{{\"bees\":{bees}}}"),
            Event::Resume { is_woken } => return write!(f, ",\"args\":{{\"woken\":{is_woken}}}"),
            Event::WaitBegin => "wait",
            Event::QueenWait => "end of region",
            Event::WakeBegin => "wake bees",
            Event::QueenSlotBegin => "queen's place",
            Event::TaskBegin => "task",
            Event::SearchBegin => "search",
            Event::Sleep => "sleep",
            Event::Park => "parked",
            Event::Block => "blocked",
            Event::RegionEnd
            | Event::BarrierEnd
            | Event::WaitEnd
            | Event::WakeEnd
            | Event::QueenSlotEnd
            | Event::TaskEnd
            | Event::SearchEnd => return Ok(()),
        };
        write!(f, ",\"name\":\"{name}\"")
    }
}

/// A text as JSON has it.
struct JsonString<'t>(&'t str);

impl fmt::Display for JsonString<'_> {
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
        write_json(&mut out, &TraceHeader { name, build: "build" }, &[(5, Event::TeamSize(2))], logs).unwrap();
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

    fn log(max: usize, events: &[Event]) -> Log {
        let log = Log::default();
        log.open(max);
        events.iter().for_each(|event| log.write(*event));
        log
    }

    fn kinds(events: &[(String, String, Value)]) -> String {
        events.iter().map(|(kind, _, _)| kind.as_str()).collect()
    }

    #[test]
    fn slices_have_their_names_and_numbers() {
        let region = Event::RegionBegin { number: 7, bees: 3 };
        let steal = Event::Steal { from: 2, distance: 1 };
        let log = log(
            MAX_ENTRIES,
            &[
                region,
                Event::BarrierBegin(1),
                Event::BarrierEnd,
                Event::QueenWait,
                Event::RegionEnd,
                steal,
                Event::TaskBegin,
                Event::TaskEnd,
            ],
        );
        let (file, events) = written("a \"name\"\n", &[&log]);
        assert_eq!(kinds(&events), "BBEBEEiBE");
        assert_eq!(events[0].1, "region");
        assert_eq!(events[0].2, serde_json::json!({"number": 7, "team": 3}));
        assert_eq!(events[6].2, serde_json::json!({"from": 2, "distance": "cluster"}));
        let events = file["traceEvents"].as_array().unwrap();
        assert_eq!(events[0]["args"]["name"], "a \"name\"\n, 1 bees");
        assert_eq!((&events[1]["ts"], &events[1]["args"]["bees"]), (&0.005.into(), &2.into()));
        assert_eq!(events[2]["args"]["name"], "queen");
        assert_eq!(file["otherData"]["dropped events"], "0");
    }

    #[test]
    fn what_is_open_ends_with_the_file_and_an_end_without_its_begin_is_left_out() {
        let (_, events) = written("x", &[&log(MAX_ENTRIES, &[Event::SearchEnd, Event::SearchBegin, Event::Sleep])]);
        assert_eq!(kinds(&events), "BBEE");
        let (_, events) = written("x", &[&log(MAX_ENTRIES, &[Event::TaskBegin, Event::SearchBegin, Event::TaskEnd])]);
        assert_eq!(kinds(&events), "BBEE", "an outer end ends the inner ones");
    }

    #[test]
    fn a_bee_parked_in_its_sleep_is_shown_so() {
        let log = log(MAX_ENTRIES, &[Event::Sleep]);
        std::thread::sleep(std::time::Duration::from_millis(1));
        log.mark_time();
        let (_, events) = written("x", &[&log]);
        assert_eq!(kinds(&events), "BEBE");
        assert_eq!([&events[0].1, &events[2].1], ["sleep", "parked"]);
    }

    #[test]
    fn a_log_that_was_full_says_so() {
        let log = log(1, &[Event::SearchBegin; 5_000]);
        let (file, events) = written("x", &[&log]);
        assert_eq!(file["otherData"]["dropped events"], "904");
        assert!(events.iter().any(|(_, name, _)| name == "the log is full"));
        let count = |wanted: &str| events.iter().filter(|(kind, _, _)| kind == wanted).count();
        assert_eq!((count("B"), count("E")), (4_096, 4_096));
    }
}
