//! What the members of a team compute together inside a region.

mod all_reduce;
mod broadcast;
mod ordered;
mod scan;
mod single;

pub use ordered::Ordered;

/// A value that another member was to bring will not come: its panic has broken the barrier, and this is a destructor that runs because of that.
#[cold]
#[track_caller]
fn broken() -> ! {
    panic!("a destructor that runs because of a panic cannot get values from other members of its team")
}
