//! How long the parts of cold regions take, in the place of `hive/observe/cold_parts.rs`: a model has no
//! clock.

/// Nothing is recorded.
pub(crate) struct ColdParts;

impl ColdParts {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn begin_if(&self, is_cold: bool) -> ColdPartTimer {
        ColdPartTimer { is_cold }
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

pub(crate) struct ColdPartTimer {
    is_cold: bool,
}

impl ColdPartTimer {
    pub(crate) fn end(self) -> Option<PartTime> {
        self.is_cold.then_some(PartTime)
    }
}
