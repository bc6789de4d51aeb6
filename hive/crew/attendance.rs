//! How many bees the hive has and how many of them sleep, in one word: what the queen looks at to know whether her whole team is
//! polling. Where somebody sleeps, a second word says which members: it need not be one of her team.

use std::fmt;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// A reading of the word.
///
/// ```text
///   63                    32 31                     0
///  ┌────────────────────────┬────────────────────────┐
///  │         bees           │        sleeping        │
///  └────────────────────────┴────────────────────────┘
/// ```
///
/// - `bees`: members that are not surplus, the queen among them.
/// - `sleeping`: bees in state ASLEEP, or about to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading(u64);

impl Reading {
    const BEE: u64 = 1 << 32;

    pub(crate) fn bees(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn sleeping(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bees, {} sleeping", self.bees(), self.sleeping())
    }
}

/// The words, in one line. They change when the hive is resized and when bees fall asleep or are woken; a hot region
/// only reads the first, and the second if there is a sleeper.
pub(crate) struct Attendance(CachePadded<Words>);

struct Words {
    word: AtomicU64,
    /// Which of the first members sleep, or are about to: a bit each.
    asleep: AtomicU64,
}

/// Members that have a bit.
const NEAR: u32 = u64::BITS;

/// The bit of a member; of those that have none, nothing.
fn bit(member: u32) -> u64 {
    if member < NEAR { 1 << member } else { 0 }
}

impl Attendance {
    /// The queen alone.
    pub(crate) fn new() -> Self {
        Self(CachePadded::new(Words { word: AtomicU64::new(Reading::BEE), asleep: AtomicU64::new(0) }))
    }

    #[inline(always)]
    pub(crate) fn read(&self) -> Reading {
        // Acquire: pairs with the Release in `resize`; who reads that a bee has come finds its slot.
        Reading(self.0.word.load(Ordering::Acquire))
    }

    /// Whether none of a team of `team` is asleep or parked, as far as is known here. After a SeqCst fence.
    #[inline(always)]
    pub(crate) fn all_up(&self, team: u32) -> bool {
        let now = self.read();
        if now.sleeping() == 0 { team <= now.bees() } else { self.all_up_beside_sleepers(team) }
    }

    /// The same where somebody sleeps. In a team of more members than have a bit that may be one of the others.
    fn all_up_beside_sleepers(&self, team: u32) -> bool {
        // Acquire: pairs with the Release in `is_up`. A sleeper that a shrink has parked is counted off, and is no
        // longer a bee; so who reads that it does not sleep must not read the size from before. Therefore this comes
        // first.
        let asleep = self.0.asleep.load(Ordering::Acquire);
        team <= NEAR && asleep & (u64::MAX >> (NEAR - team)) == 0 && team <= self.read().bees()
    }

    /// Makes the hive's size `bees`. The caller holds the roster.
    pub(crate) fn resize(&self, bees: u32) {
        let now = self.read().bees();
        // A difference, because bees fall asleep and wake meanwhile.
        if bees >= now {
            // Release: pairs with the Acquire in `read`; publishes the new bees' slots. All changes of this word are read-modify-writes, so
            // who reads a later one has it too.
            self.0.word.fetch_add(u64::from(bees - now) * Reading::BEE, Ordering::Release);
        } else {
            // Relaxed: the fences of `Crew::call_if_late` and `Hand::park` say what the queen reads of it.
            self.0.word.fetch_sub(u64::from(now - bees) * Reading::BEE, Ordering::Relaxed);
        }
    }

    /// Counts a member that is about to become ASLEEP.
    pub(crate) fn falls_asleep(&self, member: u32) {
        // Relaxed, both: the fences of `Crew::call_if_late` and `Hand::go_to_sleep` say what the queen reads of it.
        let others = self.0.asleep.fetch_or(bit(member), Ordering::Relaxed);
        debug_assert!(others & bit(member) == 0, "member {member} falls asleep twice");
        let before = Reading(self.0.word.fetch_add(1, Ordering::Relaxed));
        debug_assert!(before.sleeping() < u32::from(u16::MAX), "one more asleep than there can be: {before:?}");
    }

    /// Counts off a member that has left ASLEEP, or has failed to get there.
    pub(crate) fn is_up(&self, member: u32) {
        // Release: pairs with the Acquire in `all_up_beside_sleepers`. All changes of this word are read-modify-writes,
        // so who reads a later one has it too.
        let before = self.0.asleep.fetch_and(!bit(member), Ordering::Release);
        debug_assert!(before & bit(member) == bit(member), "member {member} is woken without having slept");
        // Relaxed: the change out of ASLEEP (AcqRel) comes after the sleeper was counted, and a queen who reads too few up calls in vain.
        let before = Reading(self.0.word.fetch_sub(1, Ordering::Relaxed));
        debug_assert!(before.sleeping() > 0, "woken without having slept: {before:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_is_up_when_it_fits_and_none_of_it_sleeps() {
        let attendance = Attendance::new();
        assert!(attendance.all_up(1) && !attendance.all_up(2));
        attendance.resize(4);
        assert!(attendance.all_up(4) && !attendance.all_up(5));
        attendance.falls_asleep(2);
        assert!(attendance.all_up(2) && !attendance.all_up(3) && !attendance.all_up(5));
        attendance.falls_asleep(1);
        attendance.is_up(2);
        assert!(!attendance.all_up(2));
        attendance.is_up(1);
        attendance.resize(2);
        assert!(attendance.all_up(2) && !attendance.all_up(3));
    }

    #[test]
    fn a_team_beyond_the_bits_is_up_when_nobody_sleeps() {
        let attendance = Attendance::new();
        attendance.resize(100);
        assert!(attendance.all_up(100));
        attendance.falls_asleep(63);
        assert!(attendance.all_up(63) && !attendance.all_up(64) && !attendance.all_up(65));
        attendance.falls_asleep(64);
        attendance.is_up(63);
        assert!(attendance.all_up(64) && !attendance.all_up(65));
        attendance.is_up(64);
        assert!(attendance.all_up(100));
    }
}
