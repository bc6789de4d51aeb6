//! How long wake-ups take, in the place of `hive/observe/wake_delay.rs`: a model has no clock.

/// Nothing is recorded.
#[derive(Default)]
pub(crate) struct WakeDelay;

impl WakeDelay {
    pub(crate) fn note_arrival(&self) {}
}
