/*
 * Single bees are notified, after Mercury's engines. The steps are those of `sleep/notify.rs`.
 *
 * Each bee has a word beside its state. The bee can be told of work while its word is STEALING or SLEEPING: the bee is
 * open then. A thread that posts a job for any bee tells one open bee by a swap of its word, and wakes the bee if it
 * sleeps. A bee becomes ASLEEP first, and then changes its word from STEALING to SLEEPING, unless it has been told
 * something. What a bee was told stays in its word until the bee has looked there, or has found something else and
 * passes on what it was told.
 */
/* Whether all bees are told of a job that any bee may run, and not only one of them. */
#define NOTIFY_ALL false
#include "common.pml"

/*
 * NOTIFIED_OF_WORK stands for work in any place. A bee that is told of it looks into the queue of the other bee first,
 * and then into the injector.
 */
mtype = { WORKING, IDLE, STEALING, SLEEPING, NOTIFIED_OF_MAIL, NOTIFIED_OF_WORK };
mtype word[BEES] = WORKING;

/*
 * How many bees have the word STEALING or SLEEPING. The count is never too low: it goes up before a word becomes one of
 * these, and down after the word has changed again.
 */
byte open;

#define IS_OPEN(word) (word == STEALING || word == SLEEPING)

#define OPEN_WORDS (IS_OPEN(word[0]) + IS_OPEN(word[1]))
#define COUNTS_MATCH(sleepers) (open == OPEN_WORDS && (state[0] != ASLEEP || word[0] == SLEEPING) \
                                && (state[1] != ASLEEP || word[1] == SLEEPING))

inline count_off(thread)
{
    /* Step: count_off_notifiable: open */
    d_step { drain(thread); assert(open > 0); open--; printf("open %d\n", open) }
}

/* For use in a step that is a read-modify-write of the word. */
inline write_word(thread, bee, to)
{
    drain(thread);
    printf("bee %d: %e -> %e, by thread %d\n", bee, word[bee], to, thread);
    word[bee] = to
}

inline search()
{
    /* Step: begin_search: idle */
    d_step { write_word(me, me, IDLE) }
}

inline take_notification()
{
    /* Step: notification: look */
#ifdef NOTIFICATION_DROPPED
    d_step {
        is_told = (word[me] == NOTIFIED_OF_WORK);
        if
        :: word[me] == NOTIFIED_OF_WORK || word[me] == NOTIFIED_OF_MAIL -> write_word(me, me, IDLE)
        :: else
        fi
    }
#else
    d_step {
        is_told = (word[me] == NOTIFIED_OF_WORK);
        was = (word[me] == NOTIFIED_OF_MAIL || is_told -> word[me] : IDLE)
    }
#endif
}

/* `was` is what the bee had been told, or IDLE. What it has been told since then stays in its word. */
#ifdef NOTIFICATION_DROPPED
#define WAS IDLE
#else
#define WAS was
#endif
inline steal()
{
    if
    /* Step: begin_steal: open */
    :: d_step { word[me] == WAS -> drain(me); open++; printf("open %d\n", open) }
        /* Step: begin_steal: stealing */
        d_step {
            swapped = (word[me] == WAS);
            if
            :: swapped -> write_word(me, me, STEALING)
            :: else
            fi
        }
        if
        :: swapped
        /* Step: begin_steal: count off */
        :: else -> count_off(me)
        fi
    :: else
    fi;
    was = 0
}

/* Makes the word WORKING, whatever it was. */
inline close_word()
{
    d_step { was = word[me]; write_word(me, me, WORKING) }
    if
    /* Step: replace_state: count off */
    :: IS_OPEN(was) -> count_off(me)
    :: else
    fi
}

/* The bee may have been told of one job and have found another, so it looks whether anything is left. */
inline find()
{
    /* Step: end_search: close */
    close_word();
    /* Step: end_search: any bee open */
    d_step { needed = (was != IDLE && open > 0); was = 0 }
}

inline unpark()
{
    /* Step: count_unparked: close */
    close_word();
    was = 0
}

inline announce()
{
    was = IDLE;
    /* Step: announce_sleepy: steal */
    steal();
    swapped = true
}

inline turn_stealing_into_sleeping()
{
    d_step {
        swapped = (word[me] == STEALING);
        if
        :: swapped -> write_word(me, me, SLEEPING)
        :: else
        fi
    }
}

#ifdef WORD_BEFORE_STATE
inline fall_asleep()
{
    turn_stealing_into_sleeping()
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
    /* Step: confirm_asleep: sleeping */
    turn_stealing_into_sleeping()
}
#endif

/* If the bee was told of something, its word stays, since the bee still has to read it. */
inline leave_sleep(thread, bee)
{
    /* Step: count_woken: stealing */
    d_step {
        if
        :: word[bee] == SLEEPING -> write_word(thread, bee, STEALING)
        :: else
        fi
    }
}

/* The word stays: a thread that parks a sleeper may come here only after the bee runs again. */
inline park(thread, bee)
{
    skip
}

inline post(thread)
{
    /* Step: announce_jobs: open */
    needed = (open > 0)
}

inline tell(thread, bee, may_be_told, reason)
{
    d_step {
        was = word[bee];
        swapped = (may_be_told);
        if
        /* Step: notify_bee: notified */
        :: swapped -> write_word(thread, bee, reason)
        :: else
        fi
    }
    if
    /* Step: notify_bee: count off */
    :: swapped && IS_OPEN(was) -> count_off(thread)
    :: else
    fi
}

inline tell_of_work(thread, bee)
{
    tell(thread, bee, IS_OPEN(was), NOTIFIED_OF_WORK);
    d_step {
        needed = (swapped && was == SLEEPING);
        if
        :: needed -> swapped = false
        :: else
        fi;
        was = 0
    }
}

inline tell_of_mail(thread, bee)
{
    tell(thread, bee, (IS_OPEN(was) || was == IDLE), NOTIFIED_OF_MAIL);
    d_step { swapped = false; was = 0 }
}

#include "bee.pml"
#include "scenario.pml"
