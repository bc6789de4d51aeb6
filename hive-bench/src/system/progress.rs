//! How far a run is.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar, on a terminal only. It is drawn between measurements and has no thread of its own that would disturb
/// them.
pub(crate) fn bar(steps: usize, expected: Duration) -> ProgressBar {
    let seconds = expected.as_secs() + 1;
    let template = format!("{{bar:20}} {{pos}}/{{len}}  {{elapsed}} of about {seconds}s  {{wide_msg}}");
    let style = ProgressStyle::with_template(&template);
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
