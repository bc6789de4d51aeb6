/*
 * Single bees are notified (after Mercury's engines): a bee that is up is WORKING, IDLE or STEALING, and says so in its state word.
 */
#define UP_STATES IDLE, STEALING
#define AWAKE WORKING
#define IS_UP(s) (s == WORKING || s == IDLE || s == STEALING)
#define MUST_BE_TOLD(s) (s == IDLE || s == STEALING)
#include "common.pml"

byte idlers; /* bees STEALING or ASLEEP */

#define SOMEBODY_SLEEPS (idlers > 0)
#define AT_REST (idlers == (state[0] == ASLEEP) + (state[1] == ASLEEP))
#define AT_END (idlers == 0)

/* ---- Who publishes --------------------------------------------------------------------------------------------------------- */

inline new_job(thread)
{
    if
    :: idlers > 0 -> wake_for_queue(thread)
    :: else
    fi;
    call_if_all_parked(thread)
}

/* A hint, for one that is stealing or asleep. It may find nobody. */
inline wake_for_queue(thread)
{
    b = 0;
    do
    :: b < BEES ->
#ifdef HINT_TRIES_ONCE
        was = state[b];
        d_step {
            won = ((was == STEALING || was == ASLEEP) && state[b] == was);
            if
            :: won -> drain(thread); state[b] = NOTIFIED
            :: else
            fi
        }
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
        :: won && was == ASLEEP -> count_off_sleeper(thread); post(b, ASLEEP); break
        :: won && was == STEALING -> break
        :: else -> b++
        fi
    :: else -> break
    od
}

/* Must arrive: at one that is idle, stealing or asleep. Who works looks at its mailbox when it turns idle. */
inline new_bound_job(thread, bee)
{
#ifdef BROKEN_BOUND_NOTIFICATION_DROPPED
    if
    :: idlers > 0 -> wake_for_queue(thread)
    :: else
    fi
#else
    call(thread, bee)
#endif
}

inline count_off_sleeper(thread)
{
    d_step { drain(thread); assert(idlers > 0); idlers-- }
}

inline count_off_woken(thread)
{
    count_off_sleeper(thread)
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
#ifdef BROKEN_IDLE_BY_STORE
    state[me] = IDLE
#else
    change(me, me, WORKING, IDLE);
    if
    :: won
    :: else -> goto follow
    fi
#endif
}

inline get_sleepy()
{
    change(me, me, IDLE, STEALING);
    if
    :: won -> d_step { drain(me); idlers++; counted = true }
    :: else -> goto follow
    fi
}

inline fall_asleep()
{
    change(me, me, STEALING, ASLEEP);
    if
    :: won -> counted = false
    :: else -> announced = false; goto follow
    fi
}

/* Back to WORKING, unless a resizer has something else in mind; and out of the count. */
inline leave_idle()
{
    d_step {
        if
        :: state[me] == IDLE || state[me] == STEALING || state[me] == NOTIFIED -> drain(me); state[me] = WORKING
        :: else
        fi
    }
    if
    :: counted -> count_off_sleeper(me); counted = false
    :: else
    fi;
    if
    :: idlers > 0 -> pass_on(me)
    :: else
    fi
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
