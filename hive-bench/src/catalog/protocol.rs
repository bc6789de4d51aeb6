//! The sleep protocols that `--sleep` names.

use clap::ValueEnum;

use super::RuntimeId;

/// How hive's bees go to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// By the jobs event counter, hive's default
    Jec,
    /// One sleepy bee at a time, and all are woken at once
    Tickle,
    /// For each task one bee is notified, and learns where the task is
    Notify,
    /// Never: bees spin without bound
    None,
}

impl Protocol {
    /// hive with that protocol.
    pub(crate) const fn runtime(self) -> RuntimeId {
        match self {
            Self::Jec => RuntimeId::Hive,
            Self::Tickle => RuntimeId::HiveTickle,
            Self::Notify => RuntimeId::HiveNotify,
            Self::None => RuntimeId::HiveSpin,
        }
    }
}
