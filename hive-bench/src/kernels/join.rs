//! What recursions need of a runtime.

/// Runs two closures, perhaps at the same time.
pub(crate) trait Join {
    /// What each closure gets, by which it joins in turn. It need not live as long as this one does.
    type Nested<'n>: Join;

    fn join<RA: Send, RB: Send>(
        &mut self,
        a: impl FnOnce(&mut Self::Nested<'_>) -> RA + Send,
        b: impl FnOnce(&mut Self::Nested<'_>) -> RB + Send,
    ) -> (RA, RB);
}

/// Plain calls, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrder;

impl Join for InOrder {
    type Nested<'n> = Self;

    #[inline(always)]
    fn join<RA: Send, RB: Send>(
        &mut self,
        a: impl FnOnce(&mut Self) -> RA + Send,
        b: impl FnOnce(&mut Self) -> RB + Send,
    ) -> (RA, RB) {
        (a(self), b(self))
    }
}
