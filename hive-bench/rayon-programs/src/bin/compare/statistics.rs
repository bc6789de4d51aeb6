//! Medians and their spread.

use crate::quantiles::quantiles;

/// Quartiles of some figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quartiles {
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
}

impl Quartiles {
    /// Of at least one figure. Between two figures it is interpolated.
    pub(crate) fn of(figures: impl Iterator<Item = f64>) -> Self {
        let figures: Vec<f64> = figures.collect();
        let quartiles = quantiles(&figures, [0.25, 0.5, 0.75]);
        let [lower, median, upper] = quartiles.expect("there is at least one figure");
        Self { lower, median, upper }
    }
}

#[cfg(test)]
mod tests {
    use super::Quartiles;

    #[test]
    fn the_middle_half_of_figures_in_any_order() {
        let quartiles = Quartiles::of([5.0, 1.0, 4.0, 2.0, 3.0].into_iter());
        assert_eq!(quartiles, Quartiles { lower: 2.0, median: 3.0, upper: 4.0 });
    }

    #[test]
    fn between_two_figures_is_interpolated() {
        let quartiles = Quartiles::of([1.0, 2.0].into_iter());
        assert_eq!(quartiles, Quartiles { lower: 1.25, median: 1.5, upper: 1.75 });
    }
}
