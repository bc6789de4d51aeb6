//! What one bee knows of the region that it runs: its id, the team, its group, and how many barriers it has passed.
//!
//! The queen (`queen.rs`) and each worker (`worker/main_loop.rs`) make one as they begin a region, and the region's
//! body gets a reference to it. All that bees do together in a region goes through it: barriers, exchanges, single
//! sections, waits for each other. See `docs/barrier.md`.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use crate::protocol::Team;
use crate::protocol::region::barrier_word::{BarrierError, BaseCount, View};
use crate::protocol::region::exchange_slots::Operation;
use crate::protocol::region::group_part::{GroupPart, LedParts};
use crate::protocol::region::max_bees::MAX_BEES;
use crate::protocol::region::panics;
use crate::protocol::region::panics::{Progress, Unfinished};
use crate::sync::{Event, EventKind, NappingSpinner, is_unwinding, serialize_poll};

/// How often `wait_until` polls its condition between two checks of everything else.
const POLLS_BETWEEN_CHECKS: u32 = 8;

/// Polls the condition once. If it does not hold, this poll ends before the next one begins: see `serialize_poll`.
#[inline(always)]
fn poll_condition(condition: &mut impl FnMut() -> bool) -> bool {
    let holds = condition();
    if !holds {
        serialize_poll();
    }
    holds
}

/// One bee of one region's team. It lies on the bee's own stack from the start of the body to its end, and only the
/// bee's own thread uses it.
pub(crate) struct RegionContext<'c> {
    /// The hive's team. The team of this region is its first `bees` bees.
    pub(crate) team: &'c Team,
    /// The bee's id; 0 is the queen.
    pub(crate) id: u32,
    /// The bee on whose thread this bee's part runs: itself, or the one that stands in for it (`stand_in.rs`).
    pub(crate) runner: u32,
    /// The size of the region's team.
    pub(crate) bees: u32,
    /// The epoch of the region, as its start word says. No two regions of a hive have the same, except that all teams
    /// of one have 0, since they have no start word.
    pub(crate) epoch: u64,
    /// The part of the team in this bee's own group, whose barrier it waits at.
    pub(crate) own_group: GroupPart<'c>,
    /// The parts of the team in the groups that this bee leads. Most bees lead none.
    pub(crate) led_parts: &'c LedParts<'c>,
    /// How many barriers the bee has passed in this region.
    barriers_passed: Cell<u64>,
    /// Whether the bee is in a loop, or which call it is in the middle of, or that it has failed.
    pub(super) progress: Cell<Progress>,
    /// Of a team of one: the size that the body wants the hive to have afterwards (0: none), and in the highest bit
    /// `HAS_FAILED`. Both are in one word, so that the end of such a region needs a single look.
    resize_at_region_end: Cell<u32>,
}

/// The flag in `resize_at_region_end` that says that the bee of a team of one has failed.
const HAS_FAILED: u32 = 1 << 31;

const _: () = assert!(MAX_BEES < HAS_FAILED);

impl<'c> RegionContext<'c> {
    #[inline(always)]
    pub(crate) fn new(team: &'c Team, id: u32, bees: u32, epoch: u64, own_group: GroupPart<'c>) -> Self {
        let (barriers_passed, progress) = (Cell::new(0), Cell::new(Progress::InBody));
        Self {
            team,
            id,
            runner: id,
            bees,
            epoch,
            own_group,
            led_parts: &LedParts::NONE,
            barriers_passed,
            progress,
            resize_at_region_end: Cell::new(0),
        }
    }

    /// The same context, for a bee that leads these groups.
    pub(crate) fn with_led_parts(self, led_parts: &'c LedParts<'c>) -> Self {
        Self { led_parts, ..self }
    }

    /// The same context, for a part that bee `runner` runs in this bee's name.
    pub(crate) fn run_by(self, runner: u32) -> Self {
        Self { runner, ..self }
    }

    /// The context of a team of one: the calling thread is its only bee, starts no worker and waits for nobody.
    pub(crate) fn alone(team: &'c Team) -> Self {
        let own_group = GroupPart {
            group_id: 0,
            bees: 1,
            is_collected: false,
            base: BaseCount::FIRST,
            barrier: &team.fixed.no_barrier,
        };
        Self::new(team, 0, 1, 0, own_group)
    }

    /// A number that identifies the region among all regions of all hives, except that the teams of one of a hive share
    /// a number.
    #[inline(always)]
    pub(crate) fn region_key(&self) -> u64 {
        // Two large odd factors, far from each other and from small numbers. The chance that two regions, or two
        // phases, get the same number is 2^-64.
        let team_key = self.team.fixed.unique_number.wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.epoch.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(team_key)
    }

