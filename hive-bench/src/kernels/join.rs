//! What recursions need of a runtime.

/// Runs two closures, perhaps at the same time, and adds up what they come to.
pub(crate) trait Join {
    /// What each closure gets, by which it joins in turn. It need not live as long as this one does.
    type Nested<'n>: Join;

    fn join(
        &mut self,
        a: impl FnOnce(&mut Self::Nested<'_>) -> u64 + Send,
        b: impl FnOnce(&mut Self::Nested<'_>) -> u64 + Send,
    ) -> u64;
}

/// Plain calls, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrder;

impl Join for InOrder {
    type Nested<'n> = Self;

    #[inline(always)]
    fn join(&mut self, a: impl FnOnce(&mut Self) -> u64 + Send, b: impl FnOnce(&mut Self) -> u64 + Send) -> u64 {
        a(self) + b(self)
    }
}
