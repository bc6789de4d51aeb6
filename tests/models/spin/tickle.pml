/*
 * One sleepy bee at a time (after Rayon's first protocol): one word says who is sleepy, and whether anybody sleeps.
 */
#define IS_UP(s) (s == AWAKE)
#define MUST_BE_TOLD(s) false
#include "common.pml"

byte word;  /* bit 0: somebody sleeps; above it: id + 1 of the sleepy bee, 0 for none */
byte abed;  /* for the queens: bees ASLEEP, or about to be */

#define SLEEPY(bee) (2 * (bee + 1))
#define SOMEBODY_ASLEEP 1

#ifdef BROKEN_QUEEN_TRUSTS_THE_BIT
#define SOMEBODY_SLEEPS (word % 2 == SOMEBODY_ASLEEP)
#else
#define SOMEBODY_SLEEPS (abed > 0)
#endif
#define AT_REST (abed == (state[0] == ASLEEP) + (state[1] == ASLEEP) && (abed == 0 || word % 2 == SOMEBODY_ASLEEP))
#define AT_END (abed == 0)

/* ---- Who publishes --------------------------------------------------------------------------------------------------------- */

inline new_job(thread)
{
    if
    :: word != 0 -> wake_for_queue(thread)
    :: else
    fi;
    call_if_all_parked(thread)
}

inline new_bound_job(thread, bee)
{
    call(thread, bee)
}

/* Wakes all. */
inline wake_for_queue(thread)
{
    d_step { drain(thread); needed = (word % 2 == SOMEBODY_ASLEEP); word = 0; printf("thread %d tickles, needed: %d\n", thread, needed) }
    b = 0;
    do
    :: needed && b < BEES -> rouse(thread, b); b++
    :: else -> break
    od
}

inline count_off_sleeper(thread)
{
    d_step { drain(thread); assert(abed > 0); abed-- }
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
    skip
}

inline get_sleepy()
{
    d_step {
        won = (word / 2 == 0);
        if
        :: won -> drain(me); word = word + SLEEPY(me); printf("bee %d is sleepy\n", me)
        :: else
        fi
    }
    if
    :: won
    :: else -> goto search
    fi
}

inline fall_asleep()
{
    d_step { drain(me); abed++ }
#ifdef BROKEN_WORD_BEFORE_STATE
    d_step {
        won = (word / 2 == me + 1);
        if
        :: won -> drain(me); word = SOMEBODY_ASLEEP
        :: else
        fi
    }
    if
    :: won
    :: else -> count_off_sleeper(me); goto search
    fi;
    change(me, me, AWAKE, ASLEEP);
    if
    :: won
    :: else -> count_off_sleeper(me); goto follow
    fi
#else
    change(me, me, AWAKE, ASLEEP);
    if
    :: won
    :: else -> count_off_sleeper(me); goto follow
    fi;
    d_step {
        won = (word / 2 == me + 1);
        if
        :: won -> drain(me); word = SOMEBODY_ASLEEP; printf("somebody sleeps\n")
        :: else
        fi
    }
    if
    :: won
    :: else ->
        change(me, me, ASLEEP, AWAKE);
        if
        :: won -> count_off_sleeper(me); goto search
        :: else -> goto lost
        fi
    fi
#endif
}

inline leave_idle()
{
    d_step {
        if
        :: word / 2 == me + 1 -> drain(me); word = word % 2
        :: else
        fi
    }
}

inline out_of_bed()
{
    skip
}

inline leave()
{
    skip
}

#include "bee.pml"
#include "scene.pml"
