//! Numbers that look random, and are the same in every run.

/// A generator after Sebastiano Vigna's SplitMix64.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next number.
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to below 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// So many numbers.
    pub(crate) fn list(seed: u64, length: usize) -> Vec<u64> {
        let mut numbers = Self(seed);
        (0..length).map(|_| numbers.draw()).collect()
    }

    /// So many numbers from 0 to below 1.
    pub(crate) fn fractions(seed: u64, length: usize) -> Vec<f64> {
        let mut numbers = Self(seed);
        (0..length).map(|_| numbers.fraction()).collect()
    }
}
