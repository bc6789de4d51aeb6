//! What a hive is built with: the validated [`Config`], plain data that everything else in this folder reads.
//!
//! `build.rs` makes it from what the program gives to the `Builder`, from the environment and from the defaults.

use std::path::PathBuf;
use std::time::Duration;

use crate::pool::builder::Builder;
use crate::protocol::region::shape::BarrierShape;
use crate::topology::binding_request::ResolvedBinding;

/// A complete and validated description of a hive that is to be built. Never changes afterwards.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The number of bees to start with, including the queen; at least 1 and at most `max_bees`.
    pub(crate) bees: u32,
    /// The number of bees that the hive may grow to; at most [`MAX_BEES`](crate::protocol::region::max_bees::MAX_BEES).
    pub(crate) max_bees: u32,
    /// What bees are bound to, and in which order a shrinking hive gives up its places.
    pub(crate) places: ResolvedBinding,
    /// The groups in which bees start and meet.
    pub(crate) barrier_shape: BarrierShape,
    /// How long a waiting bee polls before it sleeps. `Duration::MAX`: for ever.
    pub(crate) spin: Duration,
    /// Whether the program has not chosen that time, so that workers learn how much of it to use.
    pub(crate) learns_to_poll: bool,
    /// The file for the timeline. None: the hive is not traced.
    pub(crate) trace: Option<PathBuf>,
    /// What the names of worker threads begin with; without NUL bytes.
    pub(crate) thread_name: String,
    /// What the program has asked for, checked: the settings that no other source has are read from it.
    pub(crate) asked: Builder,
}
