//! How long wake-ups take, in the place of `hive/observe/wake_delay.rs`: a model has no clock.

/// Nothing is recorded.
pub(crate) struct WakeDelay;

impl WakeDelay {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn note_arrival(&self) {}
}
