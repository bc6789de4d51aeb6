//! What has been measured is kept for the process, and in a file for later ones: `shape-HASH` in a [`CacheDir`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::protocol::region::shape::BarrierShape;
use crate::sys::process::ProcessLock;
use crate::tuning::barrier_choice::ShapeTimes;
use crate::tuning::cache::{CacheDir, CacheUnused};

/// By machine and places.
static PROCESS_CACHE: ProcessLock<BTreeMap<u64, ShapeTimes>> = ProcessLock::new(BTreeMap::new());

/// The place for the measurements on one machine with the same bees' places.
pub(crate) struct CachedTimes {
    key: u64,
    cache: Option<CacheDir>,
    /// Why the file was not used, the first time.
    pub(crate) problem: Option<String>,
}

impl CachedTimes {
    /// With a file in `cache`, if there is one.
    pub(crate) fn for_key(key: u64, cache: Option<CacheDir>) -> Self {
        Self { key, cache, problem: None }
    }

    /// The times of all of `shapes`, if they are known, and of no others.
    pub(crate) fn times(&mut self, shapes: &[BarrierShape]) -> Option<ShapeTimes> {
        let cached = PROCESS_CACHE.with(|known| known.get(&self.key).cloned());
        let cached = match cached {
            Some(times) => times,
            None => {
                let times = self.read()?;
                PROCESS_CACHE.with(|cached| cached.entry(self.key).or_insert(times).clone())
            }
        };
        shapes.iter().map(|shape| cached.iter().find(|(known, _)| known == shape).copied()).collect()
    }

    fn file_name(&self) -> String {
        format!("shape-{:016x}", self.key)
    }

    fn read(&mut self) -> Option<ShapeTimes> {
        let text = self.cache.as_ref()?.read(&self.file_name());
        parse(&self.warn_if_unused(text)??)
    }

    pub(crate) fn store(&mut self, times: &ShapeTimes) {
        PROCESS_CACHE.with(|cached| cached.insert(self.key, times.clone()));
        if let Some(cache) = &self.cache {
            // Without it the next process measures again.
            let written = cache.write(&self.file_name(), &format(times));
            self.warn_if_unused(written);
        }
    }

    fn warn_if_unused<T>(&mut self, result: Result<T, CacheUnused>) -> Option<T> {
        result.map_err(|CacheUnused(problem)| self.problem = self.problem.take().or(problem)).ok()
    }
}

/// A shape and its nanoseconds a line.
fn format(times: &ShapeTimes) -> String {
    times.iter().map(|(shape, time)| format!("{shape} {}\n", time.as_nanos())).collect()
}

/// Each shape once, or it is none of hive's files.
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
        // Under another key this process does not know it, and reads it.
        assert_eq!(cached_for(2).times(&[BarrierShape::Flat, BarrierShape::Cluster]), Some(times()));
        assert_eq!(cached_for(2).times(&[BarrierShape::Cluster]), Some(times()[1..].to_vec()), "what was asked for");
        assert_eq!(cached_for(2).times(&[BarrierShape::Node]), None, "not measured");
        directory.close().unwrap();
        assert_eq!(cached_for(1).times(&[BarrierShape::Flat]), Some(times()[..1].to_vec()));
    }
}
