//! Writes a timeline in Chrome's trace event format, which is JSON: a slice for everything that lasts, an instant for
//! everything that does not.
//!
//! `Tracer::write` calls [`write_json`] with the bees' logs. The begin and end events in a log are paired here, so that
//! the slices of each bee nest properly. `docs/tracing.md` describes the file.

use std::io::Write;
use std::{fmt, io, process};

use crate::observe::build_info::build_info;
use crate::observe::trace::event::{Event, EventKind};
use crate::observe::trace::log::{Log, MAX_ENTRIES, nanos_since_start};

/// Writes the bees' logs, in the order of the bees, and the sizes that the hive has had, as they are at the moment of
/// the call. `hive` is what the names of the hive's threads begin with.
pub(crate) fn write_json(out: &mut impl Write, hive: &str, sizes: &[(u64, Event)], logs: &[&Log]) -> io::Result<()> {
    let dropped: usize = logs.iter().map(|log| log.dropped()).sum();
    writeln!(out, r#"{{"displayTimeUnit":"ns","otherData":{{"#)?;
    writeln!(out, r#""hive":{},"bees":"{}","#, JsonString(&build_info().to_string()), logs.len())?;
    writeln!(out, r#""events kept of each bee":"{MAX_ENTRIES}","dropped events":"{dropped}"}},"traceEvents":["#)?;
    let pid = process::id();
    let name = format!("{hive}, {} bees", logs.len());
    write!(out, r#"{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":{}}}}}"#, JsonString(&name))?;
    // Slices that are still open when the file is written end at this moment.
    let end = nanos_since_start();
    let mut timeline = Timeline { out, pid, bee: 0, open_slices: Vec::new() };
    sizes.iter().try_for_each(|(time, size)| timeline.write_event(*time, *size))?;
    for (bee, log) in logs.iter().enumerate() {
        Timeline { out, pid, bee, open_slices: Vec::new() }.write_log(log, end)?;
    }
    writeln!(out, "\n]}}")
}

/// The timeline of one bee, while it is written.
struct Timeline<'o, W> {
    /// The file.
    out: &'o mut W,
    /// The number of the process, which the format wants in each event.
    pid: u32,
    /// The number of the bee, which stands where the format has a thread's number.
    bee: usize,
    /// The begin events whose end has not been written yet, outermost first.
    open_slices: Vec<Event>,
}

impl<W: Write> Timeline<'_, W> {
    /// Writes the whole log of the bee; slices that have not ended yet end at `end`.
    fn write_log(mut self, log: &Log, end: u64) -> io::Result<()> {
        let name = if self.bee == 0 { "queen".to_owned() } else { format!("bee {}", self.bee) };
        let Self { pid, bee, .. } = self;
        write!(self.out, ",\n{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{bee},")?;
        write!(self.out, r#""name":"thread_name","args":{{"name":"{name}"}}}}"#)?;
        // Asked before the entries are read. If the log gets full only after that, the entries that are read may end
        // before the last one that it had room for, and a note that it is full would stand in the wrong place.
        let is_full = log.dropped() > 0;
        let mut last = 0;
        for (time, event) in log.entries() {
            self.write_event(time, event)?;
            last = time;
        }
        if is_full {
            self.write_line('i', last, r#","s":"t","name":"the log is full""#)?;
        }
        // A bee that is parked while it sleeps writes that into its log only when it wakes up. Until then, the moment
        // that was marked for it tells that it is parked, and since when.
        let is_asleep = !is_full && self.open_slices.last() == Some(&Event::begin(EventKind::Sleep));
        if let Some(marked) = log.marked_time_since(last).filter(|_| is_asleep) {
            self.write_event(marked, Event::resume(false))?;
            self.write_event(marked, Event::begin(EventKind::Park))?;
            last = marked;
        }
        // Of a full log nothing is known after its last entry.
        let end = if is_full { last } else { end.max(last) };
        while self.open_slices.pop().is_some() {
            self.write_line('E', end, "")?;
        }
        Ok(())
    }

    /// Writes one entry of the log: as the end of a slice, as an instant, as a value of the curve of sizes, or as the
    /// begin of a slice.
    fn write_event(&mut self, time: u64, event: Event) -> io::Result<()> {
        let fields = EventFields(event);
        match event.kind {
            _ if event.is_end => self.write_end(time, event),
            EventKind::TeamSize => self.write_line('C', time, fields),
            EventKind::Steal | EventKind::Woken => self.write_line('i', time, format_args!(r#","s":"t"{fields}"#)),
            _ => {
                self.open_slices.push(event);
                self.write_line('B', time, fields)
            }
        }
    }

    /// Ends the slice that `event` is the end of, and all slices that have begun inside it. Writes nothing if there is
    /// no such slice: its begin may have come before the log was opened.
    fn write_end(&mut self, time: u64, event: Event) -> io::Result<()> {
        let Some(depth) = self.open_slices.iter().rposition(|begin| event.is_end_of(*begin)) else { return Ok(()) };
        while self.open_slices.len() > depth {
            self.open_slices.pop();
            self.write_line('E', time, EventFields(event))?;
        }
        Ok(())
    }

    /// Writes one event of the file, with further fields in `details`. `time` is in nanoseconds; the file has
    /// microseconds with three decimals.
    fn write_line(&mut self, kind: char, time: u64, details: impl fmt::Display) -> io::Result<()> {
        let Self { pid, bee, .. } = *self;
        let (micros, nanos) = (time / 1_000, time % 1_000);
        write!(self.out, ",\n{{\"ph\":\"{kind}\",\"pid\":{pid},\"tid\":{bee},\"ts\":{micros}.{nanos:03}{details}}}")
    }
}

/// The fields of an event after its time: its name, unless it is an end, and its arguments.
struct EventFields(Event);

impl fmt::Display for EventFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event { kind, is_end, small, large } = self.0;
        match kind {
            EventKind::Sleep if is_end => return write!(f, r#","args":{{"woken":{}}}"#, small == 1),
            // An end needs no name: the format knows by the order of the events what ends.
            _ if is_end => return Ok(()),
            _ => write!(f, r#","name":"{}""#, kind.name())?,
        }
        match kind {
            EventKind::Region => write!(f, r#","args":{{"number":{large},"team":{small}}}"#),
            EventKind::Barrier => write!(f, r#","args":{{"number":{small}}}"#),
            EventKind::Steal => {
                let distance = ["core", "cluster", "node", "far"].get(small as usize).unwrap_or(&"far");
                write!(f, r#","args":{{"from":{large},"distance":"{distance}"}}"#)
            }
            EventKind::Woken => write!(f, r#","args":{{"by":{large}}}"#),
            EventKind::TeamSize => write!(f, r#","args":{{"bees":{large}}}"#),
            _ => Ok(()),
        }
    }
}

/// A text as a JSON string.
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

    /// The file for these logs, parsed, and its events as kind, name and arguments. Metadata and sizes are left out.
    fn written(name: &str, logs: &[&Log]) -> (Value, Vec<(String, String, Value)>) {
        let mut out = Vec::new();
        write_json(&mut out, name, &[(5, Event::numbered(EventKind::TeamSize, 0, 2))], logs).unwrap();
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
        let region = Event::numbered(EventKind::Region, 3, 7);
        let steal = Event::numbered(EventKind::Steal, 1, 2);
        let log = log(
            MAX_ENTRIES,
            &[
                region,
                Event::numbered(EventKind::Barrier, 1, 7),
                Event::end(EventKind::Barrier),
                Event::begin(EventKind::QueenWait),
                Event::end(EventKind::Region),
                steal,
                Event::begin(EventKind::Task),
                Event::end(EventKind::Task),
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
        let (_, events) = written(
            "x",
            &[&log(
                MAX_ENTRIES,
                &[Event::end(EventKind::Search), Event::begin(EventKind::Search), Event::begin(EventKind::Sleep)],
            )],
        );
        assert_eq!(kinds(&events), "BBEE");
        let (_, events) = written(
            "x",
            &[&log(
                MAX_ENTRIES,
                &[Event::begin(EventKind::Task), Event::begin(EventKind::Search), Event::end(EventKind::Task)],
            )],
        );
        assert_eq!(kinds(&events), "BBEE", "an outer end ends the inner ones");
    }

    #[test]
    fn a_bee_parked_in_its_sleep_is_shown_so() {
        let log = log(MAX_ENTRIES, &[Event::begin(EventKind::Sleep)]);
        std::thread::sleep(std::time::Duration::from_millis(1));
        log.mark_time();
        let (_, events) = written("x", &[&log]);
        assert_eq!(kinds(&events), "BEBE");
        assert_eq!([&events[0].1, &events[2].1], ["sleep", "parked"]);
    }

    #[test]
    fn a_log_that_was_full_says_so() {
        let log = log(1, &[Event::begin(EventKind::Search); 5_000]);
        let (file, events) = written("x", &[&log]);
        assert_eq!(file["otherData"]["dropped events"], "904");
        assert!(events.iter().any(|(_, name, _)| name == "the log is full"));
        let count = |wanted: &str| events.iter().filter(|(kind, _, _)| kind == wanted).count();
        assert_eq!((count("B"), count("E")), (4_096, 4_096));
    }
}
