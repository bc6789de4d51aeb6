//! Quantiles. Other programs of this directory include this file by its path, so it needs nothing but std.

/// The value below which a share `q` of the samples lies, interpolated; `None` without samples.
pub(crate) fn quantile(samples: &[f64], q: f64) -> Option<f64> {
    quantiles(samples, [q]).map(|[quantile]| quantile)
}

/// The same for several shares.
pub(crate) fn quantiles<const N: usize>(samples: &[f64], shares: [f64; N]) -> Option<[f64; N]> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(shares.map(|share| {
        let place = share.clamp(0.0, 1.0) * last as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + (above - below) * place.fract()
    }))
}

pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_whatever_the_order() {
        let samples = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&samples, 0.0), Some(1.0));
        assert_eq!(quantile(&samples, 1.0), Some(4.0));
        assert_eq!(median(&samples), Some(2.5));
        assert_eq!(quantile(&samples, 0.25), Some(1.75));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
    }
}
