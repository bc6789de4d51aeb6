//! The parts of the table of compositions, one idea each.

pub(crate) mod book;
pub(crate) mod case;
pub(crate) mod child;
pub(crate) mod fault;
pub(crate) mod handlers;
pub(crate) mod hook;
pub(crate) mod loops;
pub(crate) mod oracle;
pub(crate) mod parent;
pub(crate) mod place;
pub(crate) mod pool;
pub(crate) mod regions;
pub(crate) mod run;
pub(crate) mod select;
pub(crate) mod sizes;
pub(crate) mod step;
pub(crate) mod summary;
pub(crate) mod tasks;
pub(crate) mod threads;
