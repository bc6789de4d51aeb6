/*
 * Single bees are notified (after Mercury's engines). A bee that is up is WORKING, IDLE or STEALING, and its state word says which.
 *
 * Who posts a job for anybody hints it to one bee that is stealing or asleep. Who posts a bound one notifies its bee, unless that works: then it looks when it turns
 * idle. Either makes the bee NOTIFIED, so that its own next swap fails. Only the start word needs the last look: queens notify
 * sleepers and no others.
 */
#define AWAKE WORKING
#define IS_UP(s) (s == WORKING || s == IDLE || s == STEALING)
#include "common.pml"
mtype = { IDLE, STEALING };

byte idlers; /* bees STEALING or ASLEEP */

#define SOMEBODY_SLEEPS (idlers > 0)
#define COUNTS_ARE(sleepers) (idlers == sleepers)

/* ---- Who publishes --------------------------------------------------------------------------------------------------------- */

/* After the fence. */
inline new_job(thread)
{
    if
    :: idlers > 0 -> wake_for_queue(thread)
    :: else
    fi;
    call_if_all_are_parked(thread)
}

/* Hints to one. What the hint says, whose queue to look in first, makes no difference here: the bee looks in all. */
inline wake_for_queue(thread)
{
    b = 0;
    do
    :: b < BEES ->
#if defined(HINT_GIVES_UP)
        was = state[b];
        if
        :: was == STEALING || was == ASLEEP -> change(thread, b, was, NOTIFIED)
        :: else -> won = false
        fi;
#elif defined(TEST_INSTEAD_OF_SWAP)
        was = state[b];
        won = (was == STEALING || was == ASLEEP);
        if
        :: won -> state[b] = NOTIFIED
        :: else
        fi;
#else
        d_step {
            was = state[b];
            won = (was == STEALING || was == ASLEEP);
            if
            :: won -> drain(thread); state[b] = NOTIFIED; printf("bee %d: %e -> NOTIFIED, by thread %d\n", b, was, thread)
            :: else
            fi
        }
#endif
        if
        :: won && was == ASLEEP -> get_up(thread, b)
        :: else
        fi;
        if
        :: won -> break
        :: else -> b++
        fi
    :: else -> break
    od
}

inline new_bound_job(thread, bee)
{
#ifdef BOUND_JOB_IS_ONLY_HINTED
    new_job(thread)
#else
    d_step {
        was = state[bee];
        won = (was == IDLE || was == STEALING);
        if
        :: won -> drain(thread); state[bee] = NOTIFIED; printf("bee %d: %e -> NOTIFIED, by thread %d\n", bee, was, thread)
        :: else
        fi
    }
    if
    :: won
    :: else -> call(thread, bee)
    fi
#endif
}

inline count_off_sleeper(thread)
{
    d_step { drain(thread); assert(idlers > 0); idlers--; printf("idlers %d\n", idlers) }
}

inline count_off_parked(thread)
{
    count_off_sleeper(thread)
}

/* ---- The bee --------------------------------------------------------------------------------------------------------------- */

inline turn_idle()
{
    if
    :: counted -> count_off_sleeper(me); counted = false
    :: else
    fi;
#ifdef IDLE_BY_STORE
    state[me] = IDLE;
#else
    change(me, me, WORKING, IDLE);
    if
    :: won
    :: else -> goto follow
    fi;
#endif
    skip
}

inline get_sleepy()
{
    change(me, me, IDLE, STEALING);
    if
    :: won -> d_step { drain(me); idlers++; counted = true; printf("idlers %d\n", idlers) }
    :: else -> goto follow
    fi
}

/* Once asleep, it is whoever wakes the bee that counts it off. */
inline fall_asleep()
{
    change(me, me, STEALING, ASLEEP);
    if
    :: won -> counted = false
    :: else -> goto follow
    fi
}

/* Unless a resizer wants something else, it works from now on. As in jec, it looks whether anything is left for sleepers. */
inline leave_idle()
{
    d_step {
        if
        :: state[me] == IDLE || state[me] == STEALING || state[me] == NOTIFIED -> drain(me); state[me] = WORKING; printf("bee %d: WORKING\n", me)
        :: else
        fi
    }
    if
    :: counted -> count_off_sleeper(me); counted = false
    :: else
    fi;
#ifndef NO_WAKE_WHEN_LEAVING
    if
    :: idlers > 0 -> pass_on(me)
    :: else
    fi;
#endif
    skip
}

inline out_of_bed()
{
    skip
}

inline leave()
{
    if
    :: counted -> count_off_sleeper(me)
    :: else
    fi
}

#include "bee.pml"
#include "scene.pml"
