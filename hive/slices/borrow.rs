//! The borrow state of one part of a `Parts`, or of one value of a `PerBee`: borrowed by one bee that writes to it, or
//! by several that read it. Like the state of a `RefCell`, but for several threads, and aware of the phases between
//! barriers. Called by `Parts` and `PerBee`. What is borrowed is given back by the drop of a `BorrowGuard` or a
//! `PartsGuard`, which are parts of the guards that programs get (`guard.rs`).

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::region::bee::Bee;

/// The borrow state of one part, in one word.
///
/// ```text
///   63                         22  21    20   19                0
///  ┌─────────────────────────────┬─────┬─────┬──────────────────┐
///  │            phase            │  O  │  W  │      count       │
///  └─────────────────────────────┴─────┴─────┴──────────────────┘
/// ```
///
/// - `phase`: the phase in which the part was last borrowed; 0: none that needs to be compared. See [`Phase`].
/// - `O`: whether others than the part's own bee have read it in that phase; with `W`, whether its own bee has, before
///   it wrote to it.
/// - `W`: whether the last borrow was for writing.
/// - `count`: how many have the part borrowed now. There is room for sixteen readers on each bee of the largest team.
#[derive(Clone, Copy)]
struct BorrowWord(u64);

impl BorrowWord {
    const WRITE_BIT: u64 = 1 << 20;
    const READ_BIT: u64 = 1 << 21;
    const COUNT_MASK: u64 = Self::WRITE_BIT - 1;
    const PHASE_SHIFT: u32 = 22;

    fn written(phase: Phase, after_own_read: bool) -> Self {
        Self((phase.0 << Self::PHASE_SHIFT) | (u64::from(after_own_read) * Self::READ_BIT) | Self::WRITE_BIT | 1)
    }

    fn read(phase: Phase, by_others: bool, count: u64) -> Self {
        Self((phase.0 << Self::PHASE_SHIFT) | (u64::from(by_others) * Self::READ_BIT) | count)
    }

    fn phase(self) -> Phase {
        Phase(self.0 >> Self::PHASE_SHIFT)
    }

    fn is_write(self) -> bool {
        self.0 & Self::WRITE_BIT != 0
    }

    /// Whether others than the part's own bee have read it in that phase, in which nobody has written to it.
    fn is_read_by_others(self) -> bool {
        !self.is_write() && self.0 & Self::READ_BIT != 0
    }

    /// Whether the part's own bee has read it in that phase, and no other bee has.
    fn is_read_by_own(self) -> bool {
        self.is_write() == (self.0 & Self::READ_BIT != 0)
    }

    fn count(self) -> u64 {
        self.0 & Self::COUNT_MASK
    }
}

/// A phase of a region: the time from one barrier to the next. Identified by its key, of which as many bits are kept as
/// there is room for. The phase of a team of one bee is 0, which is compared with no other.
///
/// Bees in the same phase do not know of each other how far they are. So what one of them reads, no other may write in
/// the same phase, even if it happens to do so at another time. Because the phase is compared, such a mistake is found
/// each time it is made, and not only when the two accesses happen to overlap.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Phase(u64);

impl Phase {
    const BITS: u32 = 64 - BorrowWord::PHASE_SHIFT;

    /// Whether both are the same phase of a region with several bees.
    fn is_same(self, other: Self) -> bool {
        self.0 != 0 && self == other
    }
}

/// A bee that wants to borrow a part, in its phase.
#[derive(Clone, Copy)]
pub(crate) struct Borrower {
    pub(crate) phase: Phase,
    /// How many phases of its region the bee has behind it.
    pub(crate) barriers: u64,
    pub(crate) bee: u32,
    /// Whether the part is the bee's own.
    pub(crate) is_own: bool,
}

impl Borrower {
    /// The bee, for part number `part`.
    #[inline(always)]
    pub(crate) fn of(bee: &Bee<'_>, part: usize) -> Self {
        let key = if bee.context.bees == 1 { 0 } else { bee.context.phase_key() };
        let (phase, barriers) = (Phase(key & ((1 << Phase::BITS) - 1)), bee.context.barriers_passed());
        Self { phase, barriers, bee: bee.context.id, is_own: part == bee.id() }
    }

    /// Whoever has all parts, outside of regions.
    pub(crate) const OUTSIDE: Self = Self { phase: Phase(0), barriers: 0, bee: NOBODY - 1, is_own: false };
}

