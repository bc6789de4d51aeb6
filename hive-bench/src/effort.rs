//! How much one child measures. `--quick` measures less of everything, for trying the program out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::Case;

/// How much one child measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Effort {
    /// Time for the batches of a case that can be repeated without a pause.
    hot_ms: u64,
    /// Samples after 0.1, 2, 20 and 200 ms of idleness.
    after_idle: [u32; 4],
    /// Between the last region and the window in which CPU time is counted.
    cpu_wait_ms: u64,
    cpu_window_ms: u64,
    /// Steps of the heat kernel.
    pub(crate) jacobi_steps: u64,
    /// Samples of the round trip, each with a cache line of its own.
    pub(crate) round_trips: u32,
}

impl Effort {
    pub(crate) const STANDARD: Self = Self {
        hot_ms: 30,
        after_idle: [100, 15, 5, 2],
        cpu_wait_ms: 1000,
        cpu_window_ms: 400,
        jacobi_steps: 1000,
        round_trips: 25,
    };

    pub(crate) const QUICK: Self =
        Self { hot_ms: 10, after_idle: [20, 5, 2, 1], cpu_wait_ms: 250, cpu_window_ms: 250, jacobi_steps: 50, round_trips: 9 };

    pub(crate) const fn hot(&self) -> Duration {
        Duration::from_millis(self.hot_ms)
    }

    pub(crate) const fn cpu_wait(&self) -> Duration {
        Duration::from_millis(self.cpu_wait_ms)
    }

    pub(crate) const fn cpu_window(&self) -> Duration {
        Duration::from_millis(self.cpu_window_ms)
    }

    pub(crate) const fn samples_after_idle(&self, case: Case) -> u32 {
        match case {
            Case::Idle100us => self.after_idle[0],
            Case::Idle2ms => self.after_idle[1],
            Case::Idle20ms => self.after_idle[2],
            _ => self.after_idle[3],
        }
    }

    /// About how long a child with this case runs: for the number of rounds, the progress bar and the time limit.
    pub(crate) fn expected(&self, case: Case) -> Duration {
        let start = Duration::from_millis(15);
        let work = match (case, case.gap()) {
            // As many hand-overs as regions.
            (_, Some(gap)) => (gap + Duration::from_micros(150)) * 2 * self.samples_after_idle(case),
            (Case::CpuIdle, _) => self.cpu_wait() + self.cpu_window(),
            (Case::CpuParked, _) => self.cpu_window(),
            (Case::TriadMemory, _) => self.hot() + Duration::from_millis(90),
            (Case::Jacobi | Case::JacobiBarrier, _) => {
                Duration::from_micros(130) * u32::try_from(self.jacobi_steps).unwrap_or(u32::MAX)
            }
            _ => self.hot() + Duration::from_millis(10),
        };
        start + work
    }
}
