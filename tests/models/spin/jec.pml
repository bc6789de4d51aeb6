/*
 * The jobs event counter (after Rayon's): one word of three numbers. The steps of `sleep/jec.rs`.
 *
 * A bee that gets sleepy turns the counter from odd to even, and remembers it. A poster turns it from even to odd. A bee may count itself
 * asleep only while the counter is as it remembers. The last check goes over the deques as well: a bee is counted before its state is ASLEEP, and a
 * poster in between finds nobody to wake.
 */
/* Of a job for anybody: one bee, or everybody. */
#define NOTIFY_EVERYBODY false
#include "common.pml"

/* The counter goes from 0 to EVENTS - 1 and round again. */
#ifndef EVENTS
#define EVENTS 4
#endif
byte inactive; /* bees that search or sleep */
byte sleeping; /* those of them that sleep, or are about to */
byte events;

#define COUNTS_MATCH(sleepers) (inactive == sleepers && sleeping == sleepers)
#define NO_SEARCHER (sleeping > 0 && inactive == sleeping)

/* What the counter alone is to prevent: a bee counts itself asleep, though a job was posted since its announcement. */
#ifdef COUNTER_MUST_TELL
bit untold[BEES];
#endif

/*
 * For use in a step that changes the word. A bee that was parked in its sleep may have been called, for its latch, and search, before the resizer has
 * counted it off: then it counts twice for a while.
 */
#if defined(LATCH) && defined(SHRINK_TO)
#define MOST_INACTIVE (BEES + 1)
#else
#define MOST_INACTIVE BEES
#endif
inline check()
{
    printf("inactive %d, sleeping %d, events %d\n", inactive, sleeping, events);
    assert(sleeping <= inactive && inactive <= MOST_INACTIVE)
}

/* An even counter is made odd by a compare-and-swap, an odd one only read. None is woken while awake idle bees suffice. */
inline post(thread)
{
    /* Step: announce_jobs: event */
    d_step {
        if
        :: events % 2 == 0 -> drain(thread); events = (events + 1) % EVENTS
        :: else
        fi;
        check();
        needed = NO_SEARCHER;
#ifdef COUNTER_MUST_TELL
        untold[0] = true;
        untold[1] = true
#endif
    }
}

inline tell_of_work(thread, bee)
{
    d_step { swapped = false; needed = true }
}

inline tell_of_mail(thread, bee)
{
    skip
}

inline take_notification()
{
    skip
}

inline steal()
{
    skip
}

inline leave_sleep(thread, bee)
{
    /* Step: count_woken: sleeping */
    d_step { drain(thread); sleeping--; check() }
}

inline park(thread, bee)
{
    /* Step: count_parked: inactive, sleeping */
    d_step { drain(thread); sleeping--; inactive--; check() }
}

inline unpark()
{
    skip
}

inline search()
{
    /* Step: begin_search: inactive */
    d_step { drain(me); inactive++; check() }
}

/* Nobody is told as long as somebody else searches: that one finds what is left, or looks in its turn. */
inline find()
{
    /* Step: end_search: inactive */
    d_step { drain(me); inactive--; needed = NO_SEARCHER; check() }
}

#ifdef BLITZ_COUNTER
#define COUNTER_IS_TURNED (events % 2 == 0)
#else
#define COUNTER_IS_TURNED (events % 2 == 1)
#endif

inline announce()
{
    /* Step: announce_sleepy: event */
    d_step {
        if
        :: COUNTER_IS_TURNED -> drain(me); events = (events + 1) % EVENTS
        :: else
        fi;
        check();
        remembered = events;
        swapped = true;
#ifdef COUNTER_MUST_TELL
        untold[me] = false
#endif
    }
}

inline fall_asleep()
{
    atomic {
        swapped = (events == remembered);
        if
        :: swapped ->
            /* Step: try_fall_asleep: sleeping */
            d_step { drain(me); sleeping++; check() }
#ifdef COUNTER_MUST_TELL
            assert(! untold[me]);
#endif
#ifdef COUNTED_UNDER_A_LOCK
            /* As in Rayon: a waker waits until the sleeper, who has the lock, is asleep. */
            d_step { sleepers++ }
            change(me, me, AWAKE, ASLEEP);
            if
            :: swapped -> goto asleep
            :: else -> d_step { sleepers--; sleeping--; check() } goto wake_up
            fi
#endif
        :: else
        fi
    }
}

inline confirm()
{
    swapped = true
}

#include "bee.pml"
#include "scenario.pml"
