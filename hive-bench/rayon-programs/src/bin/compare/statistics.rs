//! Medians and their spread.

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
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (figures.len() - 1) as f64;
            let (below, above) = (figures[place.floor() as usize], figures[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Self { lower: at(0.25), median: at(0.5), upper: at(0.75) }
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
