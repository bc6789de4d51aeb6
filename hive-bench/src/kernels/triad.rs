//! STREAM triad: `a[i] = b[i] + s * c[i]`.

pub(crate) const SCALAR: f64 = 3.0;

/// Three arrays of one length.
pub(crate) struct Triad {
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) c: Vec<f64>,
}

/// One thread's part.
pub(crate) fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + SCALAR * c;
    }
}

/// What the second array has.
pub(crate) fn b_at(i: usize) -> f64 {
    (i % 1024) as f64
}

/// What the third array has.
pub(crate) fn c_at(i: usize) -> f64 {
    (i % 37) as f64 * 0.5
}

impl Triad {
    pub(crate) fn check(&self) -> Result<(), String> {
        let wrong = (0..self.a.len()).find(|&i| self.a[i] != b_at(i) + SCALAR * c_at(i));
        wrong.map_or(Ok(()), |i| {
            Err(format!("wrong answer: a[{i}] is {}, not {}", self.a[i], b_at(i) + SCALAR * c_at(i)))
        })
    }
}