/// Why a part cannot be borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BorrowError {
    /// It is borrowed for writing.
    BeingWritten(Holder),
    /// It is borrowed for reading.
    BeingRead(Holder),
    /// It has been written to in this phase.
    WrittenThisPhase,
    /// It has been read in this phase.
    ReadThisPhase,
    /// It has as many readers as can be counted.
    TooManyReaders,
}

/// Who has a part, as far as a bee is concerned that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Another bee, or several.
    Others,
    /// The bee itself was the last to borrow it.
    Itself,
    /// The same, before the last barrier.
    ItselfBeforeBarrier,
}

impl BorrowError {
    /// Whether somebody has the part at this moment.
    pub(crate) fn is_held(self) -> bool {
        matches!(self, Self::BeingWritten(_) | Self::BeingRead(_))
    }
}

/// What is the matter with the part, in words that follow its name.
impl fmt::Display for BorrowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeingWritten(_) => "is being written to",
            Self::BeingRead(_) => "is being read",
            Self::WrittenThisPhase => {
                "has been written to since the last barrier: there has to be one between writing and reading (a signal \
                 is none)"
            }
            Self::ReadThisPhase => {
                "has been read since the last barrier: there has to be one between reading and writing"
            }
            Self::TooManyReaders => {
                "has as many readers as can be counted, 1048575; \
                 each guard that was forgotten and not dropped counts as a reader for ever"
            }
        })?;
        let (Self::BeingWritten(holder) | Self::BeingRead(holder)) = self else { return Ok(()) };
        f.write_str(match holder {
            Holder::Others => "",
            Holder::Itself => ", by this bee itself: drop the guard that it has before it borrows the part again",
            Holder::ItselfBeforeBarrier => {
                ", by this bee itself since before the last barrier: a guard must not live on past a barrier, \
                 such as the one at the end of `for_range`, if its part is borrowed in another way after it"
            }
        })
    }
}

/// The borrow state of one part. Changed by the bees that borrow the part and give it back.
pub(crate) struct BorrowState {
    word: AtomicU64,
    /// The bee that was the last to borrow the part, for messages; or `NOBODY`, if that has given it back.
    last_bee: AtomicU32,
}

/// What a part is borrowed for.
pub(crate) const WRITE: bool = true;
pub(crate) const READ: bool = false;

/// Not a bee's number.
const NOBODY: u32 = u32::MAX;

impl Default for BorrowState {
    fn default() -> Self {
        Self { word: AtomicU64::new(0), last_bee: AtomicU32::new(NOBODY) }
    }
}

impl BorrowState {
    /// What a state becomes if the part is borrowed for writing. Allowed if nobody has it borrowed, and it has not been
    /// read in this phase; if the bee borrows its own part, not by others.
    #[inline]
    fn written(&self, word: BorrowWord, by: Borrower) -> Result<BorrowWord, BorrowError> {
        match word {
            _ if word.count() > 0 && word.is_write() => Err(BorrowError::BeingWritten(self.holder(word, by))),
            _ if word.count() > 0 => Err(BorrowError::BeingRead(self.holder(word, by))),
            _ if !word.phase().is_same(by.phase) => Ok(BorrowWord::written(by.phase, false)),
            _ if word.is_read_by_others() || word.is_read_by_own() && !by.is_own => Err(BorrowError::ReadThisPhase),
            _ => Ok(BorrowWord::written(by.phase, word.is_read_by_own())),
        }
    }

    /// What a state becomes if the part is borrowed for reading. Allowed if nobody has it borrowed for writing, and it
    /// has not been written to in this phase, not even by the same bee: the word does not say who wrote.
    #[inline]
    fn read(&self, word: BorrowWord, by: Borrower) -> Result<BorrowWord, BorrowError> {
        let is_same_phase = word.phase().is_same(by.phase);
        match word.count() {
            0 if word.is_write() && is_same_phase => Err(BorrowError::WrittenThisPhase),
            // The first reader of this phase.
            0 if !is_same_phase => Ok(BorrowWord::read(by.phase, !by.is_own, 1)),
            1.. if word.is_write() => Err(BorrowError::BeingWritten(self.holder(word, by))),
            BorrowWord::COUNT_MASK => Err(BorrowError::TooManyReaders),
            count => Ok(BorrowWord::read(by.phase, !by.is_own || word.is_read_by_others(), count + 1)),
        }
    }

