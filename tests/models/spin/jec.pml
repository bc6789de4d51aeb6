/*
 * The jobs event counter (after Rayon's): one word of three numbers.
 *
 * A bee that gets sleepy turns the counter from odd to even, and remembers it. A poster turns it from even to odd. A bee may count itself
 * asleep only while the counter is as it remembers. The last look goes over the deques as well: a bee is counted before its state is ASLEEP, and a
 * poster in between finds nobody to wake.
 */
#define IS_UP(s) (s == AWAKE)
#ifndef LAST_LOOK_WITHOUT_DEQUES
#define LAST_LOOK_AT_DEQUES
#endif
#include "common.pml"

/* The counter goes from 0 to EVENTS - 1 and round again. */
#ifndef EVENTS
#define EVENTS 4
#endif
byte inactive; /* bees that search or sleep */
byte sleeping; /* those of them that sleep, or are about to */
byte events;

#define SOMEBODY_SLEEPS (sleeping > 0)
#define COUNTS_ARE(sleepers) (inactive == sleepers && sleeping == sleepers)

/* What the counter alone is to prevent: a bee counts itself asleep, though a job was posted since its announcement. */
#ifdef COUNTER_MUST_TELL
bit untold[BEES];
#endif

/* For use in a step that changes the word. */
inline check()
{
    printf("inactive %d, sleeping %d, events %d\n", inactive, sleeping, events);
    assert(sleeping <= inactive && inactive <= BEES)
}

/* ---- Who publishes --------------------------------------------------------------------------------------------------------- */

/* After the fence. An even counter is made odd by a compare-and-swap, an odd one only read. None is woken while awake idle bees suffice. */
inline new_job(thread)
{
    d_step {
        if
        :: events % 2 == 0 -> drain(thread); events = (events + 1) % EVENTS
        :: else
        fi;
        check();
        needed = (sleeping > 0 && inactive == sleeping);
#ifdef COUNTER_MUST_TELL
        untold[0] = true;
        untold[1] = true
#endif
    }
    if
    :: needed -> wake_for_queue(thread)
    :: else
    fi;
    call_if_all_are_parked(thread)
}

inline new_bound_job(thread, bee)
{
    call(thread, bee)
}

/* Wakes one. */
inline wake_for_queue(thread)
{
    b = 0;
    do
    :: b < BEES ->
        rouse(thread, b);
        if
        :: won -> break
        :: else -> b++
        fi
    :: else -> break
    od
}

inline count_off_sleeper(thread)
{
    d_step { drain(thread); sleeping--; check() }
}

inline count_off_parked(thread)
{
    d_step { drain(thread); sleeping--; inactive--; check() }
}

/* ---- The bee --------------------------------------------------------------------------------------------------------------- */

inline turn_idle()
{
    if
    :: counted
    :: else -> d_step { drain(me); inactive++; counted = true; check() }
    fi
}

#ifdef BLITZ_COUNTER
#define COUNTER_IS_TURNED (events % 2 == 0)
#else
#define COUNTER_IS_TURNED (events % 2 == 1)
#endif

inline get_sleepy()
{
    d_step {
        if
        :: COUNTER_IS_TURNED -> drain(me); events = (events + 1) % EVENTS
        :: else
        fi;
        check();
        remembered = events;
#ifdef COUNTER_MUST_TELL
        untold[me] = false
#endif
    }
}

inline fall_asleep()
{
    atomic {
        if
        :: events == remembered ->
            d_step { drain(me); sleeping++; check() }
#ifdef COUNTER_MUST_TELL
            assert(! untold[me]);
#endif
        :: else -> goto announce
        fi;
#ifdef COUNTED_UNDER_A_LOCK
        /* As in Rayon: a waker waits until the sleeper, who has the lock, is asleep. */
        change(me, me, AWAKE, ASLEEP)
#endif
    }
#ifndef COUNTED_UNDER_A_LOCK
    change(me, me, AWAKE, ASLEEP);
#endif
    if
    :: won
    :: else -> count_off_sleeper(me); goto follow
    fi
}

/* Posters relied on this bee as long as it was idle. If somebody sleeps, it looks whether anything is left for them, before it runs. */
inline leave_idle()
{
    if
    :: counted ->
        d_step { drain(me); inactive--; needed = (sleeping > 0); counted = false; check() }
#ifdef NO_WAKE_WHEN_LEAVING
        needed = false;
#endif
        if
        :: needed -> pass_on(me)
        :: else
        fi
    :: else
    fi
}

/* Woken from ASLEEP, it is still inactive. Parked, it is not, even if it was parked in its sleep. */
inline out_of_bed()
{
#ifdef SLEEPER_COUNTS_ITSELF_OFF
    if
    :: counted -> count_off_sleeper(me)
    :: else
    fi;
#endif
#ifndef WOKEN_BEE_TRUSTS_ITS_COUNT
    counted = (permit == ASLEEP);
#endif
    skip
}

inline leave()
{
    if
    :: counted -> d_step { drain(me); inactive--; check() }
    :: else
    fi
}

#include "bee.pml"
#include "scene.pml"
