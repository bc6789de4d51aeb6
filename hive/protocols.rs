//! The protocols of the hive, step by step and with their proofs: one module for each page of `docs/`.
//!
//! These modules exist in the documentation only. The code that a page describes is in `hive/protocol/`, unless the
//! page names another place.

#[doc = include_str!("../docs/start.md")]
pub mod start {}

#[doc = include_str!("../docs/queen-lock.md")]
pub mod queen_lock {}

#[doc = include_str!("../docs/barrier.md")]
pub mod barrier {}

#[doc = include_str!("../docs/shape.md")]
pub mod shape {}

#[doc = include_str!("../docs/resize.md")]
pub mod resize {}

#[doc = include_str!("../docs/sleep.md")]
pub mod sleep {}

#[doc = include_str!("../docs/latecomers.md")]
pub mod latecomers {}

#[doc = include_str!("../docs/lone-loops.md")]
pub mod lone_loops {}

#[doc = include_str!("../docs/unbound-sleep.md")]
pub mod unbound_sleep {}

#[doc = include_str!("../docs/waits-between-hives.md")]
pub mod waits_between_hives {}

#[doc = include_str!("../docs/loops.md")]
pub mod loops {}

#[doc = include_str!("../docs/collectives.md")]
pub mod collectives {}

#[doc = include_str!("../docs/fork.md")]
pub mod fork {}
