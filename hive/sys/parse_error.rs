//! [`ParseError`]: the error of reading a setting from text, as from the environment; and settings that are one word.

use std::fmt;

/// A text that is not what it should be, such as a [`Pin`](crate::topology::pin_policy::Pin) or a
/// [`PlaceList`](crate::topology::place_list::PlaceList). Its message says what is wrong with the text and what was
/// expected.
///
/// ```
/// use hive::{ParseErrorKind, Pin, Shrink};
///
/// let error = "most".parse::<Shrink>().unwrap_err();
/// assert_eq!(error.kind(), ParseErrorKind::Shrink);
/// assert!(error.to_string().ends_with("expected compact, spread or keep_nodes"));
/// assert_eq!("socket".parse::<Pin>().unwrap_err().kind(), ParseErrorKind::Pin);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    kind: ParseErrorKind,
    message: String,
}

/// What the text of a [`ParseError`] was to be.
///
/// ```
/// use hive::{ParseErrorKind, PlaceList, ProcBind};
///
/// let settings = |places: &str, bind: &str| Ok((places.parse::<PlaceList>()?, bind.parse::<ProcBind>()?));
/// let error: hive::ParseError = settings("cores(4)", "far").unwrap_err();
/// assert_eq!(error.kind(), ParseErrorKind::ProcBind);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// A [`Pin`](crate::topology::pin_policy::Pin).
    Pin,
    /// A [`PlaceList`](crate::topology::place_list::PlaceList).
    PlaceList,
    /// A [`ProcBind`](crate::topology::proc_bind::ProcBind).
    ProcBind,
    /// A [`Shrink`](crate::topology::shrink::Shrink).
    Shrink,
    /// A [`BarrierShape`](crate::protocol::region::shape::BarrierShape).
    BarrierShape,
}

impl ParseError {
    pub(crate) fn new(kind: ParseErrorKind, message: String) -> Self {
        Self { kind, message }
    }

    /// What the text was to be.
    ///
    /// ```
    /// let error = "socket".parse::<hive::Pin>().unwrap_err();
    /// assert_eq!(error.kind(), hive::ParseErrorKind::Pin);
    /// ```
    pub fn kind(&self) -> ParseErrorKind {
        self.kind
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

/// The value that the word `text` stands for, in any case of its letters, and with or without blanks around it. If
/// there is none, the error's message is `text` and then `problem`, such as "is no shape of a barrier; expected flat,
/// cluster, node or auto".
pub(crate) fn parse_word<T: Clone>(
    words: &[(T, &str)],
    text: &str,
    kind: ParseErrorKind,
    problem: &str,
) -> Result<T, ParseError> {
    find_word(words, text).ok_or_else(|| ParseError::new(kind, format!("{text:?} {problem}")))
}

/// As `parse_word`, but None where that returns an error.
pub(crate) fn find_word<T: Clone>(words: &[(T, &str)], text: &str) -> Option<T> {
    words.iter().find_map(|(value, word)| word.eq_ignore_ascii_case(text.trim()).then(|| value.clone()))
}

/// The first word of `value`; an empty text if it has none.
pub(crate) fn word_of<T: PartialEq>(words: &[(T, &'static str)], value: &T) -> &'static str {
    words.iter().find_map(|(named, word)| (named == value).then_some(*word)).unwrap_or_default()
}
