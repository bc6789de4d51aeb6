//! Several hives, each on CPUs of its own, and one team over all of them. When to have them, and how they meet, is in `docs/several-hives.md`.

mod bee;
mod builder;
mod layout;
mod report;
mod several;
mod team;

pub use bee::HivesBee;
pub use builder::HivesBuilder;
pub use several::Hives;
