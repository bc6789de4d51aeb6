//! What can be seen of a hive from outside: counters and statistics, the activity of each bee, the watchdog that
//! reports a region that stands still, timelines, and how this build was made.

pub(crate) mod activity;
pub(crate) mod build_info;
pub(crate) mod counters;
pub(crate) mod in_flight;
pub(crate) mod stats;
pub(crate) mod trace;
pub(crate) mod watchdog;
