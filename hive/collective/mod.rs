//! What the members of a team compute together inside a region.

mod all_reduce;
mod broadcast;
mod ordered;
mod scan;
mod single;

pub use ordered::Ordered;

use crate::crew::{Operation, Shown};
use crate::region::Bee;

impl Bee<'_> {
    /// Shows `values` to the others, who are to call the same `operation`: see [`Member::show`](crate::crew::Member::show).
    #[inline]
    #[track_caller]
    pub(crate) fn show<T: Copy + Send + 'static>(&self, operation: Operation, values: &[T]) -> Option<Shown<'_, T>> {
        checked(self.member.show(operation, values))
    }

    /// The same where only member `root` has something to show.
    #[inline]
    #[track_caller]
    fn show_from<T: Copy + Send + 'static>(&self, operation: Operation, root: u32, values: &[T]) -> Option<Shown<'_, T>> {
        checked(self.member.show_from(operation, root, values))
    }
}

/// What was shown, with debug assertions after a look whether all have called the same. Without them only those are looked at whose values are wanted, as that costs nothing.
#[inline(always)]
#[track_caller]
fn checked<T: Copy + 'static>(shown: Option<Shown<'_, T>>) -> Option<Shown<'_, T>> {
    if cfg!(debug_assertions) {
        shown.iter().for_each(Shown::check_all);
    }
    shown
}
