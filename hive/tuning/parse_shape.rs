//! Reads a [`BarrierShape`] from text, as from `HIVE_BARRIER`. It is here and not beside the type, because the protocol
//! knows nothing of settings.

use std::str::FromStr;

use crate::protocol::region::shape::BarrierShape;
use crate::sys::parse_error::{ParseError, ParseErrorKind, parse_word};

/// Reads `flat`, `cluster`, `node` or `auto`.
impl FromStr for BarrierShape {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let problem = "is no shape of a barrier; expected flat, cluster, node or auto";
        parse_word(&Self::ALL, text, ParseErrorKind::BarrierShape, problem)
    }
}
