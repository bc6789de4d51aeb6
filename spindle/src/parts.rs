//! An iterator of Rayon's in parts, each of which is a job.

use std::sync::{Mutex, PoisonError};

use rayon::iter::IndexedParallelIterator;
use rayon::iter::plumbing::{Producer, ProducerCallback};

use crate::jobs;

/// Runs `f` for the items of `iter`, in up to `jobs` parts of about the same length.
pub(crate) fn for_each<I: IndexedParallelIterator>(jobs: usize, iter: I, f: &(impl Sync + Fn(I::Item))) {
    let items = iter.len();
    if items > 0 {
        iter.with_producer(InParts { items, parts: jobs.clamp(1, items), f });
    }
}

/// Cuts a producer of so many items into parts and runs them.
struct InParts<'f, F> {
    items: usize,
    parts: usize,
    f: &'f F,
}

impl<T, F: Sync + Fn(T)> ProducerCallback<T> for InParts<'_, F> {
    type Output = ();

    fn callback<P: Producer<Item = T>>(self, producer: P) {
        let Self { items, parts, f } = self;
        let (short, longer) = (items / parts, items % parts);
        let mut rest = Some(producer);
        let part = |number| {
            let whole = rest.take()?;
            if number + 1 == parts {
                return Some(Mutex::new(Some(whole)));
            }
            let (part, others) = whole.split_at(short + usize::from(number < longer));
            rest = Some(others);
            Some(Mutex::new(Some(part)))
        };
        let parts: Vec<_> = (0..parts).map_while(part).collect();
        jobs::run(parts.len(), &|number: usize| {
            let part = parts[number].lock().unwrap_or_else(PoisonError::into_inner).take();
            part.into_iter().for_each(|part| part.into_iter().for_each(f));
        });
    }
}
