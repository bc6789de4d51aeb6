/*
 * The tickle (after Rayon's first protocol): one word says which bee is sleepy, and whether any sleeps.
 *
 * Only one bee at a time gets sleepy. It becomes ASLEEP first, and then changes the word from "I am sleepy" to "somebody sleeps". Who posts and finds the
 * word other than 0 makes it 0, and wakes every sleeper if there was one. It needs no last look at the queues.
 */
#define IS_UP(s) (s == AWAKE)
#include "common.pml"

byte word; /* bit 0: SOMEBODY_ASLEEP; above it: id + 1 of the sleepy bee */
#define SOMEBODY_ASLEEP 1
#define SLEEPY(bee) (2 * (bee + 1))
#define NOBODY_IS_SLEEPY (word / 2 == 0)
#define IS_SLEEPY(bee) (word - word % 2 == SLEEPY(bee))

/*
 * For the queens: bees ASLEEP, or about to be. The bit does not tell them: it is 0 already while a poster has not yet come to the last of those
 * that it wakes.
 */
byte abed;
#ifdef QUEEN_TRUSTS_THE_BIT
#define SOMEBODY_SLEEPS (word % 2 == SOMEBODY_ASLEEP)
#else
#define SOMEBODY_SLEEPS (abed > 0)
#endif

/* At rest, the bit stands for every sleeper. */
#define COUNTS_ARE(sleepers) (abed == sleepers && (sleepers == 0 || word % 2 == SOMEBODY_ASLEEP))

/* ---- Who publishes --------------------------------------------------------------------------------------------------------- */

/* After the fence. */
inline new_job(thread)
{
    if
    :: word != 0 -> wake_for_queue(thread)
    :: else
    fi;
    call_if_all_are_parked(thread)
}

inline new_bound_job(thread, bee)
{
    call(thread, bee)
}

/* Wakes all. */
inline wake_for_queue(thread)
{
    d_step {
        drain(thread);
        needed = (word % 2 == SOMEBODY_ASLEEP);
        word = 0;
        printf("thread %d tickles\n", thread)
    }
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
        won = NOBODY_IS_SLEEPY;
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

inline become_asleep()
{
    change(me, me, AWAKE, ASLEEP);
    if
    :: won
    :: else -> count_off_sleeper(me); goto follow
    fi
}

inline turn_sleepy_into_asleep()
{
    d_step {
        won = IS_SLEEPY(me);
        if
        :: won -> drain(me); word = SOMEBODY_ASLEEP; printf("word: somebody sleeps\n")
        :: else
        fi
    }
}

inline fall_asleep()
{
    d_step { drain(me); abed++ }
#ifdef WORD_BEFORE_STATE
    turn_sleepy_into_asleep();
    if
    :: won
    :: else -> count_off_sleeper(me); goto idle
    fi;
    become_asleep()
#else
    become_asleep();
    turn_sleepy_into_asleep();
    if
    :: won
    :: else ->
        change(me, me, ASLEEP, AWAKE);
        if
        :: won -> count_off_sleeper(me); goto idle
        :: else -> goto lost
        fi
    fi
#endif
}

/* Somebody else may be the sleepy one now. */
inline leave_idle()
{
#ifndef SLEEPY_FOR_EVER
    d_step {
        if
        :: IS_SLEEPY(me) -> drain(me); word = word - SLEEPY(me)
        :: else
        fi
    }
#endif
    skip
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
