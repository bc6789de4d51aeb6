//! From which size of the team on one shape is ahead of another.

use super::predict::Prediction;
use super::shape::Shape;

/// A shape that is ahead by less than this counts as level.
const LEVEL: f64 = 0.98;

/// What a prediction says, and its name.
pub(super) type Figure = (&'static str, fn(&Prediction) -> f64);

/// All predicted figures.
pub(super) const FIGURES: [Figure; 5] = [
    ("region", |one| one.region),
    ("fork", |one| one.fork),
    ("join", |one| one.join),
    ("barrier", |one| one.barrier),
    ("cold wake", |one| one.cold_wake),
];

/// One shape is ahead of another, and stays so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crossover {
    pub(super) ahead: Shape,
    pub(super) behind: Shape,
    /// The last size at which it was not ahead; `None` if it is ahead at all sizes.
    pub(super) after: Option<usize>,
    pub(super) from: usize,
    /// How many times as long the other takes at the largest size.
    pub(super) factor: f64,
}

/// Of one shape over another, by sizes in ascending order.
pub(super) fn between(predictions: &[Prediction], ahead: Shape, behind: Shape, figure: Figure) -> Option<Crossover> {
    let of = |shape: Shape| predictions.iter().filter(move |one| one.shape == shape);
    let ratios: Vec<(usize, f64)> =
        of(ahead).zip(of(behind)).map(|(one, other)| (one.bees, figure.1(one) / figure.1(other))).collect();
    let since = ratios.iter().rposition(|(_, ratio)| *ratio >= LEVEL).map_or(0, |place| place + 1);
    let (from, _) = *ratios.get(since)?;
    let (_, last) = *ratios.last()?;
    Some(Crossover {
        ahead,
        behind,
        after: since.checked_sub(1).map(|place| ratios[place].0),
        from,
        factor: 1.0 / last,
    })
}

/// All of one figure, among these shapes.
pub(super) fn all(predictions: &[Prediction], shapes: &[Shape], figure: Figure) -> Vec<Crossover> {
    let pairs = shapes.iter().flat_map(|ahead| shapes.iter().map(move |behind| (*ahead, *behind)));
    pairs
        .filter(|(ahead, behind)| ahead != behind)
        .filter_map(|(ahead, behind)| between(predictions, ahead, behind, figure))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(bees: usize, shape: Shape, region: f64) -> Prediction {
        Prediction {
            bees,
            shape,
            region,
            fork: 1.0,
            join: 1.0,
            barrier: 1.0,
            cold_wake: 1.0,
            crossings: 0,
            back_off: 0.0,
        }
    }

    #[test]
    fn ahead_is_ahead_for_good() {
        let flat =
            [10.0, 20.0, 40.0, 80.0].into_iter().zip([2, 4, 8, 16]).map(|(time, n)| prediction(n, Shape::Flat, time));
        let node =
            [9.0, 30.0, 30.0, 40.0].into_iter().zip([2, 4, 8, 16]).map(|(time, n)| prediction(n, Shape::Node, time));
        let all_of: Vec<_> = flat.chain(node).collect();
        let expected = Crossover { ahead: Shape::Node, behind: Shape::Flat, after: Some(4), from: 8, factor: 2.0 };
        assert_eq!(between(&all_of, Shape::Node, Shape::Flat, FIGURES[0]), Some(expected));
        assert_eq!(between(&all_of, Shape::Flat, Shape::Node, FIGURES[0]), None);
        assert_eq!(all(&all_of, &[Shape::Flat, Shape::Node], FIGURES[0]), [expected]);
        assert_eq!(all(&all_of, &[Shape::Flat, Shape::Node], FIGURES[1]), [], "level");
    }
}
