//! Keeps the measured times of barrier shapes: in memory for the process and, for later processes, in a file
//! `shape-HASH` in a [`CacheDir`].
//!
//! `barrier_choice.rs` asks here before it measures, and stores here what it has measured. See `docs/shape.md`, "Which
//! shape".

use std::collections::BTreeMap;
use std::time::Duration;

use crate::protocol::region::shape::BarrierShape;
use crate::sys::process::ProcessLock;
use crate::tuning::cache::{CacheDir, CacheUnused};
use crate::tuning::shape_times::ShapeTimes;

/// The times that this process has measured or read. The key is a hash of the machine and of the bees' places.
static PROCESS_CACHE: ProcessLock<BTreeMap<u64, ShapeTimes>> = ProcessLock::new(BTreeMap::new());

/// The times of one machine with the bees at certain places.
pub(crate) struct CachedTimes {
    /// The hash of the machine and the places.
    key: u64,
    /// Where the file is; None if no files are wanted.
    cache: Option<CacheDir>,
    /// Why the file was not used, if the user should be told: the first such problem.
    pub(crate) problem: Option<String>,
}

impl CachedTimes {
    /// The times for `key`, with a file in `cache` if that is given.
    pub(crate) fn for_key(key: u64, cache: Option<CacheDir>) -> Self {
        Self { key, cache, problem: None }
    }

    /// The times of `shapes`, in this order, and of no others. None unless the times of all of them are known, in this
    /// process or in the file.
    pub(crate) fn times(&mut self, shapes: &[BarrierShape]) -> Option<ShapeTimes> {
        let cached = PROCESS_CACHE.with(|known| known.get(&self.key).cloned());
        let cached = match cached {
            Some(times) => times,
            // The lock is not held while the file is read. If another thread has stored times meanwhile, those are
            // used.
            None => {
                let times = self.read()?;
                PROCESS_CACHE.with(|cached| cached.entry(self.key).or_insert(times).clone())
            }
        };
        // None if any of the shapes has no time.
        shapes.iter().map(|shape| cached.iter().find(|(known, _)| known == shape).copied()).collect()
    }

    fn file_name(&self) -> String {
        format!("shape-{:016x}", self.key)
    }

    /// Reads the times from the file.
    fn read(&mut self) -> Option<ShapeTimes> {
        let text = self.cache.as_ref()?.read(&self.file_name());
        parse(&self.warn_if_unused(text)??)
    }

    /// Stores times in the process and in the file.
    pub(crate) fn store(&mut self, times: &ShapeTimes) {
        PROCESS_CACHE.with(|cached| cached.insert(self.key, times.clone()));
        if let Some(cache) = &self.cache {
            // If the file cannot be written, the next process has to measure again, and nothing else is lost.
            let written = cache.write(&self.file_name(), &format(times));
            self.warn_if_unused(written);
        }
    }

    /// Notes why a file is not used, and returns None then.
    fn warn_if_unused<T>(&mut self, result: Result<T, CacheUnused>) -> Option<T> {
        result.map_err(|CacheUnused(problem)| self.problem = self.problem.take().or(problem)).ok()
    }
}

/// The text of a file: on each line a shape and its time in nanoseconds.
fn format(times: &ShapeTimes) -> String {
    times.iter().map(|(shape, time)| format!("{shape} {}\n", time.as_nanos())).collect()
}

/// Reads the text of a file. None if any line is not as `format` writes it or a shape is there twice: then hive has not
/// written the file.
fn parse(text: &str) -> Option<ShapeTimes> {
    let mut times = ShapeTimes::new();
    for line in text.lines() {
        let (shape, nanoseconds) = line.split_once(' ')?;
        let shape: BarrierShape = shape.parse().ok()?;
        if shape == BarrierShape::Auto || times.iter().any(|(known, _)| *known == shape) {
            return None;
        }
        times.push((shape, Duration::from_nanos(nanoseconds.parse().ok()?)));
    }
    Some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> ShapeTimes {
        vec![(BarrierShape::Flat, Duration::from_nanos(900)), (BarrierShape::Cluster, Duration::from_nanos(1_700))]
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(parse(&format(&times())), Some(times()));
        assert_eq!(parse("flat 900\nround 3\n"), None);
        assert_eq!(parse("flat"), None);
        assert_eq!(parse("flat 900\nflat 901\n"), None, "twice");
        assert_eq!(parse("auto 900\n"), None);
    }

    #[test]
    fn a_later_process_finds_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shapes");
        let cached_for = |key| CachedTimes::for_key(key, Some(CacheDir::at(&path)));
        assert_eq!(cached_for(1).times(&[BarrierShape::Flat]), None);
        cached_for(1).store(&times());
        std::fs::rename(path.join(cached_for(1).file_name()), path.join(cached_for(2).file_name())).unwrap();
        // This process has no times under the other key, so it reads the file.
        assert_eq!(cached_for(2).times(&[BarrierShape::Flat, BarrierShape::Cluster]), Some(times()));
        assert_eq!(cached_for(2).times(&[BarrierShape::Cluster]), Some(times()[1..].to_vec()), "what was asked for");
        assert_eq!(cached_for(2).times(&[BarrierShape::Node]), None, "not measured");
        directory.close().unwrap();
        assert_eq!(cached_for(1).times(&[BarrierShape::Flat]), Some(times()[..1].to_vec()));
    }
}
