//! Conjugate gradients: solves `A x = b` for a symmetric, positive definite matrix. `b` is `A` times ones, so that the
//! solution is known. Exactly as many iterations are done as are asked for, even if `x` is good enough before, so that
//! all runtimes do the same work.

use std::sync::Mutex;

use super::Placed;
use super::placed::{Matrix, Vectors, hb_advance_part, hb_multiply_and_dot_part, hb_turn_part};
use crate::kernels::disjoint::Disjoint;
use crate::matrix::Csr;
use crate::runtimes::loops::Loops;
use crate::runtimes::{Runtime, TeamThread};

/// `A x = b` on the way to its solution.
pub(crate) struct System {
    pub(super) placed: Placed,
    pub(super) b: Vec<f64>,
    pub(super) x: Vec<f64>,
    /// The residual `b - A x`, updated in each step.
    pub(super) r: Vec<f64>,
    /// The direction of the next step.
    pub(super) p: Vec<f64>,
    /// `A p`.
    pub(super) q: Vec<f64>,
    pub(crate) scalars: Scalars,
}

/// What an iteration passes on to the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scalars {
    /// Iterations done.
    pub(crate) done: u64,
    /// `r . r`.
    pub(crate) rr: f64,
    /// Below this `r . r` nothing is left to do. It is far below what rounding leaves of a residual, and far above the
    /// smallest double.
    pub(crate) solved: f64,
}

impl Scalars {
    /// At the beginning, where the residual is `b`.
    fn of(b: &[f64]) -> Self {
        let rr: f64 = b.iter().map(|b| b * b).sum();
        // A system that overflows at once cannot be solved.
        Self { done: 0, rr, solved: if rr.is_finite() { rr * 1e-40 } else { 0.0 } }
    }

    /// How far to go along `p`, when `p . A p` is this. `None` when that breaks down.
    fn step(&self, pq: f64) -> Option<f64> {
        match self.rr {
            rr if rr <= self.solved => Some(0.0),
            // The comparison is false for NaN, too.
            rr if pq > 0.0 => Some(rr / pq),
            _ => None,
        }
    }

    /// Goes on to the next iteration, with `r . r` as it is now. Returns how much of `p` to keep: 0 once the system is
    /// solved, where the ratio would be 0 / 0.
    fn next_iteration(&mut self, rr: f64) -> f64 {
        let kept = if self.rr <= self.solved { 0.0 } else { rr / self.rr };
        self.done += 1;
        self.rr = rr;
        kept
    }

    /// Why there is no next step.
    fn breakdown(&self, pq: f64) -> String {
        let iteration = self.done + 1;
        format!(
            "conjugate gradients broke down in iteration {iteration}: p.Ap is {pq:e}, so the matrix is not \
             positive definite"
        )
    }
}

impl System {
    /// At `x = 0`.
    pub(crate) fn new(runtime: &mut impl Runtime, matrix: &Csr) -> Self {
        let placed = Placed::new(runtime, matrix);
        let product = matrix.product(&vec![1.0; matrix.columns()]);
        let b = placed.vector(runtime, |row| product[row]);
        let copy = |runtime: &mut _| placed.vector(runtime, |row| b[row]);
        let (r, p) = (copy(runtime), copy(runtime));
        let (x, q) = (placed.vector(runtime, |_| 0.0), placed.vector(runtime, |_| 0.0));
        let scalars = Scalars::of(&b);
        Self { placed, b, x, r, p, q, scalars }
    }

    /// Back to `x = 0`.
    pub(crate) fn restart(&mut self) {
        self.x.fill(0.0);
        self.r.copy_from_slice(&self.b);
        self.p.copy_from_slice(&self.b);
        self.scalars = Scalars::of(&self.b);
    }

