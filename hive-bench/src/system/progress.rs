//! How far a run is.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar, on a terminal only, with the time that all of it takes if that is known. It is drawn between
/// measurements and has no thread of its own that would disturb them.
pub(crate) fn bar(steps: usize, expected: Option<Duration>) -> ProgressBar {
    let of_all = expected.map_or_else(String::new, |time| format!(" of about {}s", time.as_secs() + 1));
    let template = format!("{{bar:20}} {{pos}}/{{len}}  {{elapsed}}{of_all}  {{wide_msg}}");
    let style = ProgressStyle::with_template(&template).expect("all of its names are known");
    ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr()).with_style(style)
}
