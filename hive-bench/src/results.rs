//! What a run leaves behind: every raw sample, and all that is needed to judge them. The file of `--json`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::{Case, RuntimeId};
use crate::effort::Effort;
use crate::kernels::sparse::Given;
use crate::machine::{Build, Disturbance, Machine};
use crate::saved::Unknown;

/// What a child is told to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) runtime: RuntimeId,
    pub(crate) case: Case,
    /// Size of the team, the queen counted.
    pub(crate) members: usize,
    /// The CPUs of the machine in the order of use: bee i belongs on the i-th.
    pub(crate) cpus: Vec<usize>,
    pub(crate) effort: Effort,
    /// What the kernel must come out as, where its answer does not show by itself whether it is right.
    pub(crate) checksum: Option<u64>,
    /// The matrix of the sparse kernels.
    pub(crate) given: Given,
    /// How often hive's sleeping bees wake and look for something to do.
    pub(crate) poll: Option<Duration>,
}

/// What was measured in the same process as a case, to compare it with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reference {
    /// One cache line to another CPU and back.
    RoundTrip,
    /// A semaphore posted after the idle time, answered by a store.
    HandOver,
    /// Lock and unlock of a std Mutex that nobody else wants.
    Mutex,
    /// Half a region of one and half a region of n.
    Mean,
}

/// What a child hands back: samples in the case's unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) samples: Vec<f64>,
    pub(crate) references: BTreeMap<Reference, Vec<f64>>,
    /// Where the bees were seen running, in order of their ids.
    pub(crate) seen_on: Vec<usize>,
    /// What one delay of a construct takes a thread that is alone, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<f64>,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Measured(Measured),
    Failed(String),
}

/// One child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) round: usize,
    pub(crate) runtime: RuntimeId,
    pub(crate) case: Case,
    pub(crate) members: usize,
    /// How long the child ran.
    pub(crate) seconds: f64,
    pub(crate) outcome: Outcome,
}

/// A runtime that could not be had.
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
    pub(crate) effort: Effort,
    pub(crate) seed: u64,
    /// Children of the last rounds for which there was no time.
    pub(crate) left_out: usize,
    pub(crate) absent: Vec<Absent>,
    pub(crate) disturbance: Disturbance,
    pub(crate) records: Vec<Record>,
    /// Records of the file that this was read from which this build cannot read.
    #[serde(skip)]
    pub(crate) unknown: Unknown,
}

impl Run {
    pub(crate) fn has_failures(&self) -> bool {
        self.records.iter().any(|record| matches!(record.outcome, Outcome::Failed(_)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::figures::tests::{key, record};

    /// hive and a rival in three rounds of a small case.
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
            effort: Effort::STANDARD,
            seed: 2,
            left_out: 0,
            absent: Vec::new(),
            disturbance: Disturbance::default(),
            records: (0..3).flat_map(of).collect(),
            unknown: Unknown::default(),
        }
    }

    #[test]
    fn a_record_survives_json() {
        let references = BTreeMap::from([(Reference::RoundTrip, vec![0.1, 207.3])]);
        let measured = Measured { samples: vec![1.0 / 3.0, 2e9], references, seen_on: vec![0, 1], delay: None };
        for outcome in [Outcome::Measured(measured), Outcome::Failed("it broke".to_owned())] {
            let record = Record {
                round: 3,
                runtime: RuntimeId::HiveHot,
                case: Case::Idle2ms,
                members: 2,
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
            members: 2,
            cpus: vec![0, 2, 1, 3],
            effort: Effort::QUICK,
            checksum: Some(u64::MAX),
            given: Given::default(),
            poll: Some(Duration::from_millis(2)),
        };
        assert_eq!(serde_json::from_str::<Job>(&serde_json::to_string(&job).unwrap()).unwrap(), job);
    }
}