    /// So many iterations from where the system is, in the runtime's best form. An error when the matrix turns out not
    /// to be positive definite.
    pub(crate) fn solve<R: Runtime + Loops>(&mut self, by: &mut R, iterations: u64) -> Result<(), String> {
        if R::IN_C {
            self.in_one_region::<true>(by, iterations)
        } else if R::SOLVES_IN_ONE_REGION {
            self.in_one_region::<false>(by, iterations)
        } else {
            self.by_loops(by, iterations)
        }
    }

    /// For runtimes whose regions are loops: three loops in each iteration, two of them with a sum.
    pub(super) fn by_loops(&mut self, by: &mut impl Loops, iterations: u64) -> Result<(), String> {
        for _ in 0..iterations {
            let (blocks, mut scalars) = (self.placed.blocks(), self.scalars);
            let shares = self.shares();
            // SAFETY: a loop hands out each block once, and has ended when the next begins.
            let pq = by.sum(blocks, |blocks| blocks.map(|block| unsafe { shares.multiply::<false>(block) }).sum());
            let step = scalars.step(pq).ok_or_else(|| scalars.breakdown(pq))?;
            // SAFETY: as above.
            let rr = by.sum(blocks, |blocks| blocks.map(|block| unsafe { shares.advance::<false>(block, step) }).sum());
            let kept = scalars.next_iteration(rr);
            // SAFETY: as above.
            by.blocks(blocks, |blocks| blocks.for_each(|block| unsafe { shares.redirect::<false>(block, kept) }));
            self.scalars = scalars;
        }
        Ok(())
    }

    /// For runtimes with a barrier: all iterations in one region, with the steps in Rust or in C.
    fn in_one_region<const IN_C: bool>(&mut self, team: &mut impl Runtime, iterations: u64) -> Result<(), String> {
        let begin = self.scalars;
        // What the first thread comes to, which is the same for all.
        let (end, shares) = (Mutex::new(Ok(begin)), self.shares());
        team.one_region(|thread| {
            // SAFETY: a region runs this once on each of its threads. A system has a block for each, and nobody else
            // uses the vectors.
            let scalars = unsafe { shares.iterate::<IN_C>(thread, begin, iterations) };
            if thread.id() == 0 {
                *end.lock().expect("nobody panics with it") = scalars;
            }
        });
        self.scalars = end.into_inner().expect("nobody panics with it")?;
        Ok(())
    }

    fn shares(&mut self) -> Shares<'_> {
        Shares {
            placed: &self.placed,
            x: Disjoint::new(&mut self.x),
            r: Disjoint::new(&mut self.r),
            p: Disjoint::new(&mut self.p),
            q: Disjoint::new(&mut self.q),
        }
    }
}

/// The vectors of a system, handed out by blocks of rows.
struct Shares<'a> {
    placed: &'a Placed,
    x: Disjoint<'a>,
    r: Disjoint<'a>,
    p: Disjoint<'a>,
    q: Disjoint<'a>,
}

/// How many partial sums a sum over a vector has. Adding up one number after the other would take longer than fetching
/// them.
const LANES: usize = 4;

