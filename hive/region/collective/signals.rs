//! `Bee::signal` and `Bee::wait_for`: a bee waits for how far one other bee has come, and not for all of them. For
//! wavefronts, pipelines, and sweeps in place. The words are in `hive/protocol/region/signal.rs`.

use crate::protocol::region::exchange_slots::Operation;
use crate::region::bee::Bee;

impl Bee<'_> {
    /// Says that this bee has come as far as `count` in this region, by a count of the program's own: rows, tiles,
    /// items. Bees that [wait for it](Self::wait_for) see all that this bee has done before. In each region the count
    /// begins at 0. It takes one store.
    ///
    /// A signal is no barrier: for [`Parts`](crate::Parts) and [`PerBee`](crate::PerBee) it begins no new phase, so
    /// what bees pass to each other by signals lies in a [`SharedSlice`](crate::SharedSlice), or in cells of the
    /// program's own, such as mutexes.
    ///
    /// ```
    /// use hive::SharedSlice;
    ///
    /// // Sweeps in place. A cell needs those to its left and above as this sweep has left them, and those to its right
    /// // and below from the sweep before. Each bee has some of the columns, and waits for its neighbours row by row.
    /// let (sweeps, rows, columns) = (3, 64, 96);
    /// let sweep_row = |cells: &SharedSlice<'_, f64>, row: usize, own: std::ops::Range<usize>| {
    ///     for cell in row * columns + own.start..row * columns + own.end {
    ///         let beside = cells.get(cell - 1) + cells.get(cell + 1);
    ///         cells.set(cell, (beside + cells.get(cell - columns) + cells.get(cell + columns)) / 4.0);
    ///     }
    /// };
    /// let mut grid: Vec<f64> = (0..rows * columns).map(|cell| (cell % 7) as f64).collect();
    /// let mut expected = grid.clone();
    /// let cells = SharedSlice::new(&mut grid);
    /// hive::spmd(3, |bee| {
    ///     for (sweep, row) in (0..sweeps).flat_map(|sweep| (1..rows - 1).map(move |row| (sweep, row))) {
    ///         let step = sweep * rows + row;
    ///         if bee.id() > 0 {
    ///             bee.wait_for(bee.id() - 1, step);
    ///         }
    ///         // The right neighbour has done this row in the sweep before.
    ///         if bee.id() + 1 < bee.bees() {
    ///             bee.wait_for(bee.id() + 1, step.saturating_sub(rows));
    ///         }
    ///         sweep_row(&cells, row, bee.split(1..columns - 1));
    ///         bee.signal(step);
    ///     }
    /// });
    /// let alone = SharedSlice::new(&mut expected);
    /// (0..sweeps).flat_map(|_| 1..rows - 1).for_each(|row| sweep_row(&alone, row, 1..columns - 1));
    /// assert_eq!(grid, expected);
    /// ```
    ///
    /// # Panics
    /// If `count` is below what this bee has signalled before in this region. In the work of another call, except in
    /// the bodies of [`for_each`](Self::for_each) and [`for_range`](Self::for_range), and in the body of a loop that is
    /// a region of its own, such as [`par_for`](crate::par_for).
    #[inline]
    #[track_caller]
    #[doc(alias("flag", "point-to-point", "depend", "doacross", "post"))]
    pub fn signal(&self, count: usize) {
        let call = self.context.begin_call(Operation::Signal);
        if self.bees() > 1 && !self.context.has_failed() {
            let before = self.context.signal_of(self.context.id) as usize;
            assert!(before <= count, "bee {} signals {count} after {before}", self.id());
            self.context.set_signal(count as u64);
        }
        call.end();
    }

    /// Waits until bee `other` has [signalled](Self::signal) `count` or more in this region. What that bee did before
    /// is visible to this one then. In a team of one, which has nobody to wait for, it returns at once: that
    /// bee has to do what the others would.
    ///
    /// ```
    /// // A pipeline of three stages: each bee works on what its predecessor has made of an item, while that makes the
    /// // next one. A team of one, such as that of a nested region, does all stages of an item itself.
    /// let items: Vec<_> = (0..20).map(|_| std::sync::Mutex::new(1)).collect();
    /// hive::spmd(3, |bee| {
    ///     let stages = if bee.bees() == 1 { 0..3 } else { bee.id()..bee.id() + 1 };
    ///     for (done, item) in items.iter().enumerate() {
    ///         if bee.id() > 0 {
    ///             bee.wait_for(bee.id() - 1, done + 1);
    ///         }
    ///         stages.clone().for_each(|stage| *item.lock().unwrap() *= stage + 2);
    ///         bee.signal(done + 1);
    ///     }
    /// });
    /// assert!(items.iter().all(|item| *item.lock().unwrap() == 2 * 3 * 4));
    /// ```
    ///
    /// # Panics
    /// If there is no bee `other` in a team of several; where [`signal`](Self::signal) may not be called; and if the
    /// signal can never come, because each other bee has come to the end of its part, or waits in
    /// [`ordered`](Self::ordered) or here for what does not come either. Bees that have waited for long find this out,
    /// but for the cases in which [`ordered`](Self::ordered) does not: above all, if the other bee waits for this one
    /// at a barrier.
    ///
    /// If another bee has panicked, this call unwinds the body of this bee, as a barrier does. In a destructor [that
    /// must not panic](Self::barrier) it returns at once.
    #[inline]
    #[track_caller]
    #[doc(alias("flag", "point-to-point", "depend", "doacross", "wait"))]
    pub fn wait_for(&self, other: usize, count: usize) {
        let call = self.context.begin_call(Operation::WaitFor);
        if self.bees() > 1 && !self.context.has_failed() {
            assert!(other < self.bees(), "there is no bee {other} to wait for in a team of {}", self.bees());
            let (other, count) = (other as u32, count as u64);
            if self.context.signal_of(other) < count {
                self.wait_for_signal(other, count);
            }
        }
        call.end();
    }

    /// What bee `other` has [signalled](Self::signal) in this region; 0 if nothing, and in a team of one. It does not
    /// wait.
    ///
    /// ```
    /// hive::spmd(2, |bee| {
    ///     bee.signal(7);
    ///     bee.barrier();
    ///     assert_eq!(bee.signalled(1 - bee.id()), 7);
    /// });
    /// ```
    ///
    /// # Panics
    /// If there is no bee `other` in a team of several.
    #[inline]
    #[track_caller]
    pub fn signalled(&self, other: usize) -> usize {
        if self.bees() == 1 {
            return 0;
        }
        assert!(other < self.bees(), "there is no bee {other} in a team of {}", self.bees());
        self.context.signal_of(other as u32) as usize
    }

    #[cold]
    #[track_caller]
    fn wait_for_signal(&self, other: u32, count: u64) {
        if self.waits_in_vain(|| self.context.signal_of(other) >= count) {
            self.context.panic_or_fail(format_args!(
                "bee {} of {} waits for bee {other} to signal {count}, which it never will; it has signalled {}, and \
                 all bees have come to the ends of their parts, or wait for what does not come either",
                self.id(),
                self.bees(),
                self.context.signal_of(other),
            ));
        }
    }
}
