//! Who has a part of a slice at the moment: one member to write to it, or several to read it. As `RefCell`'s, for several threads, and with the phases between barriers in mind.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::region::Bee;

/// The state of one part.
///
/// ```text
///   63                                   14  13   12            0
///  ┌───────────────────────────────────────┬─────┬──────────────┐
///  │                 phase                 │  W  │     out      │
///  └───────────────────────────────────────┴─────┴──────────────┘
/// ```
///
/// - `phase`: in which it was lent last; 0: none to speak of. See [`Phase`].
/// - `W`: it was lent to be written to.
/// - `out`: how many have it.
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    const WRITE: u64 = 1 << 13;
    const OUT: u64 = Self::WRITE - 1;
    const PHASE_SHIFT: u32 = 14;

    fn new(phase: Phase, write: bool, out: u64) -> Self {
        Self((phase.0 << Self::PHASE_SHIFT) | (u64::from(write) * Self::WRITE) | out)
    }

    fn phase(self) -> Phase {
        Phase(self.0 >> Self::PHASE_SHIFT)
    }

    fn is_for_writing(self) -> bool {
        self.0 & Self::WRITE != 0
    }

    fn out(self) -> u64 {
        self.0 & Self::OUT
    }
}

/// The time between two barriers of a region, by its key, as far as there is room. A team of one has no phases.
///
/// Members in the same phase do not know of one another how far they are. So what one reads no other may write in the same phase, even if it happens to do so
/// at another time; told by the phase, such a mistake is found each time, not now and then.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Phase(u64);

impl Phase {
    const BITS: u32 = 64 - Word::PHASE_SHIFT;

    pub(super) fn of(bee: &Bee<'_>) -> Self {
        let key = if bee.member.team() == 1 { 0 } else { bee.member.phase_key() };
        Self(key & ((1 << Self::BITS) - 1))
    }

    fn is_same(self, other: Self) -> bool {
        self.0 != 0 && self == other
    }
}

/// Why a part cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Somebody is writing to it.
    Written,
    /// Somebody is reading it.
    Read,
    /// It was written to in this phase.
    WrittenThisPhase,
    /// It was read in this phase.
    ReadThisPhase,
    /// More readers than can be counted.
    TooMany,
}

/// Lends one part.
#[derive(Default)]
pub(super) struct Loan(AtomicU64);

impl Loan {
    /// Lends the part to one who writes.
    pub(super) fn write(&self, phase: Phase) -> Result<(), Refused> {
        self.lend(|word| match word {
            _ if word.out() > 0 && word.is_for_writing() => Err(Refused::Written),
            _ if word.out() > 0 => Err(Refused::Read),
            _ if word.phase().is_same(phase) && !word.is_for_writing() => Err(Refused::ReadThisPhase),
            _ => Ok(Word::new(phase, true, 1)),
        })
    }

    /// Lends the part to one more who reads.
    pub(super) fn read(&self, phase: Phase) -> Result<(), Refused> {
        self.lend(|word| match word {
            _ if word.out() == 0 && word.is_for_writing() && word.phase().is_same(phase) => Err(Refused::WrittenThisPhase),
            _ if word.out() == 0 => Ok(Word::new(phase, false, 1)),
            _ if word.is_for_writing() => Err(Refused::Written),
            _ if word.out() == Word::OUT => Err(Refused::TooMany),
            _ => Ok(Word::new(phase, false, word.out() + 1)),
        })
    }

    fn lend(&self, next: impl Fn(Word) -> Result<Word, Refused>) -> Result<(), Refused> {
        // Relaxed: only says what to try.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let new = next(Word(word))?;
            // Acquire: pairs with the Release in `give_back`; what the last borrower did is done. Failure is Relaxed: tried again.
            match self.0.compare_exchange_weak(word, new.0, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(other) => word = other,
            }
        }
    }

    /// Takes it back from one who had it.
    pub(super) fn give_back(&self) {
        // Release: pairs with the Acquire in `lend`.
        let before = Word(self.0.fetch_sub(1, Ordering::Release));
        debug_assert!(before.out() > 0, "given back without having been lent");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writes_or_several_read() {
        let (loan, phase) = (Loan::default(), Phase(0));
        assert_eq!(loan.write(phase), Ok(()));
        assert_eq!((loan.write(phase), loan.read(phase)), (Err(Refused::Written), Err(Refused::Written)));
        loan.give_back();
        assert_eq!((loan.read(phase), loan.read(phase), loan.write(phase)), (Ok(()), Ok(()), Err(Refused::Read)));
        loan.give_back();
        assert_eq!(loan.write(phase), Err(Refused::Read));
        loan.give_back();
        assert_eq!(loan.write(phase), Ok(()));
    }

    #[test]
    fn in_one_phase_a_part_is_written_or_read() {
        let loan = Loan::default();
        assert_eq!(loan.write(Phase(5)), Ok(()));
        loan.give_back();
        assert_eq!(loan.read(Phase(5)), Err(Refused::WrittenThisPhase));
        assert_eq!(loan.write(Phase(5)), Ok(()), "again by the same");
        loan.give_back();
        assert_eq!(loan.read(Phase(6)), Ok(()));
        loan.give_back();
        assert_eq!(loan.write(Phase(6)), Err(Refused::ReadThisPhase));
        assert_eq!(loan.write(Phase(7)), Ok(()));
    }

    #[test]
    fn readers_are_counted_up_to_what_there_is_room_for() {
        let loan = Loan::default();
        assert!((0..Word::OUT).all(|_| loan.read(Phase(1)).is_ok()));
        assert_eq!(loan.read(Phase(1)), Err(Refused::TooMany));
    }
}
