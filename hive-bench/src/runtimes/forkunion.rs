//! ForkUnion: a pool whose threads spin for their work and never sleep.

#[cfg(feature = "forkunion")]
pub(crate) use pool::ForkUnionPool;

pub(crate) fn availability() -> Result<(), String> {
    if cfg!(feature = "forkunion") { Ok(()) } else { Err("built without the feature forkunion".to_owned()) }
}

#[cfg(feature = "forkunion")]
mod pool {
    use std::hint::black_box;
    use std::sync::atomic::{AtomicU64, Ordering};

    use forkunion::{ThreadPool, Topology};

    use crate::cpus;
    use crate::runtimes::Runtime;
    use crate::runtimes::tasks::Tasks;

    /// One member's number, on cache lines of its own.
    #[derive(Default)]
    #[repr(align(128))]
    struct Slot(AtomicU64);

    pub(crate) struct ForkUnionPool {
        pool: ThreadPool,
        slots: Vec<Slot>,
    }

    impl ForkUnionPool {
        pub(crate) fn host<T>(cpus: &[usize], work: impl FnOnce(&mut Self) -> T) -> Result<T, String> {
            let topology = Topology::new().map_err(|error| format!("no topology: {error}"))?;
            let mut pool = ThreadPool::try_spawn(&topology, cpus.len()).map_err(|error| format!("no pool: {error}"))?;
            // The pool itself binds to sets of CPUs; one each is what the others get.
            pool.broadcast(|member, _| {
                cpus::pin(cpus[member]);
            });
            let slots = cpus.iter().map(|_| Slot::default()).collect();
            Ok(work(&mut Self { pool, slots }))
        }
    }

    impl Runtime for ForkUnionPool {
        fn members(&self) -> usize {
            self.slots.len()
        }

        fn region<F: Fn(usize) + Sync>(&mut self, members: usize, body: F) {
            debug_assert_eq!(members, self.members(), "a pool has one size");
            self.pool.broadcast(|member, _| body(member));
        }

        fn sums(&mut self, times: u64) -> f64 {
            let mut total = 0.0;
            for _ in 0..times {
                // Relaxed: the region itself orders the members' stores before the loads.
                self.pool.broadcast(|member, _| {
                    let number = black_box(member + 1) as f64;
                    self.slots[member].0.store(number.to_bits(), Ordering::Relaxed);
                });
                total += self.slots.iter().map(|slot| f64::from_bits(slot.0.load(Ordering::Relaxed))).sum::<f64>();
            }
            total
        }
    }

    /// A pool for regions.
    impl Tasks for ForkUnionPool {}
}
