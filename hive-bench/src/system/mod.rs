//! This process and the machine that it runs on.

pub(crate) mod cpus;
pub(crate) mod exit;
pub(crate) mod files;
pub(crate) mod machine;
pub(crate) mod progress;
pub(crate) mod quota;
pub(crate) mod start;
pub(crate) mod topology;
