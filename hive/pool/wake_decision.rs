//! Whether the workers, who are all asleep, are woken for a loop, or its caller runs it alone: what is at stake, by
//! what is known of the loop and of the delay of wake-ups. `lone_loops.rs` and `lone_parts.rs` ask. The rule is in
//! `docs/lone-loops.md`.

use crate::pool::loop_costs::{LoopSize, gain_of};
use crate::pool::shared::Shared;
use crate::pool::sharing::Sharing;
use crate::sync::Deadline;
use crate::sys::part_time::NANOS_OF_WAKING;

/// What is known of a loop that finds all workers asleep. All times are in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Stakes {
    /// How long one thread takes for it.
    expected: u64,
    /// How much sooner it would end on workers that are awake.
    gain: u64,
    /// How much later it would end than that, because they have to be woken.
    loss: u64,
    /// How long they take to come.
    delay: u64,
}

impl Stakes {
    /// Whether the workers would be woken for this loop by itself, without those before it.
    pub(crate) fn is_long(self) -> bool {
        self.gain > self.loss
    }

    /// Whether the loop takes longer than it usually takes to wake a worker.
    pub(crate) fn outlasts_a_wake_up(self) -> bool {
        self.expected > NANOS_OF_WAKING
    }
}

impl Shared {
    /// What is at stake for a loop on a team of `bees`. None: the loop has not run yet.
    #[inline]
    pub(crate) fn stakes(&self, bees: u32, size: LoopSize) -> Option<Stakes> {
        let (expected, delay) = (self.loop_costs.expected(size)?, self.team.wake_delay.nanos());
        let gain = gain_of(expected, bees);
        Some(Stakes { expected, gain, loss: loss_by_waking(delay, bees, size.sharing), delay })
    }

    /// Whether a loop on a team of `bees` finds all workers asleep and is known to be worth waking them for.
    pub(crate) fn is_to_wake_for(&self, bees: usize, size: LoopSize) -> bool {
        bees > 1 && self.team.all_workers_sleep() && self.stakes(bees as u32, size).is_some_and(Stakes::is_long)
    }

    /// If the caller is to run the loop, which begins at `begin`, alone: the time after which it has turned out to be
    /// long. None: the workers are to be woken for it.
    #[inline]
    pub(crate) fn deadline_alone(&self, stakes: Stakes, begin: u64) -> Option<Deadline> {
        let Stakes { expected, gain, loss, delay } = stakes;
        if self.loop_costs.pays_to_wake(gain, loss, begin) {
            return None;
        }
        if gain > NANOS_OF_WAKING {
            // It is alone because of the delay that was measured.
            self.team.wake_delay.doubt();
        }
        // To wake the workers after the delay costs no more than to have woken them at once for nothing.
        Some(Deadline::new(begin, expected.saturating_add(delay)))
    }
}

/// By how many nanoseconds a loop ends later than with workers that are awake, if they have to be woken for it, which
/// takes `delay`.
///
/// Where each bee has a part of its own, that is the whole delay. Where whoever is there runs more, what the queen does
/// meanwhile is done. How much that is depends on how much of the delay it takes her to wake them; half of it is
/// assumed.
#[inline]
fn loss_by_waking(delay: u64, bees: u32, sharing: Sharing) -> u64 {
    // The delay is that of the first worker. To wake several takes longer.
    let delay = if bees > 2 { delay.max(NANOS_OF_WAKING) } else { delay };
    match sharing {
        Sharing::EqualParts => delay,
        Sharing::AsTheyCome => delay - delay / (2 * u64::from(bees)),
    }
}
