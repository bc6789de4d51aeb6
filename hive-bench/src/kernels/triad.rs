//! STREAM triad: `a[i] = b[i] + s * c[i]`.

use crate::kernels::{disjoint::Disjoint, split};
use crate::runtimes::Runtime;

pub(crate) const SCALAR: f64 = 3.0;

/// Three arrays of one length.
pub(crate) struct Triad {
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) c: Vec<f64>,
}

/// One bee's part.
pub(crate) fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + SCALAR * c;
    }
}

fn b_at(i: usize) -> f64 {
    (i % 1024) as f64
}

fn c_at(i: usize) -> f64 {
    (i % 37) as f64 * 0.5
}

impl Triad {
    /// Arrays whose memory each bee has touched first where it will work.
    pub(crate) fn new(runtime: &mut impl Runtime, len: usize) -> Self {
        let mut arrays = Self { a: vec![0.0; len], b: vec![0.0; len], c: vec![0.0; len] };
        let members = runtime.members();
        let (a, b, c) = (Disjoint::new(&mut arrays.a), Disjoint::new(&mut arrays.b), Disjoint::new(&mut arrays.c));
        runtime.region(members, |id| {
            let range = split(id, members, len);
            // SAFETY: `split` gives each bee a part of its own.
            #[allow(unsafe_code)]
            let (a, b, c) =
                (unsafe { a.part(range.clone()) }, unsafe { b.part(range.clone()) }, unsafe { c.part(range.clone()) });
            a.fill(-1.0);
            b.iter_mut().zip(range.clone()).for_each(|(b, i)| *b = b_at(i));
            c.iter_mut().zip(range).for_each(|(c, i)| *c = c_at(i));
        });
        arrays
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let wrong = (0..self.a.len()).find(|&i| self.a[i] != b_at(i) + SCALAR * c_at(i));
        wrong.map_or(Ok(()), |i| {
            Err(format!("wrong answer: a[{i}] is {}, not {}", self.a[i], b_at(i) + SCALAR * c_at(i)))
        })
    }
}
