//! What a hive measures about its machine before it settles on a way to do a thing: the back-off of waiting loops, the
//! cache line that regions start by, and the shape of its barriers.

pub(crate) mod back_off;
pub(crate) mod barrier_choice;
pub(crate) mod cache;
pub(crate) mod cached_times;
pub(crate) mod calibrate_line;
pub(crate) mod trial;
