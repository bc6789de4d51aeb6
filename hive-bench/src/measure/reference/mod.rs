//! Bare references, measured in every runner before its runtime has threads: what the hardware and the kernel charge
//! for the same service.

pub(crate) mod hand_over;
pub(crate) mod round_trip;
