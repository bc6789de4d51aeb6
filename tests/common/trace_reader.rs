//! What the tests of traces share: a directory for trace files, and a reader for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hive::{Builder, Hive, Stats};
use serde_json::Value;

use super::process::is_child;

/// A directory for a test's files, which is removed when this is dropped.
pub(crate) struct TraceDirectory(PathBuf);

impl TraceDirectory {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-{name}"));
        // Files of a run that was killed; a child's are in its parent's directory.
        if !is_child() {
            let _ = fs::remove_dir_all(&path);
        }
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("trace.json")
    }

    pub(crate) fn builder(&self, bees: usize) -> Builder {
        Hive::builder().bees(bees).trace(self.file())
    }
}

impl Drop for TraceDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Something that took time or, with length zero, an event.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) bee: u64,
    pub(crate) name: String,
    pub(crate) args: Value,
    pub(crate) end_args: Value,
    pub(crate) depth: usize,
    pub(crate) begin: f64,
    pub(crate) end: f64,
}

/// The contents of a trace file.
pub(crate) struct Trace {
    /// Ordered by bee, and for each bee by time.
    pub(crate) slices: Vec<Slice>,
    /// The sizes that the hive has had, in order.
    pub(crate) sizes: Vec<u64>,
}

impl Trace {
    /// Reads a file. Panics unless everything that begins ends, is properly nested, and times do not go backwards.
    pub(crate) fn read(path: &Path) -> Self {
        Self::parse(&fs::read_to_string(path).unwrap())
    }

    /// The same for the contents of a file.
    pub(crate) fn parse(text: &str) -> Self {
        let file: Value = serde_json::from_str(text).unwrap();
        assert_eq!(file["otherData"]["dropped events"], "0");
        let mut trace = Self { slices: Vec::new(), sizes: Vec::new() };
        let mut lanes: BTreeMap<u64, BeeTrack> = BTreeMap::new();
        for event in file["traceEvents"].as_array().unwrap() {
            match event["ph"].as_str().unwrap() {
                "M" => {}
                "C" => trace.sizes.push(event["args"]["bees"].as_u64().unwrap()),
                _ => lanes.entry(event["tid"].as_u64().unwrap()).or_default().push_event(event),
            }
        }
        for (bee, lane) in lanes {
            assert!(lane.open_slices.is_empty(), "bee {bee} ends within {:?}", lane.open_slices);
            trace.slices.extend(lane.slices);
        }
        trace
    }

    pub(crate) fn slices_named(&self, name: &str) -> impl Iterator<Item = &Slice> {
        self.slices.iter().filter(move |slice| slice.name == name)
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.slices_named(name).count() as u64
    }

    /// Compares the number of slices with what the hive has counted. Err says which count differs.
    pub(crate) fn compare(&self, stats: &Stats) -> Result<(), String> {
        for (bee, counts) in stats.per_bee().iter().enumerate() {
            let own = |slice: &&Slice| slice.bee == bee as u64;
            let woken =
                self.slices_named("sleep").filter(own).filter(|sleep| sleep.end_args["woken"] == true).count() as u64;
            // A worker is also parked when it is hired, which is not counted.
            let parks = counts.parks + u64::from(bee > 0);
            let pairs = [
                ("region", counts.regions),
                ("task", counts.tasks),
                ("steal", counts.steals.total()),
                ("sleep", counts.sleeps),
                ("parked", parks),
            ];
            for (name, count) in pairs {
                let found = self.slices_named(name).filter(own).count() as u64;
                if found != count {
                    return Err(format!("bee {bee} has {found} x {name}, and {count} are counted"));
                }
            }
            // A worker that is parked while it sleeps leaves that sleep without a counted wake.
            if woken > counts.wakes || (counts.parks == 0 && woken < counts.wakes) {
                return Err(format!("bee {bee} was woken {} times, and {woken} are there", counts.wakes));
            }
        }
        Ok(())
    }
}

/// What has been read for one bee.
#[derive(Default)]
struct BeeTrack {
    slices: Vec<Slice>,
    /// The indices of the slices that have not ended.
    open_slices: Vec<usize>,
    last_time: f64,
}

impl BeeTrack {
    fn push_event(&mut self, event: &Value) {
        let time = event["ts"].as_f64().unwrap();
        assert!(time >= self.last_time, "time goes back from {} to {event}", self.last_time);
        self.last_time = time;
        if event["ph"] == "E" {
            let begun = self.open_slices.pop().unwrap_or_else(|| panic!("nothing is open at {event}"));
            self.slices[begun].end = time;
            self.slices[begun].end_args = event["args"].clone();
            return;
        }
        self.slices.push(Slice {
            bee: event["tid"].as_u64().unwrap(),
            name: event["name"].as_str().unwrap().to_owned(),
            args: event["args"].clone(),
            end_args: Value::Null,
            depth: self.open_slices.len(),
            begin: time,
            end: time,
        });
        if event["ph"] == "B" {
            self.open_slices.push(self.slices.len() - 1);
        }
    }
}

/// The trace of what `work` does with a traced hive.
pub(crate) fn trace_of(builder: Builder, work: impl FnOnce(&Hive)) -> Trace {
    let hive = builder.build().unwrap();
    assert!(hive.report().warnings().is_empty(), "{}", hive.report());
    work(&hive);
    let written = || {
        let stats = hive.stats();
        let file = hive.write_trace().unwrap();
        let trace = Trace::read(&file);
        trace.compare(&stats).map(|()| (file, trace))
    };
    // A bee may be between a count and its log entry, or on its way to sleep; so try again for a while.
    let quiet = (0..1_000).find_map(|_| written().inspect_err(|_| std::thread::sleep(Duration::from_millis(1))).ok());
    let (file, trace) = quiet.unwrap_or_else(|| panic!("{:?}", written().err()));
    drop(hive);
    let last = Trace::read(&file);
    assert!(last.slices.len() >= trace.slices.len(), "the end of the hive writes all of it again");
    last
}
