//! The results of a run: every raw sample, and what is needed to judge it. This is the file of `--json`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::{Case, RuntimeId, names};
use crate::measure::hand_over::Asked;
use crate::record::budget::Budget;
use crate::record::given::Given;
use crate::system::files;
use crate::system::machine::{Build, Disturbance, Machine};

names! {
    /// What was measured in the same process as a case, to compare it with.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Reference {
        /// One cache line to another CPU and back.
        RoundTrip "round trip";
        /// A sleeping thread woken after the idle time, which answers by a store.
        HandOver "hand-over";
        /// The call alone that wakes that thread.
        Post "post";
        /// Lock and unlock of a std Mutex without contention.
        Mutex "mutex";
        /// Half a region of one and half a region of n.
        Mean "mean";
    }
}

/// What a runner hands back: samples in the case's unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) samples: Vec<f64>,
    pub(crate) references: BTreeMap<Reference, Vec<f64>>,
    /// Where the threads were seen running, in order of their ids.
    pub(crate) seen_on: Vec<usize>,
    /// How long one delay of a construct takes on a single thread, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<f64>,
    /// How many numbers a loop adds up, in the cases whose work is given as a time on a single thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loop_len: Option<usize>,
}

impl Measured {
    /// Adds what one question to a sleeping thread cost.
    pub(crate) fn add_asked(&mut self, asked: Asked) {
        self.references.entry(Reference::HandOver).or_default().push(asked.hand_over);
        self.references.entry(Reference::Post).or_default().push(asked.post);
    }
}

/// How a runner ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Measured(Measured),
    Failed(String),
}

/// One runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) round: usize,
    pub(crate) runtime: RuntimeId,
    pub(crate) case: Case,
    /// The size of the team.
    pub(crate) threads: usize,
    /// How long the runner ran.
    pub(crate) seconds: f64,
    pub(crate) outcome: Outcome,
}

/// A runtime that is absent on this machine, or in this build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Absent {
    pub(crate) runtime: RuntimeId,
    pub(crate) reason: String,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) date: String,
    pub(crate) command_line: Vec<String>,
    pub(crate) machine: Machine,
    pub(crate) build: Build,
    pub(crate) budget: Budget,
    pub(crate) seed: u64,
    /// How many cases and sizes would have been run again if there had been time. Older files do not say.
    #[serde(default)]
    pub(crate) undecided: usize,
    pub(crate) absent: Vec<Absent>,
    pub(crate) disturbance: Disturbance,
    pub(crate) records: Vec<Record>,
}

/// One runtime, one case, one size of the team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) runtime: RuntimeId,
    pub(crate) case: Case,
    /// The size of the team, the calling thread counted if it takes part.
    pub(crate) threads: usize,
    /// The CPUs of the machine in the order of use: thread i is bound to the i-th.
    pub(crate) cpus: Vec<usize>,
    pub(crate) budget: Budget,
    /// The right answer of the kernel, where the answer alone does not show whether it is right.
    pub(crate) checksum: Option<u64>,
    /// The matrix of the sparse kernels.
    pub(crate) given: Given,
    /// How often hive's sleeping bees wake and look for something to do.
    pub(crate) poll: Option<Duration>,
}

impl Job {
    /// The CPU that a thread is bound to which stands for one of the runtime's on `cpu`: none if those are not bound.
    pub(crate) fn place(&self, cpu: usize) -> Option<usize> {
        (!self.runtime.is_unpinned()).then_some(cpu)
    }
}

/// Reads the run from a file of `--json`. An error says why that cannot be done.
pub(crate) fn read(path: &Path) -> Result<Run, String> {
    let at = |error: String| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| at(format!("cannot be read: {error}")))?;
    parse(BufReader::new(file)).map_err(at)
}

fn parse(source: impl BufRead) -> Result<Run, String> {
    let source = files::unpacked(source).map_err(|error| format!("cannot be read: {error}"))?;
    serde_json::from_reader(source).map_err(|error| match error.is_io() {
        true => format!("cannot be unpacked: {error}"),
        false => format!("is not a run that `hive-bench --json` left: {error}"),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::report::figures::tests::{key, record};

    /// hive and a rival in five rounds of a small case.
    pub(crate) fn run() -> Run {
        let of = |round| {
            let reference = [(Reference::RoundTrip, 100.0)];
            let record = |runtime, value| record(key(runtime), round, &[value], &reference);
            [record(RuntimeId::Hive, 110.0), record(RuntimeId::Libomp, 500.0)]
        };
        Run {
            date: "2026-11-21T09:12:56Z".to_owned(),
            command_line: vec!["hive-bench".to_owned(), "--case".to_owned(), "region".to_owned()],
            machine: Machine { processor: "a processor".to_owned(), cpus: vec![0, 1], ..Machine::default() },
            build: Build::read(),
            budget: Budget::STANDARD,
            seed: 2,
            undecided: 0,
            absent: Vec::new(),
            disturbance: Disturbance::default(),
            records: (0..5).flat_map(of).collect(),
        }
    }

    #[test]
    fn a_record_survives_json() {
        let references = BTreeMap::from([(Reference::RoundTrip, vec![0.1, 207.3])]);
        let measured =
            Measured { samples: vec![1.0 / 3.0, 2e9], references, seen_on: vec![0, 1], ..Measured::default() };
        for outcome in [Outcome::Measured(measured), Outcome::Failed("it broke".to_owned())] {
            let record = Record {
                round: 3,
                runtime: RuntimeId::HiveSpin,
                case: Case::Idle2ms,
                threads: 2,
                seconds: 0.25,
                outcome,
            };
            let text = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record, "{text}");
        }
    }

    #[test]
    fn a_job_survives_json() {
        let job = Job {
            runtime: RuntimeId::Libgomp,
            case: Case::JacobiBarrier,
            threads: 2,
            cpus: vec![0, 2, 1, 3],
            budget: Budget::QUICK,
            checksum: Some(u64::MAX),
            given: Given::default(),
            poll: Some(Duration::from_millis(2)),
        };
        assert_eq!(serde_json::from_str::<Job>(&serde_json::to_string(&job).unwrap()).unwrap(), job);
    }

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_run_comes_back_packed_or_not() {
        let text = serde_json::to_string(&run()).unwrap();
        assert_eq!(parse(text.as_bytes()), Ok(run()));
        assert_eq!(parse(&packed(&text)[..]), Ok(run()));
    }

    #[test]
    fn what_is_not_a_run_is_refused() {
        for (bytes, why) in
            [(&b"{}"[..], "is not a run"), (b"words", "is not a run"), (&[0x1f, 0x8b, 1], "cannot be unpacked")]
        {
            let error = parse(bytes).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(read(Path::new("/nowhere/at/all.json")).unwrap_err().contains("/nowhere/at/all.json: cannot be read"));
    }
}
