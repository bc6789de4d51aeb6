/*
 * The jobs event counter, after Rayon's: one word that consists of three numbers. The steps are those of
 * `sleep/jec.rs`.
 *
 * A bee that becomes sleepy makes the counter even if it is odd, and remembers it. A thread that posts makes the
 * counter odd if it is even. A bee may count itself asleep only while the counter is what it remembers. The last check
 * includes the deques, because a bee counts itself asleep before its state is ASLEEP, and a thread that posts in
 * between finds no bee to wake.
 */
/* Whether all bees are told of a job that any bee may run, and not only one of them. */
#define NOTIFY_ALL false
#include "common.pml"

/* The counter goes from 0 to EVENTS - 1, and then begins again at 0. */
#ifndef EVENTS
#define EVENTS 4
#endif
byte inactive; /* how many bees search or sleep */
byte sleeping; /* how many of them sleep, or are about to */
byte events;

#define COUNTS_MATCH(sleepers) (inactive == sleepers && sleeping == sleepers)
#define NO_SEARCHER (sleeping > 0 && inactive == sleeping)

/* The counter alone has to prevent that a bee counts itself asleep after a job was posted since its announcement. */
#ifdef COUNTER_MUST_TELL
bit untold[BEES];
#endif

/*
 * For use in a step that changes the word. A bee that was parked in its sleep may be called for its latch, and search,
 * before the resizer has taken it off the counts. Then the bee counts twice for a while.
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

/*
 * An even counter is made odd by a compare-and-swap; an odd counter is only read. No bee is woken while there is a bee
 * that searches.
 */
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

/*
 * No bee is told as long as another bee searches: that bee finds what is left, or looks for it when its own search
 * ends.
 */
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
            /* As in Rayon: a thread that wakes waits until the sleeper, which has the lock, is asleep. */
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
