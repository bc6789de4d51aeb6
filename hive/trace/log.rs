//! What one member has done, and when: a list that only that member adds to, and that anybody may read meanwhile.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::event::Event;

/// Entries that come into being together.
const PAGE: usize = 4_096;

/// The most entries a member: of 16 bytes each, and of some 70 in a file. What comes later is counted and not kept: what is known of how a program began
/// is whole, and nothing that has been written changes while it is read.
pub(crate) const MOST: usize = 1 << 20;

/// A member's log. Closed, and then it takes no entries, unless it has been opened.
#[derive(Default)]
pub(crate) struct Log {
    pages: OnceLock<Box<[OnceLock<Page>]>>,
    /// Entries in the pages.
    len: AtomicUsize,
    /// Those for which there was no room.
    dropped: AtomicUsize,
    /// A moment that another member has marked. 0: none yet.
    mark: AtomicU64,
}

type Page = Box<[Entry]>;

#[derive(Default)]
struct Entry {
    time: AtomicU64,
    event: AtomicU64,
}

impl Log {
    /// Opens it for up to `most` entries.
    pub(crate) fn open(&self, most: usize) {
        self.pages.get_or_init(|| (0..most.div_ceil(PAGE)).map(|_| OnceLock::new()).collect());
    }

    /// Adds an entry. Called by the member whose log it is; were there two at once, an entry would be lost.
    #[inline]
    pub(crate) fn write(&self, event: Event) {
        if let Some(pages) = self.pages.get() {
            self.add(pages, now(), event);
        }
    }

    /// As `write`, as if at the moment that another member has marked since the last entry; if none has, as of now.
    pub(crate) fn write_as_marked(&self, event: Event) {
        let Some(pages) = self.pages.get() else { return };
        let last = self.entries().next_back().map_or(0, |(time, _)| time);
        self.add(pages, self.mark_since(last).unwrap_or_else(now), event);
    }

    /// Marks this moment, as another member, for the owner to write down what it was.
    pub(crate) fn mark(&self) {
        if self.pages.get().is_some() {
            // Relaxed: for a reader's eyes. Who comes too early takes another moment for this.
            self.mark.store(now(), Ordering::Relaxed);
        }
    }

    /// The moment that has been marked last, if that was not before `time`.
    pub(crate) fn mark_since(&self, time: u64) -> Option<u64> {
        // Relaxed: as above.
        Some(self.mark.load(Ordering::Relaxed)).filter(|mark| *mark >= time)
    }

    fn add(&self, pages: &[OnceLock<Page>], time: u64, event: Event) {
        // Relaxed: only this member writes it; the queen's place is handed on with the turn.
        let number = self.len.load(Ordering::Relaxed);
        let Some(page) = pages.get(number / PAGE) else {
            // Relaxed, both: as above, and for a reader's eyes.
            return self.dropped.store(self.dropped.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        };
        let page = page.get_or_init(|| (0..PAGE).map(|_| Entry::default()).collect());
        let entry = &page[number % PAGE];
        // Relaxed, both: published by the length.
        entry.time.store(time, Ordering::Relaxed);
        entry.event.store(event.to_bits(), Ordering::Relaxed);
        // Release: pairs with the Acquire in `len`; publishes the entry.
        self.len.store(number + 1, Ordering::Release);
    }

    /// Entries so far.
    pub(crate) fn len(&self) -> usize {
        // Acquire: pairs with the Release in `add`.
        self.len.load(Ordering::Acquire)
    }

    /// Entries for which there was no room.
    pub(crate) fn dropped(&self) -> usize {
        // Relaxed: for a reader's eyes.
        self.dropped.load(Ordering::Relaxed)
    }

    /// The entries so far, each with its time, oldest first.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = (u64, Event)> {
        let pages = self.pages.get().map_or(&[][..], |pages| &**pages);
        (0..self.len()).map(|number| {
            let page = pages[number / PAGE].get().unwrap_or_else(|| unreachable!("entry {number} has been written"));
            let entry = &page[number % PAGE];
            // Relaxed, both: published by the length, and never written again.
            (entry.time.load(Ordering::Relaxed), Event::from_bits(entry.event.load(Ordering::Relaxed)))
        })
    }
}

/// Nanoseconds since the first log of the process was asked, by the system's monotonic clock: the same on all CPUs, steady, and safe to ask. (The
/// processor's own counter would take half as long, and would have to be compared with this one on each machine.)
pub(crate) fn now() -> u64 {
    // In hives it has been filled by `files.rs`, while no thread forked.
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_in_order_and_time_does_not_go_back() {
        let log = Log::default();
        log.write(Event::Task);
        assert_eq!(log.len(), 0, "it is closed");
        log.open(MOST);
        let written = |number: usize| if number.is_multiple_of(2) { Event::Task } else { Event::Done };
        (0..2 * PAGE + 10).for_each(|number| log.write(written(number)));
        assert!(log.entries().map(|(_, event)| event).eq((0..2 * PAGE + 10).map(written)));
        assert!(log.entries().is_sorted_by_key(|(time, _)| time));
        assert_eq!(log.dropped(), 0);
    }

    #[test]
    fn a_full_log_counts_what_it_does_not_keep() {
        let log = Log::default();
        log.open(PAGE);
        (0..PAGE + 3).for_each(|_| log.write(Event::Search));
        assert_eq!((log.len(), log.dropped()), (PAGE, 3));
    }

    #[test]
    fn another_s_mark_counts_once_and_not_before_the_last_entry() {
        let log = Log::default();
        log.open(MOST);
        log.mark();
        std::thread::sleep(std::time::Duration::from_millis(1));
        log.write(Event::Sleep);
        let slept = log.entries().last().unwrap().0;
        assert_eq!(log.mark_since(slept), None, "that was before");
        std::thread::sleep(std::time::Duration::from_millis(1));
        log.mark();
        let marked = log.mark_since(slept).unwrap();
        log.write_as_marked(Event::Park);
        log.write_as_marked(Event::Up { is_woken: true });
        let times: Vec<_> = log.entries().map(|(time, _)| time).collect();
        assert_eq!(times[1], marked);
        assert!(times[2] >= marked);
    }

    #[test]
    fn a_reader_sees_whole_entries_while_the_owner_writes() {
        let log = Log::default();
        log.open(PAGE);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..PAGE as u32).for_each(|number| log.write(Event::Barrier(number))));
            while log.len() < PAGE {
                let barriers = log.entries().map(|(_, event)| event).zip(0..);
                barriers.for_each(|(event, number)| assert_eq!(event, Event::Barrier(number)));
            }
        });
    }
}
