/*
 * The jobs event counter (after Rayon's): one word of three numbers.
 */
#define IS_UP(s) (s == AWAKE)
#define MUST_BE_TOLD(s) false
#include "common.pml"

/* How far the counter counts: small, so that it rolls over. */
#ifndef EVENTS
#define EVENTS 4
#endif

byte inactive; /* bees that search or sleep */
byte sleeping; /* those of them that sleep, or are about to */
byte events;   /* the jobs event counter: even after an announcement, odd after a post */

#ifdef COUNTER_TELLS
/*
 * Whether a job has been posted since the bee's announcement. A bee that counts itself asleep in spite of it has not been told, which
 * must not happen while the counter cannot have gone round.
 */
bit posted_since[BEES];
#endif

#define SOUND printf("inactive %d, sleeping %d, events %d\n", inactive, sleeping, events); assert(sleeping <= inactive && inactive <= BEES)
#define SOMEBODY_SLEEPS (sleeping > 0)
#define AT_REST (inactive == sleeping && sleeping == (state[0] == ASLEEP) + (state[1] == ASLEEP))
#define AT_END (inactive == 0 && sleeping == 0)

/* ---- Who publishes --------------------------------------------------------------------------------------------------------- */

/* After the poster's fence. */
inline new_job(thread)
{
    /* Even: one compare-and-swap makes it odd and reads the rest. Odd: one load. */
    d_step {
        if
        :: events % 2 == 0 -> drain(thread); events = (events + 1) % EVENTS; printf("events %d\n", events)
        :: else
        fi;
        needed = (sleeping > 0 && inactive == sleeping);
#ifdef COUNTER_TELLS
        posted_since[0] = true;
        posted_since[1] = true
#endif
    }
    if
    :: needed -> wake_for_queue(thread)
    :: else
    fi;
    call_if_all_parked(thread)
}

/* One bee only will do, whatever the others are at. */
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
    od;
    b = 0
}

/* The winner of ASLEEP -> anything takes the bee off, before the post. */
inline count_off_sleeper(thread)
{
    d_step { drain(thread); sleeping--; SOUND }
}

inline count_off_woken(thread)
{
#ifdef BROKEN_SLEEPER_COUNTS_ITSELF_OFF
    skip
#else
    count_off_sleeper(thread)
#endif
}

/* ASLEEP -> PARKED: off both counts. */
inline count_off_parked(thread)
{
    d_step { drain(thread); sleeping--; inactive--; SOUND }
}

/* ---- The bee --------------------------------------------------------------------------------------------------------------- */

inline turn_idle()
{
    if
    :: counted
    :: else -> d_step { drain(me); inactive++; SOUND; counted = true }
    fi
}

inline get_sleepy()
{
    d_step {
        if
#ifdef BROKEN_BLITZ
        :: events % 2 == 0
#else
        :: events % 2 == 1
#endif
            -> drain(me); events = (events + 1) % EVENTS; printf("events %d\n", events)
        :: else
        fi;
        remembered = events;
#ifdef COUNTER_TELLS
        posted_since[me] = false
#endif
    }
}

inline fall_asleep()
{
    atomic {
        if
        :: events == remembered ->
            d_step { drain(me); sleeping++; SOUND }
#ifdef COUNTER_TELLS
            assert(! posted_since[me])
#endif
        :: else -> goto announce
        fi
    }
    change(me, me, AWAKE, ASLEEP);
    if
    :: won
    :: else -> count_off_sleeper(me); goto follow
    fi
}

inline leave_idle()
{
    if
    :: counted ->
        d_step { drain(me); inactive--; SOUND; needed = (sleeping > 0); counted = false }
#ifdef BROKEN_NO_CASCADE
        needed = false;
#endif
        if
        :: needed -> pass_on(me)
        :: else
        fi
    :: else
    fi
}

inline out_of_bed()
{
#ifdef BROKEN_SLEEPER_COUNTS_ITSELF_OFF
    if
    :: counted -> count_off_sleeper(me)
    :: else
    fi;
#endif
#ifndef BROKEN_WOKEN_BEE_TRUSTS_ITS_COUNT
    counted = (permit == ASLEEP)
#else
    skip
#endif
}

inline leave()
{
    if
    :: counted -> d_step { drain(me); inactive--; SOUND }
    :: else
    fi
}

#include "bee.pml"
#include "scene.pml"
