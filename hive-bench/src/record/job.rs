//! What the runner of one measurement is to do.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::{Case, RuntimeId};
use crate::record::budget::Budget;
use crate::record::given::Given;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
