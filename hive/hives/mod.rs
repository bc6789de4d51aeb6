//! Several hives, each on CPUs of its own, and one team over all of them. When to have them, and how they meet, is in `docs/hive-sets.md`.

pub(crate) mod bee;
pub(crate) mod builder;
pub(crate) mod hive_set;
pub(crate) mod layout;
pub(crate) mod report;
pub(crate) mod set_team;
