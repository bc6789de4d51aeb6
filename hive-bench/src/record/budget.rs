//! How much one runner measures. `--quick` measures less of everything, to try the program out, and `trace` even less.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::Case;

/// Gives the struct its fields, and the budgets their values: as usual, with `--quick`, and for `trace`.
macro_rules! budgets {
    ($($(#[$of:meta])* $visible:vis $field:ident: $type:ty = $standard:expr, $quick:expr, $trace:expr;)*) => {
        /// How much one runner measures.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub(crate) struct Budget { $($(#[$of])* $visible $field: $type,)* }

        impl Budget {
            pub(crate) const STANDARD: Self = Self { $($field: $standard,)* };
            pub(crate) const QUICK: Self = Self { $($field: $quick,)* };
            /// So little that a person can look at all of it in a timeline.
            pub(crate) const TRACE: Self = Self { $($field: $trace,)* };
        }
    };
}

budgets! {
    /// Time for the batches of a case that can be repeated without a pause.
    batch_ms: u64 = 25, 10, 1;
    /// Samples after 0.1, 2, 20 and 200 ms of idleness, and at about those gaps.
    after_idle: [u32; 4] = [100, 15, 5, 2], [20, 5, 2, 1], [5, 5, 2, 1];
    /// Between the last region and the window in which CPU time is counted.
    pub(crate) cpu_wait_ms: u64 = 1000, 150, 150;
    pub(crate) cpu_window_ms: u64 = 200, 100, 100;
    /// Steps of the heat kernel.
    pub(crate) jacobi_steps: u64 = 500, 50, 20;
    /// Samples of a kernel that goes in steps of parallel loops, each of 10 to 30 ms on one CPU.
    pub(crate) kernel_samples: u64 = 2, 1, 1;
    /// Points along an edge of the grid whose Laplacian the sparse kernels work on, without `--matrix`.
    pub(crate) grid_side: u32 = 300, 60, 60;
    /// Numbers in the matrix of the sparse kernels.
    pub(crate) matrix_nonzeros: u64 = 448_800, 17_760, 17_760;
    /// Iterations of conjugate gradients.
    pub(crate) cg_iterations: u64 = 50, 30, 30;
    /// Samples of the round trip, each with a cache line of its own.
    pub(crate) round_trips: u32 = 25, 9, 9;
    /// The index of the Fibonacci number that is computed.
    pub(crate) fib: u64 = 30, 20, 16;
    /// The sizes of what is measured elsewhere, too: the index of a Fibonacci number, queens and columns, leaves. Older
    /// files have none.
    #[serde(default)]
    pub(crate) field_fib: u64 = 39, 20, 20;
    #[serde(default)]
    pub(crate) field_queens: u8 = 14, 7, 7;
    #[serde(default)]
    pub(crate) field_leaves: u64 = 100_000_000, 10_000, 10_000;
    /// How many tasks the threads of a team spawn, and how many a thread from outside spawns.
    pub(crate) inside_tasks: u64 = 1_000_000, 20_000, 2_000;
    pub(crate) outside_tasks: u64 = 100_000, 5_000, 500;
    /// Generations of the tree that is searched.
    pub(crate) search_depth: u32 = 9, 6, 5;
    /// Windows in which CPU time is counted while the team goes to sleep: so many of 1 ms, of 9 and of 90.
    use_windows: [u32; 3] = [100, 10, 2], [10, 3, 1], [3, 2, 1];
    /// Requests of each of the threads that call one team at the same time: so many at intervals of about a
    /// millisecond, so many of about a millisecond back to back, and so many short regions of both queens together.
    pub(crate) requests: [u32; 3] = [250, 500, 1000], [60, 100, 200], [10, 5, 20];
    /// The windows after those, once each: from when to when after the last task.
    late_windows_ms: [(u64, u64); 2] = [(100, 1000), (1000, 1200)], [(100, 150), (150, 250)], [(100, 150), (150, 250)];
}

impl Budget {
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
