//! Several hives, each on CPUs of its own, and one team over all of them.
//!
//! `hive_set.rs` is the public handle and `builder.rs` makes it, with the division of the CPUs from `layout.rs`.
//! `regions.rs` runs the regions over all hives: its team, and what its body sees of it, are in `bee.rs`.
//! `report.rs` says what is in effect. The user's page is `docs/hive-sets.md`.

pub(crate) mod bee;
pub(crate) mod builder;
pub(crate) mod hive_set;
pub(crate) mod layout;
pub(crate) mod regions;
pub(crate) mod report;
