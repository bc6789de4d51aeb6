//! Workers that have lost their CPUs. If a thread of another program gets the CPU that a worker is bound to, the worker
//! goes on when that thread's time slice is over, after some milliseconds, even if another CPU has nothing to do: that
//! of the bee, for example, which waits for the worker. So a bee that waits for others of its group looks now and then
//! whether one of them stands still although it is not asleep. If so, it brings that worker to its own CPU, and yields
//! to it. The worker goes back to its own CPU when it has to wait itself. See `docs/unbound-sleep.md`.
//!
//! The waits at barriers and at the ends of regions (`region/led_groups.rs`) call this, those for turns and signals
//! (`region/region_context.rs`), and the main loop.

use std::time::Duration;

use crate::protocol::Team;
use crate::protocol::region::group_part::GroupPart;
use crate::protocol::worker::slot::Slot;

/// How long a bee waits before it looks for the first time: about as long as it takes to wake a worker. It looks again
/// each time that it has waited twice as long.
const FIRST_LOOK: Duration = Duration::from_micros(50);

/// How long a look takes. The bee goes on polling meanwhile.
const LOOK: Duration = Duration::from_micros(10);

/// The looks of one wait.
struct Looks {
    /// How long the bee will have waited when the next look begins, or the present one ends.
    next: Duration,
    /// Whether a look has begun.
    is_begun: bool,
}

impl Team {
    /// What bee `id` calls again and again while it waits for others of the group of `part`, with the time that it has
    /// waited.
    #[inline(always)]
    pub(crate) fn look_after_others(&self, id: u32, part: &GroupPart<'_>) -> impl FnMut(Duration) {
        let mut looks = Looks { next: FIRST_LOOK, is_begun: false };
        move |waited| self.look_after_others_again(id, part, &mut looks, waited)
    }

    #[cold]
    fn look_after_others_again(&self, id: u32, part: &GroupPart<'_>, looks: &mut Looks, waited: Duration) {
        self.end_visit(self.slot(id));
        if waited < looks.next {
            return;
        }
        let slots = self.group_slots(part.group_id).take(part.bees as usize);
        let mut others = slots.filter(|slot| slot.id != id && slot.wants_cpu()).map(|slot| &slot.sleep_binding);
        looks.is_begun = !looks.is_begun;
        if looks.is_begun {
            others.for_each(|binding| _ = binding.ran_since_last_call());
            looks.next = waited + LOOK;
            return;
        }
        looks.next = 2 * waited;
        // Another bee may have looked meanwhile. Right after that nothing can be told.
        let stands_still = |(ran, passed): (Duration, Duration)| passed > LOOK / 2 && ran < passed / 2;
        // One of them, since only one can run here.
        let lost = others.find(|binding| binding.ran_since_last_call().is_some_and(stands_still));
        if lost.is_some_and(|binding| binding.bring_here(self.policy())) {
            self.policy().yield_core();
        }
    }

    /// Sends the worker of `slot` back, if a bee that has waited for it has brought it to another CPU.
    pub(super) fn end_visit(&self, slot: &Slot) {
        if slot.sleep_binding.is_guest() {
            slot.sleep_binding.end_visit(self.policy());
        }
    }
}