    /// Borrows the part, to [`WRITE`] or to [`READ`].
    #[inline]
    pub(crate) fn try_borrow<const WRITES: bool>(&self, by: Borrower) -> Result<(), BorrowError> {
        // Relaxed: only an attempt. The exchange below fails if the state has changed since.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let old = BorrowWord(word);
            let new = if WRITES { self.written(old, by)? } else { self.read(old, by)? };
            // Acquire on success: pairs with the Release in `release`; what all earlier borrowers did to the part has
            // happened. That holds for each of several readers, since the changes after its release are
            // read-modify-writes too and continue its release sequence; and a writer has acquired what was before it.
            // Relaxed on failure: it is tried again.
            match self.word.compare_exchange_weak(word, new.0, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(other) => word = other,
            }
        }
        // Relaxed: for messages only.
        self.last_bee.store(by.bee, Ordering::Relaxed);
        Ok(())
    }

    /// Who has the part, whose state is `word`, as far as a bee is concerned that cannot have it.
    #[cold]
    fn holder(&self, word: BorrowWord, by: Borrower) -> Holder {
        // Relaxed: in one region it is the bee's own number only if the bee has stored it itself and not given the part
        // back since. A bee of another team may have the same number, and in a team of one all have; so the phase has
        // to be one of this region.
        let is_number = self.last_bee.load(Ordering::Relaxed) == by.bee;
        let phases_ago = by.phase.0.wrapping_sub(word.phase().0) & ((1 << Phase::BITS) - 1);
        let is_itself = is_number && word.count() == 1 && by.phase != Phase(0) && phases_ago <= by.barriers;
        match phases_ago {
            0 if is_itself => Holder::Itself,
            _ if is_itself => Holder::ItselfBeforeBarrier,
            _ => Holder::Others,
        }
    }

    /// Gives the part back. The caller has borrowed it, for writing or for reading.
    #[inline]
    pub(crate) fn release(&self) {
        // Relaxed: whoever has the part for writing is the only one to change the word, and finds what it has stored
        // itself. As long as somebody reads the part, each value of the word says so.
        let word = BorrowWord(self.word.load(Ordering::Relaxed));
        debug_assert!(word.count() > 0, "given back without having been lent");
        // Relaxed: for messages only, as in `try_borrow`. Another reader may lose its name by this.
        self.last_bee.store(NOBODY, Ordering::Relaxed);
        // Release, both: pairs with the Acquire in `try_borrow`; what this borrower did to the part happens before the
        // next borrow.
        if word.is_write() {
            self.word.store(word.0 - 1, Ordering::Release);
        } else {
            self.word.fetch_sub(1, Ordering::Release);
        }
    }
}

/// Gives a part back when it is dropped.
pub struct BorrowGuard<'p>(pub(crate) &'p BorrowState);

impl Drop for BorrowGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.release();
    }
}

/// The borrow states of all parts. If there are few, each has cache lines of its own.
pub(crate) struct BorrowStates {
    states: Box<[BorrowState]>,
    /// The distance between the states of two neighbouring parts.
    stride: usize,
}

impl BorrowStates {
    /// A distance of 128 bytes: a cache line and the one that the processor fetches with it.
    const PADDED_STRIDE: usize = 128 / size_of::<BorrowState>();
    /// With more parts than this, the states lie side by side, to save memory.
    const MAX_PADDED: usize = 1024;

    pub(crate) fn new(parts: usize) -> Self {
        let stride = if parts <= Self::MAX_PADDED { Self::PADDED_STRIDE } else { 1 };
        Self { states: (0..parts * stride).map(|_| BorrowState::default()).collect(), stride }
    }

    /// The borrow state of part `part`.
    #[inline(always)]
    pub(crate) fn of(&self, part: usize) -> &BorrowState {
        &self.states[part * self.stride]
    }
}

/// Gives back these parts when it is dropped.
pub struct PartsGuard<'p> {
    pub(crate) borrows: &'p BorrowStates,
    pub(crate) parts: Range<usize>,
}

