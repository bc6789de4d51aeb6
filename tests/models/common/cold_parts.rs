//! How long the parts of cold regions take, in the place of `hive/observe/cold_parts.rs`: a model has no
//! clock.

/// Nothing is recorded.
pub(crate) struct ColdParts;

impl ColdParts {
    pub(crate) fn new() -> Self {
        Self
    }

    /// A part that is timed has begun at no particular time.
    pub(crate) fn begin_if(&self, is_cold: bool) -> Option<()> {
        is_cold.then_some(())
    }

    pub(crate) fn end(&self, begin: Option<()>) -> Option<PartTime> {
        begin.map(|()| PartTime)
    }

    pub(crate) fn record(&self, _: u64, _: PartTime) {}

    /// To the queen all bodies are unknown, so she times all her parts.
    pub(crate) fn are_short(&self, _: u64) -> bool {
        false
    }
}

#[derive(Clone, Copy)]
pub(crate) struct PartTime;

impl PartTime {
    pub(crate) fn is_long(self) -> bool {
        false
    }

    pub(crate) fn work(self, _: bool) -> Self {
        self
    }
}