    /// A number that identifies the phase of the region that the bee is in. A phase is the time from one barrier to the
    /// next. All bees of the team get the same number in the same phase, and no other phase, of whatever region, has
    /// it, except that the teams of one of a hive share theirs: see `region_key`.
    #[inline(always)]
    pub(crate) fn phase_key(&self) -> u64 {
        self.region_key().wrapping_add(self.barriers_passed())
    }

    /// Sets this bee's count of how far it has come. The team has more than one bee.
    #[inline]
    pub(crate) fn set_signal(&self, count: u64) {
        self.team.slot(self.id).signal.set(self.region_key(), count);
    }

    /// The count of bee `other`, which belongs to the team. The team has more than one bee.
    #[inline]
    pub(crate) fn signal_of(&self, other: u32) -> u64 {
        self.team.slot(other).signal.count_in(self.region_key())
    }

    /// How many barriers the bee has passed in its region.
    #[inline(always)]
    pub(crate) fn barriers_passed(&self) -> u64 {
        self.barriers_passed.get()
    }

    /// Records the size that the hive is to have after this region, which has a team of one. A later call replaces an
    /// earlier one.
    pub(crate) fn set_resize_at_region_end(&self, bees: u32) {
        self.resize_at_region_end.set(self.resize_at_region_end.get() & HAS_FAILED | bees);
    }

    /// The size that `set_resize_at_region_end` recorded last.
    pub(crate) fn resize_at_region_end(&self) -> Option<u32> {
        let bees = self.resize_at_region_end.get() & !HAS_FAILED;
        (bees > 0).then_some(bees)
    }

    /// Notes, in a team of one, that its bee has failed, for the end of its region.
    pub(super) fn note_failure(&self) {
        self.resize_at_region_end.set(self.resize_at_region_end.get() | HAS_FAILED);
    }

    /// Whether the region of a team of one can simply end: no size is recorded, and its bee has not failed.
    #[inline(always)]
    pub(crate) fn has_nothing_pending(&self) -> bool {
        self.resize_at_region_end.get() == 0
    }

    /// What the bee needs in order to read the word of its own group's barrier.
    #[inline(always)]
    pub(crate) fn view(&self) -> View {
        self.own_group.view(self.barriers_passed())
    }

    /// Whether the region is poisoned: a bee has panicked, or would have.
    #[cold]
    pub(crate) fn is_poisoned(&self) -> bool {
        self.team.poison.is_set_for(self.epoch)
    }

    /// In a forked child: prevents the region from ending. The child has only the calling thread, so the queen would
    /// wait in vain for the other bees.
    ///
    /// The end is prevented even if all other bees had left the region before the fork. So the outcome does not depend
    /// on how far the others were: a child that returns from the region's body waits, and is aborted before it would
    /// sleep.
    #[cfg_attr(not(unix), expect(dead_code, reason = "other systems do not fork"))]
    pub(crate) fn forget_others(&self) {
        if self.bees > 1 {
            [&self.own_group].into_iter().chain(self.led_parts.iter()).for_each(|part| part.barrier.prevent_end());
        }
    }

    /// In a loop that its queen has begun alone: starts it on the workers if it has taken longer than was expected. Is
    /// called between two chunks of a loop whose chunks are handed out at run time: what is left is then shared out.
    #[inline(always)]
    pub(crate) fn start_if_long(&self) {
        if let Some(unstarted) = self.led_parts.unstarted {
            self.team.start_if_long(self, unstarted);
        }
    }

    /// Waits until all bees of the team have come to this barrier.
    ///
    /// # Panics
    /// If another bee's body has returned without coming to this barrier, or if this bee [may not
    /// begin](Self::begin_call) a barrier where it is. If another bee has panicked, this bee unwinds out of the region
    /// as a consequence of that panic. In a destructor where it [may not unwind](Self::may_unwind), it returns instead,
    /// without having met the others.
    #[inline]
    #[track_caller]
    pub(crate) fn barrier(&self) {
        if self.progress.get() == Progress::InBody || self.may_begin(Operation::Barrier) {
            self.meet();
        }
    }

    /// The barrier of a call that the bee is in. A bee that has failed in a loop must not come to it: the loop may not
    /// have been started on the others.
    ///
    /// # Panics
    /// As [`barrier`](Self::barrier).
    #[inline]
    #[track_caller]
    pub(crate) fn meet(&self) {
        debug_assert!(!self.is_loop(), "the bees of a loop do not meet");
        if self.bees > 1 {
            if let Err(error) = self.team.wait_at_barrier(self) {
                return self.leave_broken_barrier(error);
            }
        }
        self.barriers_passed.set(self.barriers_passed.get() + 1);
    }

    /// Waits until `condition` holds, by polling and, when that takes long, by naps between polls. Another bee of the
    /// team has to make it true from inside its body.
    ///
    /// # Panics
    /// If another bee has panicked, this bee unwinds out of the region as a consequence of that panic. In a destructor
    /// where it [may not unwind](Self::may_unwind), it returns instead, although `condition` does not hold.
    #[inline]
    pub(crate) fn wait_until(&self, condition: impl FnMut() -> bool) {
        self.wait_in_row(1, condition, || {});
    }