impl Drop for PartsGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.parts.clone().for_each(|part| self.borrows.of(part).release());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::region::max_bees::MAX_BEES;

    /// Bee 1, whose own part it is, or bee 2.
    fn by(phase: u64, is_own: bool) -> Borrower {
        Borrower { phase: Phase(phase), barriers: 1, bee: if is_own { 1 } else { 2 }, is_own }
    }

    #[test]
    fn one_writes_or_several_read() {
        let (state, own, other) = (BorrowState::default(), by(0, true), by(0, false));
        assert_eq!(state.try_borrow::<WRITE>(other), Ok(()));
        assert_eq!(
            (state.try_borrow::<WRITE>(own), state.try_borrow::<READ>(other)),
            (Err(BorrowError::BeingWritten(Holder::Others)), Err(BorrowError::BeingWritten(Holder::Others)))
        );
        state.release();
        assert_eq!(
            (state.try_borrow::<READ>(other), state.try_borrow::<READ>(own), state.try_borrow::<WRITE>(own)),
            (Ok(()), Ok(()), Err(BorrowError::BeingRead(Holder::Others)))
        );
        state.release();
        assert_eq!(
            state.try_borrow::<WRITE>(own),
            Err(BorrowError::BeingRead(Holder::Others)),
            "its name went with the other"
        );
        state.release();
        assert_eq!(state.try_borrow::<WRITE>(other), Ok(()));
    }

    #[test]
    fn a_guard_that_has_outlived_a_barrier_is_told_from_others() {
        let state = BorrowState::default();
        assert_eq!(state.try_borrow::<READ>(by(5, false)), Ok(()));
        assert_eq!(state.try_borrow::<WRITE>(by(6, true)), Err(BorrowError::BeingRead(Holder::Others)));
        let error = state.try_borrow::<WRITE>(by(6, false)).unwrap_err();
        assert_eq!(error, BorrowError::BeingRead(Holder::ItselfBeforeBarrier));
        assert!(error.to_string().starts_with("is being read, by this bee itself since before the last barrier"));
        // Of a region before, or of another team, a bee of the same number may have it.
        assert_eq!(state.try_borrow::<WRITE>(by(7, false)), Err(BorrowError::BeingRead(Holder::Others)));
        assert_eq!(state.try_borrow::<WRITE>(by(0, false)), Err(BorrowError::BeingRead(Holder::Others)));
        assert_eq!(state.try_borrow::<WRITE>(by(5, false)), Err(BorrowError::BeingRead(Holder::Itself)));
    }

    #[test]
    fn in_one_phase_a_part_is_written_or_read() {
        let state = BorrowState::default();
        assert_eq!(state.try_borrow::<WRITE>(by(5, false)), Ok(()));
        state.release();
        assert_eq!(state.try_borrow::<READ>(by(5, false)), Err(BorrowError::WrittenThisPhase));
        assert_eq!(state.try_borrow::<WRITE>(by(5, false)), Ok(()), "again by the same");
        state.release();
        assert_eq!(state.try_borrow::<READ>(by(6, false)), Ok(()));
        state.release();
        assert_eq!(state.try_borrow::<WRITE>(by(6, false)), Err(BorrowError::ReadThisPhase));
        assert_eq!(state.try_borrow::<WRITE>(by(7, false)), Ok(()));
    }

    #[test]
    fn what_only_its_bee_has_read_it_may_write_to() {
        let (state, phase) = (BorrowState::default(), 5);
        assert_eq!(state.try_borrow::<READ>(by(phase, true)), Ok(()));
        assert_eq!(state.try_borrow::<WRITE>(by(phase, true)), Err(BorrowError::BeingRead(Holder::Itself)));
        state.release();
        assert_eq!(state.try_borrow::<WRITE>(by(phase, false)), Err(BorrowError::ReadThisPhase), "another bee");
        assert_eq!(state.try_borrow::<WRITE>(by(phase, true)), Ok(()));
        state.release();
        assert_eq!(state.try_borrow::<READ>(by(phase, false)), Err(BorrowError::WrittenThisPhase));
        assert_eq!(
            state.try_borrow::<WRITE>(by(phase, false)),
            Err(BorrowError::ReadThisPhase),
            "its bee has read it before"
        );
        assert_eq!(state.try_borrow::<WRITE>(by(phase, true)), Ok(()), "again");
        state.release();
        assert_eq!(state.try_borrow::<WRITE>(by(phase, false)), Err(BorrowError::ReadThisPhase), "and before that");
        // In the next phase another bee reads it, before the own bee does and after it.
        for others_first in [true, false] {
            let phase = 6 + u64::from(others_first);
            for is_own in [!others_first, others_first] {
                assert_eq!(state.try_borrow::<READ>(by(phase, is_own)), Ok(()));
                state.release();
            }
            assert_eq!(state.try_borrow::<WRITE>(by(phase, true)), Err(BorrowError::ReadThisPhase));
        }
    }

    #[test]
    fn readers_are_counted_up_to_what_there_is_room_for() {
        assert!(BorrowWord::COUNT_MASK >= 16 * u64::from(MAX_BEES));
        let state = BorrowState::default();
        assert!((0..BorrowWord::COUNT_MASK).all(|_| state.try_borrow::<READ>(by(1, false)).is_ok()));
        assert_eq!(state.try_borrow::<READ>(by(1, false)), Err(BorrowError::TooManyReaders));
    }
}
