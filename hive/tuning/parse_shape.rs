//! Reads a [`BarrierShape`] from text, as from `HIVE_BARRIER`. It is here and not beside the type, because the protocol
//! knows nothing of settings.

use std::str::FromStr;

use crate::protocol::region::shape::BarrierShape;
use crate::sys::parse_error::{ParseError, ParseErrorKind};

/// Reads `flat`, `cluster`, `node` or `auto`.
impl FromStr for BarrierShape {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let found = Self::ALL.iter().find_map(|(shape, name)| name.eq_ignore_ascii_case(text.trim()).then_some(*shape));
        found.ok_or_else(|| {
            let message = format!("{text:?} is no shape of a barrier; expected flat, cluster, node or auto");
            ParseError::new(ParseErrorKind::BarrierShape, message)
        })
    }
}
