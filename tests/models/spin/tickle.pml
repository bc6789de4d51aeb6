/*
 * The tickle (after Rayon's first protocol): one word says which bee is sleepy, and whether any sleeps. The steps of `sleep/tickle.rs`.
 *
 * Only one bee at a time gets sleepy. It becomes ASLEEP first, and then changes the word from "I am sleepy" to "somebody sleeps". Who posts and finds the
 * word other than 0 makes it 0, and wakes every sleeper if there was one.
 */
/* Of a job for anybody: one bee, or everybody. */
#define NOTIFY_EVERYBODY true
#include "common.pml"

byte word; /* bit 0: SOMEBODY_ASLEEP; above it: id + 1 of the sleepy bee */
#define SOMEBODY_ASLEEP 1
#define SLEEPY(bee) (2 * (bee + 1))
#define NOBODY_IS_SLEEPY (word / 2 == 0)
#define IS_SLEEPY(bee) (word - word % 2 == SLEEPY(bee))

/* The bit is 0 already while a poster has not yet come to the last of those that it wakes. */
#ifdef QUEEN_TRUSTS_THE_BIT
#define ANY_SLEEPER (word % 2 == SOMEBODY_ASLEEP)
#endif

/* At rest, the bit stands for every sleeper. */
#define COUNTS_MATCH(sleepers) (sleepers == 0 || word % 2 == SOMEBODY_ASLEEP)

inline post(thread)
{
    /* Step: announce_jobs: look */
    if
    :: word != 0 ->
        /* Step: announce_jobs: tickle */
        d_step {
            drain(thread);
            needed = (word % 2 == SOMEBODY_ASLEEP);
            word = 0;
            printf("thread %d tickles\n", thread)
        }
    :: else
    fi
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
    skip
}

/* A bee that was sleepy is so no longer: others may have their turn. */
inline clear_sleepy(thread, bee)
{
#ifndef SLEEPY_NEVER_ENDS
    /* Step: clear_sleepy: not sleepy */
    d_step {
        if
        :: IS_SLEEPY(bee) -> drain(thread); word = word - SLEEPY(bee); printf("bee %d is sleepy no more\n", bee)
        :: else
        fi
    }
#endif
    skip
}

inline park(thread, bee)
{
    /* Step: count_parked: clear sleepy */
    clear_sleepy(thread, bee)
}

inline unpark()
{
    skip
}

inline search()
{
    skip
}

/* Nobody relied on this bee more than on others: who posts wakes everybody. */
inline find()
{
    /* Step: end_search: clear sleepy */
    clear_sleepy(me, me)
}

inline announce()
{
    /* Step: announce_sleepy: sleepy */
    d_step {
        swapped = NOBODY_IS_SLEEPY || IS_SLEEPY(me);
        if
        :: NOBODY_IS_SLEEPY -> drain(me); word = word + SLEEPY(me); printf("bee %d is sleepy\n", me)
        :: else
        fi
    }
}

inline turn_sleepy_into_asleep()
{
    d_step {
        swapped = IS_SLEEPY(me);
        if
        :: swapped -> drain(me); word = SOMEBODY_ASLEEP; printf("word: somebody sleeps\n")
        :: else
        fi
    }
}

#ifdef WORD_BEFORE_STATE
inline fall_asleep()
{
    turn_sleepy_into_asleep()
}

inline confirm()
{
    swapped = true
}
#else
inline fall_asleep()
{
    swapped = true
}

inline confirm()
{
    /* Step: confirm_asleep: asleep */
    turn_sleepy_into_asleep()
}
#endif

#include "bee.pml"
#include "scenario.pml"
