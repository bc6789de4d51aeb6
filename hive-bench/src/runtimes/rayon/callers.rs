//! Requests: each is a parallel iterator that its caller, a thread outside of the pool, waits for.

use rayon::prelude::*;

use crate::kernels::roots::root;
use crate::runtimes::callers::Callers;

use super::RayonPool;

impl Callers for RayonPool {
    fn sum_of_roots(&self, numbers: &[f64]) -> Result<f64, String> {
        Ok(self.pool.install(|| numbers.par_iter().map(|number| root(*number)).sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::callers::tests::callers_are_served;
    use crate::system::cpus;

    #[test]
    fn callers() {
        let cpus = [cpus::in_order_of_use()[0]; 2];
        // On a thread of its own, which is bound to a CPU and ends.
        std::thread::spawn(move || RayonPool::host_outside(&cpus, |team| callers_are_served(team)).unwrap())
            .join()
            .unwrap();
    }
}