/// The steps of an iteration, each in one block of rows, in Rust or in C.
impl Shares<'_> {
    /// `q = A p` in a block; its part of `p . q`.
    ///
    /// # Safety
    /// Nobody else has this block, and nobody writes `p`.
    unsafe fn multiply<const IN_C: bool>(&self, block: usize) -> f64 {
        if IN_C {
            // SAFETY: the caller's promise.
            return unsafe { hb_multiply_and_dot_part(&Matrix::of(self.placed), &self.vectors(), block) };
        }
        let (rows, matrix) = (self.placed.rows(block), &self.placed.matrix);
        // SAFETY: the caller's promise.
        let p = unsafe { self.p.shared(0..matrix.columns()) };
        // SAFETY: the caller's promise.
        let q = unsafe { self.q.part(rows.clone()) };
        matrix.multiply_and_dot(q, p, rows)
    }

    /// `x += step p` and `r -= step q` in a block; its part of `r . r`.
    ///
    /// # Safety
    /// Nobody else has this block, and nobody writes `p`.
    unsafe fn advance<const IN_C: bool>(&self, block: usize, step: f64) -> f64 {
        if IN_C {
            // SAFETY: the caller's promise.
            return unsafe { hb_advance_part(&Matrix::of(self.placed), &self.vectors(), step, block) };
        }
        let rows = self.placed.rows(block);
        // SAFETY: the caller's promise.
        let x = unsafe { self.x.part(rows.clone()) };
        // SAFETY: the caller's promise.
        let r = unsafe { self.r.part(rows.clone()) };
        // SAFETY: the caller's promise.
        let p = unsafe { self.p.shared(rows.clone()) };
        // SAFETY: the caller's promise.
        let q = unsafe { self.q.shared(rows) };
        add(x, step, p);
        subtract(r, step, q)
    }

    /// `p = r + kept p` in a block.
    ///
    /// # Safety
    /// Nobody else has this block, and nobody reads `p`.
    unsafe fn redirect<const IN_C: bool>(&self, block: usize, kept: f64) {
        if IN_C {
            // SAFETY: the caller's promise.
            return unsafe { hb_turn_part(&Matrix::of(self.placed), &self.vectors(), kept, block) };
        }
        let rows = self.placed.rows(block);
        // SAFETY: the caller's promise.
        let p = unsafe { self.p.part(rows.clone()) };
        // SAFETY: the caller's promise.
        let r = unsafe { self.r.shared(rows) };
        redirect(p, r, kept);
    }

    /// One thread's share of all iterations, in one region. The result is the same for all threads.
    ///
    /// # Safety
    /// There are as many threads as blocks. Each calls this once, all in the same region, and no other thread uses the
    /// vectors.
    unsafe fn iterate<const IN_C: bool>(
        &self,
        thread: &dyn TeamThread,
        mut scalars: Scalars,
        iterations: u64,
    ) -> Result<Scalars, String> {
        let block = thread.id();
        for _ in 0..iterations {
            // SAFETY: the block is this thread's; `p` was last written before a barrier.
            let pq = thread.sum(unsafe { self.multiply::<IN_C>(block) });
            let step = scalars.step(pq).ok_or_else(|| scalars.breakdown(pq))?;
            // SAFETY: the block is this thread's.
            let rr = thread.sum(unsafe { self.advance::<IN_C>(block, step) });
            let kept = scalars.next_iteration(rr);
            // SAFETY: the block is this thread's; the others have read `p` before the sums.
            unsafe { self.redirect::<IN_C>(block, kept) };
            thread.barrier();
        }
        Ok(scalars)
    }

    fn vectors(&self) -> Vectors {
        let [x, r, p, q] = [&self.x, &self.r, &self.p, &self.q].map(Disjoint::pointer);
        Vectors { x, r, p, q }
    }
}

// Never inlined, so that all runtimes have the same machine code.

/// `x += step p`.
#[inline(never)]
fn add(x: &mut [f64], step: f64, p: &[f64]) {
    for (x, p) in x.iter_mut().zip(p) {
        *x += step * p;
    }
}

/// `p = r + kept p`.
#[inline(never)]
fn redirect(p: &mut [f64], r: &[f64], kept: f64) {
    for (p, r) in p.iter_mut().zip(r) {
        *p = r + kept * *p;
    }
}

