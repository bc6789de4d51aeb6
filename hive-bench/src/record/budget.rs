//! How much one runner measures. `--quick` measures less of everything, to try the program out, and `trace` even less.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::Case;

/// How much one runner measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Budget {
    /// Time for the batches of a case that can be repeated without a pause.
    batch_ms: u64,
    /// Samples after 0.1, 2, 20 and 200 ms of idleness, and at about those gaps.
    after_idle: [u32; 4],
    /// Between the last region and the window in which CPU time is counted.
    pub(crate) cpu_wait_ms: u64,
    pub(crate) cpu_window_ms: u64,
    /// Steps of the heat kernel.
    pub(crate) jacobi_steps: u64,
    /// Samples of a kernel that goes in steps of parallel loops, each of 10 to 30 ms on one CPU.
    pub(crate) kernel_samples: u64,
    /// Points along an edge of the grid whose Laplacian the sparse kernels work on, without `--matrix`.
    pub(crate) grid_side: u32,
    /// Numbers in the matrix of the sparse kernels.
    pub(crate) matrix_nonzeros: u64,
    /// Iterations of conjugate gradients.
    pub(crate) cg_iterations: u64,
    /// Samples of the round trip, each with a cache line of its own.
    pub(crate) round_trips: u32,
    /// The index of the Fibonacci number that is computed.
    pub(crate) fib: u64,
    /// The sizes of what is measured elsewhere, too: the index of a Fibonacci number, queens and columns, leaves. Older
    /// files have none.
    #[serde(default)]
    pub(crate) field_fib: u64,
    #[serde(default)]
    pub(crate) field_queens: u8,
    #[serde(default)]
    pub(crate) field_leaves: u64,
    /// How many tasks the threads of a team spawn, and how many a thread from outside spawns.
    pub(crate) inside_tasks: u64,
    pub(crate) outside_tasks: u64,
    /// Generations of the tree that is searched.
    pub(crate) search_depth: u32,
    /// Windows in which CPU time is counted while the team goes to sleep: so many of 1 ms, of 9 and of 90.
    use_windows: [u32; 3],
    /// Requests of each of the threads that call one team at the same time: so many at intervals of about a
    /// millisecond, so many of about a millisecond back to back, and so many short regions of both queens together.
    pub(crate) requests: [u32; 3],
    /// The windows after those, once each: from when to when after the last task.
    late_windows_ms: [(u64, u64); 2],
}

impl Budget {
    pub(crate) const STANDARD: Self = Self {
        batch_ms: 25,
        after_idle: [100, 15, 5, 2],
        cpu_wait_ms: 1000,
        cpu_window_ms: 200,
        jacobi_steps: 500,
        kernel_samples: 2,
        grid_side: 300,
        matrix_nonzeros: 448_800,
        cg_iterations: 50,
        round_trips: 25,
        fib: 30,
        field_fib: 39,
        field_queens: 14,
        field_leaves: 100_000_000,
        inside_tasks: 1_000_000,
        outside_tasks: 100_000,
        search_depth: 9,
        use_windows: [100, 10, 2],
        requests: [250, 500, 1000],
        late_windows_ms: [(100, 1000), (1000, 1200)],
    };

    pub(crate) const QUICK: Self = Self {
        batch_ms: 10,
        after_idle: [20, 5, 2, 1],
        cpu_wait_ms: 150,
        cpu_window_ms: 100,
        jacobi_steps: 50,
        kernel_samples: 1,
        grid_side: 60,
        matrix_nonzeros: 17_760,
        cg_iterations: 30,
        round_trips: 9,
        fib: 20,
        field_fib: 20,
        field_queens: 7,
        field_leaves: 10_000,
        inside_tasks: 20_000,
        outside_tasks: 5_000,
        search_depth: 6,
        use_windows: [10, 3, 1],
        requests: [60, 100, 200],
        late_windows_ms: [(100, 150), (150, 250)],
    };

    /// So little that a person can look at all of it in a timeline.
    pub(crate) const TRACE: Self = Self {
        batch_ms: 1,
        jacobi_steps: 20,
        after_idle: [5, 5, 2, 1],
        fib: 16,
        inside_tasks: 2_000,
        outside_tasks: 500,
        search_depth: 5,
        use_windows: [3, 2, 1],
        requests: [10, 5, 20],
        ..Self::QUICK
    };

    pub(crate) const fn batch_time(&self) -> Duration {
        Duration::from_millis(self.batch_ms)
    }

    pub(crate) fn samples_after_gap(&self, gap: Duration) -> u32 {
        match gap.as_micros() {
            ..1_000 => self.after_idle[0],
            1_000..20_000 => self.after_idle[1],
            20_000..200_000 => self.after_idle[2],
            _ => self.after_idle[3],
        }
    }

    /// The window after the last task in which an idle-use case counts CPU time, and how many such windows there are.
    pub(crate) fn use_window(&self, case: Case) -> Option<(Range<Duration>, u32)> {
        let number = Case::all_of("idle-use").position(|of| of == case)?;
        let times = self.use_windows.get(number).copied().unwrap_or(1);
        let (begin, end) = [[(0, 1), (1, 10), (10, 100)].as_slice(), &self.late_windows_ms].concat()[number];
        Some((Duration::from_millis(begin)..Duration::from_millis(end), times))
    }
}
