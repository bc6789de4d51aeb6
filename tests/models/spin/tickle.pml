/*
 * The tickle, after Rayon's first protocol: one word says which bee is sleepy, and whether any bee sleeps. The steps
 * are those of `sleep/tickle.rs`.
 *
 * Only one bee at a time is sleepy. It becomes ASLEEP first, and then changes the word from "I am sleepy" to "a bee
 * sleeps". A thread that posts and finds a word other than 0 makes it 0, and wakes all sleepers if the word said that a
 * bee sleeps.
 */
/* Whether all bees are told of a job that any bee may run, and not only one of them. */
#define NOTIFY_ALL true
#include "common.pml"

byte word; /* bit 0: HAS_SLEEPER; the bits above it: the number of the sleepy bee plus one, or 0 */
#define HAS_SLEEPER 1
#define SLEEPY(bee) (2 * (bee + 1))
#define NOBODY_IS_SLEEPY (word / 2 == 0)
#define IS_SLEEPY(bee) (word - word % 2 == SLEEPY(bee))

/* The bit is 0 already while a thread that posts has not yet woken the last of the sleepers. */
#ifdef QUEEN_TRUSTS_THE_BIT
#define ANY_SLEEPER (word % 2 == HAS_SLEEPER)
#endif

/* At rest, the bit is set if any bee sleeps. */
#define COUNTS_MATCH(sleepers) (sleepers == 0 || word % 2 == HAS_SLEEPER)

inline post(thread)
{
    /* Step: announce_jobs: look */
    if
    :: word != 0 ->
        /* Step: announce_jobs: tickle */
        d_step {
            drain(thread);
            needed = (word % 2 == HAS_SLEEPER);
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

/* Ends the time for which a bee is sleepy, if it is: then another bee may become sleepy. */
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

/* No thread relied on this bee more than on the others, because a thread that posts wakes all bees. */
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
        :: swapped -> drain(me); word = HAS_SLEEPER; printf("word: a bee sleeps\n")
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