/// `r -= step q`; the sum of the squares of what is left.
#[inline(never)]
fn subtract(r: &mut [f64], step: f64, q: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (fours, last) = r.as_chunks_mut::<LANES>();
    let (q_fours, q_last) = q.as_chunks::<LANES>();
    for (r, q) in fours.iter_mut().zip(q_fours) {
        for lane in 0..LANES {
            r[lane] -= step * q[lane];
            sums[lane] += r[lane] * r[lane];
        }
    }
    let mut sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    for (r, q) in last.iter_mut().zip(q_last) {
        *r -= step * q;
        sum += *r * *r;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Entry, Laplacian, Symmetry};
    #[cfg(openmp_compiled)]
    use crate::runtimes::hive::tests::with_team;
    use crate::runtimes::sequential::Sequential;
    use crate::runtimes::std_scope::StdScope;

    #[test]
    fn two_steps_solve_a_system_of_two() {
        let entries = [(0, 0, 4.0), (1, 0, 1.0), (1, 1, 3.0)].map(|(row, column, value)| Entry { row, column, value });
        let matrix = Csr::from_entries(2, 2, Symmetry::Symmetric, &entries);
        let mut system = System::new(&mut Sequential::<false>, &matrix);
        assert_eq!(system.b, [5.0, 4.0]);
        system.by_loops(&mut Sequential::<false>, 2).unwrap();
        assert!(system.x.iter().all(|x| (x - 1.0).abs() < 1e-15), "{:?}", system.x);
        assert_eq!(system.scalars.done, 2);
    }

    #[test]
    fn a_solved_system_stays_solved() {
        let matrix = Laplacian::new(3).matrix();
        let mut system = System::new(&mut Sequential::<false>, &matrix);
        system.by_loops(&mut Sequential::<false>, 1000).unwrap();
        assert!(system.x.iter().all(|x| (x - 1.0).abs() < 1e-14), "{:?}", system.x);
        assert_eq!(system.scalars.done, 1000);
    }

    #[test]
    fn what_is_not_positive_definite_is_reported() {
        let of = |diagonal: [f64; 2]| {
            let entries = [0, 1].map(|row| Entry { row, column: row, value: diagonal[row as usize] });
            let matrix = Csr::from_entries(2, 2, Symmetry::Symmetric, &entries);
            System::new(&mut Sequential::<false>, &matrix).by_loops(&mut Sequential::<false>, 5)
        };
        of([1.0, 2.0]).unwrap();
        let error = of([1.0, -2.0]).unwrap_err();
        assert!(error.contains("iteration 1: p.Ap is -7e0") && error.contains("not positive definite"), "{error}");
        assert!(of([1e200, 1e-200]).is_err());
        // A system whose solution is zero from the start has nothing to solve.
        of([0.0, 0.0]).unwrap();
    }

    #[test]
    fn loops_and_one_region_come_to_the_same() {
        let matrix = Laplacian::new(12).matrix();
        let team = &mut StdScope { threads: 3 };
        let (mut loops, mut region) = (System::new(team, &matrix), System::new(team, &matrix));
        loops.by_loops(team, 9).unwrap();
        region.solve(team, 4).unwrap();
        region.solve(team, 5).unwrap();
        assert_eq!(loops.x, region.x);
        assert_eq!(loops.r, region.r);
        assert_eq!(loops.scalars, region.scalars);
    }

    #[cfg(openmp_compiled)]
    #[test]
    fn steps_in_c_solve() {
        let matrix = Laplacian::new(13).matrix();
        with_team::<true, _>(|team| {
            let mut system = System::new(team, &matrix);
            system.solve(team, 600).unwrap();
            system.solve(team, 400).unwrap();
            assert_eq!(system.scalars.done, 1000);
            system.check(1e-12).unwrap();
        });
        let entry = |place: u32, value: f64| Entry { row: place, column: place, value };
        let matrix = Csr::from_entries(2, 2, Symmetry::Symmetric, &[entry(0, 1.0), entry(1, -2.0)]);
        let error = System::new(&mut Sequential::<true>, &matrix).solve(&mut Sequential::<true>, 5).unwrap_err();
        assert!(error.contains("iteration 1: p.Ap is -7e0"), "{error}");
    }

    #[test]
    fn what_is_left_is_squared_and_added_up() {
        let mut r = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0];
        assert_eq!(subtract(&mut r, 0.5, &[2.0; 6]), 4.0 + 9.0 + 16.0 + 64.0);
        assert_eq!(r, [2.0, 0.0, 3.0, 0.0, 4.0, 8.0]);
    }
}
