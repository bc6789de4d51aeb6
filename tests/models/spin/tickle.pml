/*
 * The tickle (after Rayon's first protocol): one word says which bee is sleepy, and whether any sleeps.
 *
 * Only one bee at a time gets sleepy. It becomes ASLEEP first, and then changes the word from "I am sleepy" to "somebody sleeps". Who posts and finds the
 * word other than 0 makes it 0, and wakes every sleeper if there was one.
 */
#include "common.pml"

byte word; /* bit 0: SOMEBODY_ASLEEP; above it: id + 1 of the sleepy bee */
#define SOMEBODY_ASLEEP 1
#define SLEEPY(bee) (2 * (bee + 1))
#define NOBODY_IS_SLEEPY (word / 2 == 0)
#define IS_SLEEPY(bee) (word - word % 2 == SLEEPY(bee))

/* The bit is 0 already while a poster has not yet come to the last of those that it wakes. */
#ifdef QUEEN_TRUSTS_THE_BIT
#define SOMEBODY_SLEEPS (word % 2 == SOMEBODY_ASLEEP)
#endif

/* At rest, the bit stands for every sleeper. */
#define COUNTS_ARE(sleepers) (sleepers == 0 || word % 2 == SOMEBODY_ASLEEP)

inline tell(thread)
{
    if
    :: word != 0 ->
        d_step {
            drain(thread);
            needed = (word % 2 == SOMEBODY_ASLEEP);
            word = 0;
            printf("thread %d tickles\n", thread)
        }
        if
        :: needed -> wake(thread, true)
        :: else
        fi
    :: else
    fi
}

inline rise(thread)
{
    skip
}

inline park(thread, bee)
{
    skip
}

inline start_searching()
{
    skip
}

/* Somebody else may be the sleepy one now. Nobody relied on this bee more than on others: who posts wakes everybody. */
inline stop_searching()
{
#ifndef SLEEPY_FOR_EVER
    d_step {
        if
        :: IS_SLEEPY(me) -> drain(me); word = word - SLEEPY(me); printf("bee %d is sleepy no more\n", me)
        :: else
        fi
    }
#endif
    skip
}

inline announce()
{
    d_step {
        won = NOBODY_IS_SLEEPY || IS_SLEEPY(me);
        if
        :: NOBODY_IS_SLEEPY -> drain(me); word = word + SLEEPY(me); printf("bee %d is sleepy\n", me)
        :: else
        fi
    }
    if
    :: won
    :: else -> goto search
    fi
}

inline turn_sleepy_into_asleep()
{
    d_step {
        needed = ! IS_SLEEPY(me);
        if
        :: needed
        :: else -> drain(me); word = SOMEBODY_ASLEEP; printf("word: somebody sleeps\n")
        fi
    }
}

#ifdef WORD_BEFORE_STATE
inline count_asleep()
{
    turn_sleepy_into_asleep();
    if
    :: needed -> needed = false; goto again
    :: else
    fi
}

inline confirm()
{
    skip
}
#else
inline count_asleep()
{
    skip
}

inline confirm()
{
    turn_sleepy_into_asleep()
}
#endif

#include "bee.pml"
#include "scene.pml"
