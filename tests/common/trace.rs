//! What the tests of timelines share: where the files are, and how they are read back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hive::{Builder, Hive, Stats};
use serde_json::Value;

/// A directory for a test's files, gone with it.
pub(crate) struct Room(PathBuf);

impl Room {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-{name}"));
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

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Something that lasted, or, without a length, happened.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) member: u64,
    pub(crate) name: String,
    pub(crate) args: Value,
    pub(crate) end_args: Value,
    pub(crate) depth: usize,
    pub(crate) begin: f64,
    pub(crate) end: f64,
}

/// A file as it is read back.
pub(crate) struct Trace {
    /// In order of the members, and of each in order of time.
    pub(crate) slices: Vec<Slice>,
    /// What the hive's size was, one after the other.
    pub(crate) sizes: Vec<u64>,
}

impl Trace {
    /// Panics unless all that begins ends, properly nested, and no time goes back.
    pub(crate) fn read(path: &Path) -> Self {
        let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(file["otherData"]["dropped events"], "0");
        let mut trace = Self { slices: Vec::new(), sizes: Vec::new() };
        let mut lanes: BTreeMap<u64, Lane> = BTreeMap::new();
        for event in file["traceEvents"].as_array().unwrap() {
            match event["ph"].as_str().unwrap() {
                "M" => {}
                "C" => trace.sizes.push(event["args"]["members"].as_u64().unwrap()),
                _ => lanes.entry(event["tid"].as_u64().unwrap()).or_default().take(event),
            }
        }
        for (member, lane) in lanes {
            assert!(lane.open.is_empty(), "member {member} ends within {:?}", lane.open);
            trace.slices.extend(lane.slices);
        }
        trace
    }

    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Slice> {
        self.slices.iter().filter(move |slice| slice.name == name)
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.named(name).count() as u64
    }

    /// Whether there are as many slices as the hive has counted; if not, of what.
    pub(crate) fn compare(&self, stats: &Stats) -> Result<(), String> {
        for (member, counts) in stats.members().iter().enumerate() {
            let own = |slice: &&Slice| slice.member == member as u64;
            let woken = self.named("sleep").filter(own).filter(|sleep| sleep.end_args["woken"] == true).count() as u64;
            // A bee lies parked when it is hired, too.
            let parks = counts.parks + u64::from(member > 0);
            let pairs = [
                ("region", counts.regions),
                ("task", counts.tasks),
                ("steal", counts.steals.total()),
                ("sleep", counts.sleeps),
                ("parked", parks),
            ];
            for (name, count) in pairs {
                let found = self.named(name).filter(own).count() as u64;
                if found != count {
                    return Err(format!("member {member} has {found} x {name}, and {count} are counted"));
                }
            }
            // One that is parked where it sleeps is woken from that.
            if woken > counts.wakes || (counts.parks == 0 && woken < counts.wakes) {
                return Err(format!("member {member} was woken {} times, and {woken} are there", counts.wakes));
            }
        }
        Ok(())
    }
}

/// What has been read of one member.
#[derive(Default)]
struct Lane {
    slices: Vec<Slice>,
    /// Which of them have not ended.
    open: Vec<usize>,
    last: f64,
}

impl Lane {
    fn take(&mut self, event: &Value) {
        let time = event["ts"].as_f64().unwrap();
        assert!(time >= self.last, "time goes back from {} to {event}", self.last);
        self.last = time;
        if event["ph"] == "E" {
            let begun = self.open.pop().unwrap_or_else(|| panic!("nothing is open at {event}"));
            self.slices[begun].end = time;
            self.slices[begun].end_args = event["args"].clone();
            return;
        }
        self.slices.push(Slice {
            member: event["tid"].as_u64().unwrap(),
            name: event["name"].as_str().unwrap().to_owned(),
            args: event["args"].clone(),
            end_args: Value::Null,
            depth: self.open.len(),
            begin: time,
            end: time,
        });
        if event["ph"] == "B" {
            self.open.push(self.slices.len() - 1);
        }
    }
}

/// The timeline of what `work` does to a hive that is traced.
pub(crate) fn traced(builder: Builder, work: impl FnOnce(&Hive)) -> Trace {
    let hive = builder.build().unwrap();
    assert!(hive.report().warnings().is_empty(), "{}", hive.report());
    work(&hive);
    let written = || {
        let stats = hive.stats();
        let file = hive.write_trace().unwrap();
        let trace = Trace::read(&file);
        trace.compare(&stats).map(|()| (file, trace))
    };
    // A bee may be between a count and its log, or on its way to bed.
    let quiet = (0..1_000).find_map(|_| written().inspect_err(|_| std::thread::sleep(Duration::from_millis(1))).ok());
    let (file, trace) = quiet.unwrap_or_else(|| panic!("{:?}", written().err()));
    drop(hive);
    let last = Trace::read(&file);
    assert!(last.slices.len() >= trace.slices.len(), "the end of the hive writes all of it again");
    last
}