    /// Waits as `wait_until` does where up to `row` bees may wait in a row, each for the one before: see
    /// `WaitPolicy::napping_spinner`. Calls `after_nap` after each nap, before the condition is polled again.
    ///
    /// # Panics
    /// As [`wait_until`](Self::wait_until).
    #[inline]
    pub(crate) fn wait_in_row(&self, row: u32, mut condition: impl FnMut() -> bool, after_nap: impl FnMut()) {
        if !condition() {
            let look_after = self.team.look_after_others(self.runner, &self.own_group);
            self.wait(&mut self.team.policy().napping_spinner(row), condition, after_nap, look_after);
        }
    }

    /// Does the same as [`wait_until`](Self::wait_until), by a spinner of the caller, for whom several calls are one
    /// wait.
    ///
    /// # Panics
    /// As [`wait_until`](Self::wait_until).
    #[inline]
    pub(crate) fn wait_until_by(&self, spinner: &mut NappingSpinner<'_>, mut condition: impl FnMut() -> bool) {
        if !condition() {
            // Each of the calls is too short for a look after others.
            self.wait(spinner, condition, || {}, |_| {});
        }
    }

    #[inline]
    fn wait(
        &self,
        spinner: &mut NappingSpinner<'_>,
        mut condition: impl FnMut() -> bool,
        mut after_nap: impl FnMut(),
        mut look_after: impl FnMut(Duration),
    ) {
        self.log(|| Event::begin(EventKind::Wait));
        let mut is_poisoned = false;
        // Several polls of the condition come before each check of the poison and of the spin time, because the
        // condition is often a hand-over from bee to bee, which every extra step delays.
        while !(0..POLLS_BETWEEN_CHECKS).any(|_| poll_condition(&mut condition)) {
            is_poisoned = self.team.poison.is_set_for(self.epoch);
            if is_poisoned {
                break;
            }
            // The bee that makes the condition true does not know who waits for it, so it could wake nobody. Therefore
            // a waiter that has polled for long does not block, but naps.
            if spinner.spin_or_nap() {
                after_nap();
            } else if let Some(waited) = spinner.time_waited() {
                look_after(waited);
            }
        }
        self.log(|| Event::end(EventKind::Wait));
        if is_poisoned {
            self.leave_broken_barrier(BarrierError::Poisoned);
        }
    }

    /// Writes an entry to the log of the bee whose thread this is. A team of one writes none: its bee has the id of the
    /// queen, and the log of bee 0 belongs to the thread that holds the queen lock, which may be writing to it.
    fn log(&self, event: impl FnOnce() -> Event) {
        if self.bees > 1 {
            self.team.log(self.runner, event);
        }
    }

    #[cold]
    #[track_caller]
    pub(super) fn leave_broken_barrier(&self, error: BarrierError) {
        // In a forked child the other bees do not exist, so this wait can only end with an abort.
        self.team.policy().abort_if_forked();
        let may_unwind = self.may_unwind();
        // The region fails before the panic below: the body may catch that panic, and from here on the bees no longer
        // agree on how many barriers they have passed.
        self.fail(if may_unwind { Unfinished::Call(self.current_call()) } else { Unfinished::InDestructor });
        if !may_unwind {
            return;
        }
        match error {
            BarrierError::Poisoned => panics::unwind_out_of_region(self.region_key()),
            BarrierError::Mismatch => panic!(
                "bee {} of {} waits at its barrier number {}, which another bee will not come to: its part \
                 of the region has ended; all bees must call barrier() equally often, counting the collective \
                 operations, each of which is one",
                self.id,
                self.bees,
                self.barriers_passed.get() + 1,
            ),
        }
    }

    /// Whether the bee's run of the body may be unwound from where it is now. It may not be inside a destructor that
    /// runs because the body is already being unwound: two panics at once abort the process.
    ///
    /// One exception: a queen may be unwound in a region that was itself begun inside such a destructor, because of an
    /// earlier panic on her thread. In that region, a destructor that runs because its own body is being unwound cannot
    /// be told from the body itself.
    pub(crate) fn may_unwind(&self) -> bool {
        let was_begun_while_unwinding = || self.runner == 0 && self.team.panics.was_begun_while_unwinding(self.epoch);
        !is_unwinding() || was_begun_while_unwinding()
    }

    /// Panics with `message`. Where the bee [may not unwind](Self::may_unwind), it returns instead, and the region
    /// fails.
    #[cold]
    #[track_caller]
    pub(crate) fn panic_or_fail(&self, message: fmt::Arguments<'_>) {
        if self.may_unwind() {
            panic!("{message}");
        }
        self.fail(Unfinished::InDestructor);
    }
}
