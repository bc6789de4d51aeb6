//! The ways in which a mutant can change an atomic operation, and their names.

use std::sync::atomic::Ordering;

/// A way to break an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// `relaxed`, `acquire`, `release` or `acqrel`: the operation has this ordering instead of its own. With `failure-`
    /// before it, the ordering for failure (`index` 1) is replaced.
    Order { index: usize, to: Ordering },
    /// `skip`: the operation is not done. A read-modify-write only reads.
    Skip,
    /// `set`: what should be added to the value is added to zero, and the result is stored.
    Set,
    /// `torn`: a read-modify-write is a load and a store.
    Torn,
    /// `blind-FROM-TO`: a compare-and-exchange from this value to that one stores and reports success, whatever it
    /// finds.
    Blind { from: u64, to: u64 },
    /// `mask-BITS`: only these bits of the value are stored. They are given in hexadecimal.
    Mask(u64),
}

impl Change {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(order) = text.strip_prefix("failure-") {
            return Some(Self::Order { index: 1, to: parse_order(order)? });
        }
        if let Some(states) = text.strip_prefix("blind-") {
            let (from, to) = states.split_once('-')?;
            return Some(Self::Blind { from: from.parse().ok()?, to: to.parse().ok()? });
        }
        if let Some(bits) = text.strip_prefix("mask-") {
            return Some(Self::Mask(u64::from_str_radix(bits, 16).ok()?));
        }
        match text {
            "skip" => Some(Self::Skip),
            "set" => Some(Self::Set),
            "torn" => Some(Self::Torn),
            order => Some(Self::Order { index: 0, to: parse_order(order)? }),
        }
    }
}

fn parse_order(text: &str) -> Option<Ordering> {
    match text {
        "relaxed" => Some(Ordering::Relaxed),
        "acquire" => Some(Ordering::Acquire),
        "release" => Some(Ordering::Release),
        "acqrel" => Some(Ordering::AcqRel),
        _ => None,
    }
}
