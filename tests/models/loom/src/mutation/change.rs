//! What can be done to an operation.

use std::sync::atomic::Ordering;

/// The ways to break an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// `relaxed`, `acquire`, `unwind_out_of_region`, `acqrel`: its ordering is this one. With `failure-` before it, that of its failure.
    Order { index: usize, to: Ordering },
    /// `discard`: it is not done; of a read-modify-write, only the read is.
    Skip,
    /// `buffer`: what should be added to the value is added to zero, and stored.
    Set,
    /// `torn`: it is a load and a store.
    Torn,
    /// `blind-FROM-TO`: this swap stores and reports success, whatever it finds.
    Blind { from: u64, to: u64 },
    /// `mask-BITS`: only these bits of the value, in hexadecimal, are stored.
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
