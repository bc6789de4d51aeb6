//! Who has a part of a slice at the moment: one bee to write to it, or several to read it. As `RefCell`'s, for several threads, and with the phases between barriers in mind.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::region::bee::Bee;

/// The state of one part.
///
/// ```text
///   63                                   14  13   12            0
///  ┌───────────────────────────────────────┬─────┬──────────────┐
///  │                 phase                 │  W  │     out      │
///  └───────────────────────────────────────┴─────┴──────────────┘
/// ```
///
/// - `phase`: in which it was lent last; 0: none to speak of. See [`TaskPhase`].
/// - `W`: it was lent to be written to.
/// - `count`: how many have it.
#[derive(Clone, Copy)]
struct BorrowWord(u64);

impl BorrowWord {
    const WRITE_BIT: u64 = 1 << 13;
    const COUNT_MASK: u64 = Self::WRITE_BIT - 1;
    const PHASE_SHIFT: u32 = 14;

    fn new(phase: Phase, write: bool, count: u64) -> Self {
        Self((phase.0 << Self::PHASE_SHIFT) | (u64::from(write) * Self::WRITE_BIT) | count)
    }

    fn phase(self) -> Phase {
        Phase(self.0 >> Self::PHASE_SHIFT)
    }

    fn is_write(self) -> bool {
        self.0 & Self::WRITE_BIT != 0
    }

    fn count(self) -> u64 {
        self.0 & Self::COUNT_MASK
    }
}

/// The time between two barriers of a region, by its key, as far as there is room. A team of one has no phases.
///
/// Bees in the same phase do not know of one another how far they are. So what one reads no other may write in the same phase, even if it happens to do so
/// at another time; told by the phase, such a mistake is found each time, not now and then.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Phase(u64);

impl Phase {
    const BITS: u32 = 64 - BorrowWord::PHASE_SHIFT;

    pub(crate) fn of(bee: &Bee<'_>) -> Self {
        let key = if bee.context.bees() == 1 { 0 } else { bee.context.phase_key() };
        Self(key & ((1 << Self::BITS) - 1))
    }

    fn is_same(self, other: Self) -> bool {
        self.0 != 0 && self == other
    }
}

/// Why a part cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BorrowError {
    /// Somebody is writing to it.
    BeingWritten,
    /// Somebody is reading it.
    BeingRead,
    /// It was written to in this phase.
    WrittenThisPhase,
    /// It was read in this phase.
    ReadThisPhase,
    /// More readers than can be counted.
    TooManyReaders,
}

/// Lends one part.
#[derive(Default)]
pub(crate) struct BorrowState(AtomicU64);

impl BorrowState {
    /// Lends the part to one who writes.
    pub(crate) fn try_write(&self, phase: Phase) -> Result<(), BorrowError> {
        self.try_borrow(|word| match word {
            _ if word.count() > 0 && word.is_write() => Err(BorrowError::BeingWritten),
            _ if word.count() > 0 => Err(BorrowError::BeingRead),
            _ if word.phase().is_same(phase) && !word.is_write() => Err(BorrowError::ReadThisPhase),
            _ => Ok(BorrowWord::new(phase, true, 1)),
        })
    }

    /// Lends the part to one more who reads.
    pub(crate) fn try_read(&self, phase: Phase) -> Result<(), BorrowError> {
        self.try_borrow(|word| match word {
            _ if word.count() == 0 && word.is_write() && word.phase().is_same(phase) => {
                Err(BorrowError::WrittenThisPhase)
            }
            _ if word.count() == 0 => Ok(BorrowWord::new(phase, false, 1)),
            _ if word.is_write() => Err(BorrowError::BeingWritten),
            _ if word.count() == BorrowWord::COUNT_MASK => Err(BorrowError::TooManyReaders),
            _ => Ok(BorrowWord::new(phase, false, word.count() + 1)),
        })
    }

    fn try_borrow(&self, next: impl Fn(BorrowWord) -> Result<BorrowWord, BorrowError>) -> Result<(), BorrowError> {
        // Relaxed: only says what to try.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let new = next(BorrowWord(word))?;
            // Acquire: pairs with the Release in `unwind_out_of_region`; what the last borrower did is done. Failure is Relaxed: tried again.
            match self.0.compare_exchange_weak(word, new.0, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(other) => word = other,
            }
        }
    }

    /// Takes it back from one who had it.
    pub(crate) fn release(&self) {
        // Release: pairs with the Acquire in `try_borrow`.
        let word = BorrowWord(self.0.fetch_sub(1, Ordering::Release));
        debug_assert!(word.count() > 0, "given back without having been lent");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writes_or_several_read() {
        let (state, phase) = (BorrowState::default(), Phase(0));
        assert_eq!(state.try_write(phase), Ok(()));
        assert_eq!(
            (state.try_write(phase), state.try_read(phase)),
            (Err(BorrowError::BeingWritten), Err(BorrowError::BeingWritten))
        );
        state.release();
        assert_eq!(
            (state.try_read(phase), state.try_read(phase), state.try_write(phase)),
            (Ok(()), Ok(()), Err(BorrowError::BeingRead))
        );
        state.release();
        assert_eq!(state.try_write(phase), Err(BorrowError::BeingRead));
        state.release();
        assert_eq!(state.try_write(phase), Ok(()));
    }

    #[test]
    fn in_one_phase_a_part_is_written_or_read() {
        let state = BorrowState::default();
        assert_eq!(state.try_write(Phase(5)), Ok(()));
        state.release();
        assert_eq!(state.try_read(Phase(5)), Err(BorrowError::WrittenThisPhase));
        assert_eq!(state.try_write(Phase(5)), Ok(()), "again by the same");
        state.release();
        assert_eq!(state.try_read(Phase(6)), Ok(()));
        state.release();
        assert_eq!(state.try_write(Phase(6)), Err(BorrowError::ReadThisPhase));
        assert_eq!(state.try_write(Phase(7)), Ok(()));
    }

    #[test]
    fn readers_are_counted_up_to_what_there_is_room_for() {
        let state = BorrowState::default();
        assert!((0..BorrowWord::COUNT_MASK).all(|_| state.try_read(Phase(1)).is_ok()));
        assert_eq!(state.try_read(Phase(1)), Err(BorrowError::TooManyReaders));
    }
}
