//! What a measurement of barrier shapes yields.

use std::time::Duration;

use crate::protocol::region::shape::BarrierShape;

/// For each shape that was measured, the least time of a region with a barrier in it.
pub(crate) type ShapeTimes = Vec<(BarrierShape, Duration)>;
