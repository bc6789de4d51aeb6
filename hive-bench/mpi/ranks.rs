//! The processes that mpirun has started. All communication between them goes through here, but for what a step needs.
//! It is called only by the thread that has joined, between regions, as `MPI_THREAD_FUNNELED` requires.

use std::thread;

use ::mpi::collective::SystemOperation;
use ::mpi::datatype::PartitionMut;
use ::mpi::environment::Universe;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::*;
use ::mpi::{Count, Threading};

/// All ranks, and which of them this process is. When it is dropped, this process leaves.
pub(super) struct Ranks {
    world: SimpleCommunicator,
    /// Dropped last, which ends MPI.
    _universe: Universe,
}

impl Ranks {
    /// Joins the other ranks. Only the calling thread may call MPI from then on, and it has to be the queen of every
    /// region.
    pub(super) fn join() -> Result<Self, String> {
        let (universe, provided) = ::mpi::initialize_with_threading(Threading::Funneled)
            .ok_or("this process has joined the other ranks before, and MPI lets it do so once")?;
        if provided < Threading::Funneled {
            return Err(
                "this MPI library knows only processes of one thread; it has to be one built with MPI_THREAD_FUNNELED"
                    .to_owned(),
            );
        }
        Ok(Self { world: universe.world(), _universe: universe })
    }

    pub(super) fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    pub(super) fn count(&self) -> usize {
        self.world.size() as usize
    }

    /// Whether this is the rank that prints.
    pub(super) fn is_first(&self) -> bool {
        self.rank() == 0
    }

    pub(super) const fn world(&self) -> &SimpleCommunicator {
        &self.world
    }

    /// This rank's outcome if no rank has an error. Otherwise every rank gets the error of the first rank that has one.
    pub(super) fn agree<T>(&self, outcome: Result<T, String>) -> Result<T, String> {
        let own = if outcome.is_err() { self.world.rank() } else { self.world.size() };
        let mut first = 0;
        self.world.all_reduce_into(&own, &mut first, SystemOperation::min());
        if first == self.world.size() {
            return outcome;
        }
        let mut text = outcome.err().unwrap_or_default().into_bytes();
        let mut len = text.len() as u64;
        let root = self.world.process_at_rank(first);
        root.broadcast_into(&mut len);
        text.resize(len as usize, 0);
        root.broadcast_into(&mut text[..]);
        Err(format!("rank {first}: {}", String::from_utf8_lossy(&text)))
    }

    /// What all ranks have, one after the other, at the first; nothing at the others.
    ///
    /// # Panics
    /// If that is more than an MPI message can hold.
    pub(super) fn gather<T: Equivalence + Clone + Default>(&self, own: &[T]) -> Option<Vec<T>> {
        let root = self.world.process_at_rank(0);
        let count = message_len(own.len());
        if !self.is_first() {
            root.gather_into(&count);
            root.gather_varcount_into(own);
            return None;
        }
        let mut counts = vec![0; self.count()];
        root.gather_into_root(&count, &mut counts[..]);
        let begins = begins(&counts);
        let mut all = vec![T::default(); counts.iter().map(|count| *count as usize).sum()];
        root.gather_varcount_into_root(own, &mut PartitionMut::new(&mut all[..], counts, begins));
        Some(all)
    }

    /// What the ranks on this machine have, one after the other.
    pub(super) fn gather_on_this_machine<T: Equivalence + Clone + Default>(&self, own: &[T]) -> Vec<T> {
        let neighbours = self.world.split_shared(self.world.rank());
        let mut counts = vec![0; neighbours.size() as usize];
        neighbours.all_gather_into(&message_len(own.len()), &mut counts[..]);
        let begins = begins(&counts);
        let mut all = vec![T::default(); counts.iter().map(|count| *count as usize).sum()];
        neighbours.all_gather_varcount_into(own, &mut PartitionMut::new(&mut all[..], counts, begins));
        all
    }
}

impl Drop for Ranks {
    /// Ends all ranks after a panic, because the others would wait for this one for ever.
    fn drop(&mut self) {
        if thread::panicking() {
            self.world.abort(101);
        }
    }
}

/// The number as an integer of MPI.
///
/// # Panics
/// If the number is too large for MPI.
pub(super) fn message_len(len: usize) -> Count {
    Count::try_from(len)
        .unwrap_or_else(|_| panic!("a message of {len} values, and MPI counts them in {} bits", Count::BITS - 1))
}

/// Where each rank's values begin, when they are laid out one after the other.
///
/// # Panics
/// If the number is too large for MPI.
pub(super) fn begins(counts: &[Count]) -> Vec<Count> {
    let before = |end: &mut usize, count: &Count| Some(message_len(std::mem::replace(end, *end + *count as usize)));
    counts.iter().scan(0, before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_where_those_before_end() {
        assert_eq!(begins(&[3, 0, 2]), [0, 3, 3]);
        assert_eq!(begins(&[]), [0; 0]);
    }

    #[test]
    #[should_panic(expected = "MPI counts them in 31 bits")]
    fn more_values_than_mpi_counts_are_reported() {
        begins(&[Count::MAX, 1, 0]);
    }
}
