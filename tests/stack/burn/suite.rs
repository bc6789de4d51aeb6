//! Programs for the scheduler of cubecl-cpu, whose sources are in folders beside this file, with kernels that are
//! closures: what compiles the real ones cannot be built here. `run` makes a package of it, with cubecl-cpu's own
//! dispatcher or with the one on hive.

#![allow(dead_code, reason = "the scheduler's other variants are not used")]

/// What the scheduler uses of the crate that compiles kernels.
pub mod cubecl_llvm {
    use std::sync::Arc;

    /// What a kernel needs.
    #[derive(Clone)]
    pub struct Requirements {
        pub needs_parallelism: bool,
    }

    /// A kernel.
    #[derive(Clone)]
    pub struct PlironEngine {
        pub needs: Requirements,
        pub kernel: Arc<dyn Fn(usize) + Send + Sync>,
    }

    /// The number of the unit that runs it.
    pub struct PlironData(pub usize);

    impl PlironEngine {
        pub fn requirements(&self) -> &Requirements {
            &self.needs
        }

        pub fn run_kernel(&self, data: &mut PlironData) {
            (self.kernel)(data.0);
        }
    }
}

pub mod compute {
    pub mod affinity;

    pub mod threadpool {
        pub trait ThreadTask {
            fn is_ready(&self) -> bool;
        }

        pub mod compute_task;
        pub mod scheduler;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::{Duration, Instant};

    use crossbeam_utils::CachePadded;

    use crate::compute::threadpool::compute_task::ComputeTask;
    use crate::compute::threadpool::scheduler::{Scheduler, SchedulerVariant};
    use crate::cubecl_llvm::{PlironData, PlironEngine, Requirements};

    /// A client with a stream of launches, as cubecl-cpu has it.
    struct Stream {
        scheduler: Scheduler,
        counter: Arc<CachePadded<AtomicU64>>,
        launched: u64,
    }

    impl Stream {
        fn new() -> Self {
            let scheduler = Scheduler::new(SchedulerVariant::Dispatcher);
            Self { scheduler, counter: Arc::default(), launched: 0 }
        }

        /// Launches a kernel of so many units, after all launches before.
        fn launch(&mut self, units: usize, needs_parallelism: bool, kernel: impl Fn(usize) + Send + Sync + 'static) {
            let pliron_engine = PlironEngine { needs: Requirements { needs_parallelism }, kernel: Arc::new(kernel) };
            if needs_parallelism {
                self.scheduler.ensure_workers(units);
            }
            for unit in 0..units {
                let task = ComputeTask {
                    pliron_engine: pliron_engine.clone(),
                    pliron_data: PlironData(unit),
                    next_counter_step: self.launched,
                    atomic_counter: Arc::clone(&self.counter),
                };
                self.scheduler.send(unit, task);
            }
            self.launched += units as u64;
        }

        fn wait(&self) {
            let begin = Instant::now();
            while self.counter.load(Ordering::Acquire) < self.launched {
                assert!(begin.elapsed() < Duration::from_secs(100), "a launch does not end");
                thread::yield_now();
            }
        }
    }

    /// The barrier of a cube, as compiled kernels have it: it polls.
    struct SyncCube {
        units: usize,
        arrived: AtomicUsize,
    }

    impl SyncCube {
        fn new(units: usize) -> Arc<Self> {
            Arc::new(Self { units, arrived: AtomicUsize::new(0) })
        }

        fn wait(&self) {
            let round = self.arrived.fetch_add(1, Ordering::AcqRel) / self.units;
            while self.arrived.load(Ordering::Acquire) < (round + 1) * self.units {
                thread::yield_now();
            }
        }
    }

    fn cpu_time() -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes to `time`.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    /// That of cubecl#1424: a cube that waits for all of its units, which are more than there are cores.
    #[test]
    fn cubes_with_barriers_end_whatever_their_size() {
        let mut stream = Stream::new();
        let cores = thread::available_parallelism().unwrap().get();
        for units in [1, 2, cores, cores + 1, 4 * cores + 3] {
            let (barrier, sum) = (SyncCube::new(units), Arc::new(AtomicUsize::new(0)));
            let seen = Arc::new(Mutex::new(Vec::new()));
            let (own_sum, own_seen) = (Arc::clone(&sum), Arc::clone(&seen));
            stream.launch(units, true, move |unit| {
                own_sum.fetch_add(unit + 1, Ordering::Relaxed);
                barrier.wait();
                own_seen.lock().unwrap().push(own_sum.load(Ordering::Relaxed));
                barrier.wait();
            });
            stream.wait();
            assert_eq!(*seen.lock().unwrap(), vec![units * (units + 1) / 2; units]);
        }
    }

    #[test]
    fn launches_run_in_order_and_all_units_of_each() {
        let mut stream = Stream::new();
        let values: Arc<Vec<AtomicUsize>> = Arc::new((0..37).map(|_| AtomicUsize::new(0)).collect());
        for launch in 0..200 {
            let own = Arc::clone(&values);
            let barrier = SyncCube::new(3);
            match launch % 5 {
                // Each unit finds what the launch before has left everywhere.
                0..4 => stream.launch(37, false, move |unit| {
                    assert!(own.iter().all(|value| [launch, launch + 1].contains(&value.load(Ordering::Relaxed))));
                    own[unit].fetch_add(1, Ordering::Relaxed);
                }),
                _ => stream.launch(3, true, move |unit| {
                    barrier.wait();
                    own.iter().skip(unit).step_by(3).for_each(|value| _ = value.fetch_add(1, Ordering::Relaxed));
                }),
            }
        }
        stream.wait();
        assert!(values.iter().all(|value| value.load(Ordering::Relaxed) == 200));
    }

    #[test]
    fn several_streams_go_on_beside_each_other() {
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut stream = Stream::new();
                    for units in [5, 2, 7, 3] {
                        let barrier = SyncCube::new(units);
                        stream.launch(units, true, move |_| barrier.wait());
                    }
                    stream.wait();
                });
            }
        });
    }

    /// For whoever reads the output: how much CPU an idle scheduler uses, and how long a client's own work takes beside
    /// launches.
    #[test]
    fn an_idle_scheduler_uses_no_cpu() {
        let mut stream = Stream::new();
        stream.launch(64, false, |_| ());
        stream.wait();
        thread::sleep(Duration::from_millis(50));
        let before = cpu_time();
        thread::sleep(Duration::from_millis(300));
        let used = cpu_time() - before;
        println!("idle for 300 ms: {used:?} of CPU");
        // Other tests run in this process meanwhile; this one is also run alone.
        let begin = Instant::now();
        let cpu = cpu_time();
        for _ in 0..200 {
            let barrier = SyncCube::new(2);
            stream.launch(2, true, move |_| barrier.wait());
            stream.wait();
        }
        let (time, used) = (begin.elapsed() / 200, (cpu_time() - cpu) / 200);
        println!("a launch of two units with a barrier: {time:?}, {used:?} of CPU");
    }
}
