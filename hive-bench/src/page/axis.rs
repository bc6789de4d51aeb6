//! One direction of a chart: which values it shows, where they lie, and which of them are written.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::prelude::Ranged;

use crate::catalog::Unit;
use crate::report::tables::tick;

/// Values are placed by themselves, or by their logarithm.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    log: bool,
    from: f64,
    to: f64,
    /// The values that are written.
    ticks: Vec<f64>,
    pub(crate) title: String,
    label: fn(f64) -> String,
}

impl Axis {
    /// From zero to a little beyond the largest.
    pub(crate) fn linear(title: &str, label: fn(f64) -> String, values: &[f64]) -> Self {
        let to = values.iter().copied().fold(0.0, f64::max) * 1.02;
        let to = if to > 0.0 { to } else { 1.0 };
        Self { log: false, from: 0.0, to, ticks: steps(0.0, to), title: title.to_owned(), label }
    }

    /// From a little below the least to a little above the largest of the values above zero.
    pub(crate) fn log(title: &str, label: fn(f64) -> String, values: &[f64]) -> Self {
        let positive = || values.iter().copied().filter(|value| *value > 0.0);
        let (least, most) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
        let (least, most) = if least <= most { (least, most) } else { (1.0, 10.0) };
        let margin = (most / least).powf(0.04).max(1.05);
        let (from, to) = (least / margin, most * margin);
        Self { log: true, from, to, ticks: log_ticks(from, to), title: title.to_owned(), label }
    }

    /// The same values, and only these, written.
    pub(crate) fn with_ticks(mut self, ticks: Vec<f64>) -> Self {
        self.ticks = ticks;
        self
    }

    /// Begins at the power of ten below: for bars, which need room to be seen.
    pub(crate) fn with_room_below(mut self) -> Self {
        self.from = 10_f64.powf((self.from / 1.5).log10().floor());
        self.ticks = log_ticks(self.from, self.to);
        self
    }

    /// The position of a value, from 0 to 1 for the values shown. A smaller value is placed at the lower end.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let value = value.max(self.from);
        if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (begin, end): (i32, i32)) -> i32 {
        begin + (self.share(*value) * f64::from(end - begin)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        value.to_string()
    }

    fn format_ext(&self, value: &f64) -> String {
        (self.label)(*value)
    }
}

pub(crate) const fn label_of(unit: Unit) -> fn(f64) -> String {
    match unit {
        Unit::Nanoseconds => |value| tick(value, Unit::Nanoseconds),
        Unit::PercentOfCpu => |value| tick(value, Unit::PercentOfCpu),
        Unit::Regions => |value| tick(value, Unit::Regions),
    }
}

pub(crate) const fn title_of(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "time",
        Unit::PercentOfCpu => "CPU use, percent of one CPU",
        Unit::Regions => "regions in a row",
    }
}

/// About five round numbers at equal distances.
fn steps(from: f64, to: f64) -> Vec<f64> {
    let raw = (to - from) / 5.0;
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= raw).unwrap_or(raw);
    let first = (from / step).ceil() as i64;
    (first..).map(|number| number as f64 * step).take_while(|value| *value <= to).collect()
}

/// Powers of ten, and between them what the range needs to have three or more.
fn log_ticks(from: f64, to: f64) -> Vec<f64> {
    let decades = (to / from).log10();
    if decades < 0.6 {
        return steps(from, to);
    }
    let factors: &[f64] = if decades < 2.2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let stride = if decades > 8.0 { 2 } else { 1 };
    let powers = (from.log10().floor() as i32..=to.log10().ceil() as i32).filter(|power| power % stride == 0);
    let ticks = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
    ticks.filter(|value| (from * 0.999..=to * 1.001).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(values: &[f64]) -> Axis {
        Axis::log("time", label_of(Unit::Nanoseconds), values)
    }

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|value| axis.format_ext(value)).collect()
    }

    #[test]
    fn powers_of_ten_are_written_on_a_long_axis() {
        assert_eq!(labels(&log(&[9.0, 2e6])), ["10 ns", "100 ns", "1 us", "10 us", "100 us", "1 ms"]);
    }

    #[test]
    fn a_short_axis_has_labels_too() {
        assert!(labels(&log(&[95.0, 105.0])).len() >= 3);
        assert!(labels(&log(&[3.0, 40.0])).len() >= 3);
        assert!(log(&[]).range().start < log(&[]).range().end);
    }

    #[test]
    fn a_linear_axis_begins_at_zero() {
        let axis = Axis::linear("use", label_of(Unit::PercentOfCpu), &[12.0, 97.0]);
        assert_eq!(labels(&axis), ["0 %", "20 %", "40 %", "60 %", "80 %"]);
        assert_eq!(Axis::linear("use", label_of(Unit::PercentOfCpu), &[0.0]).range(), 0.0..1.0);
    }

    #[test]
    fn zero_on_a_log_axis_is_at_its_begin() {
        let axis = log(&[10.0, 1000.0]);
        assert_eq!((axis.map(&0.0, (400, 20)), axis.map(&100.0, (400, 20))), (400, 210));
    }
}
