/*
 * Single bees are notified (after Mercury's engines). The steps of `sleep/notify.rs`.
 *
 * Beside its state each bee has a word. Who posts a job for anybody tells one bee that is STEALING or SLEEPING, that is, open to be told something, by a
 * swap of that word, and wakes it if it sleeps. A bee becomes ASLEEP first, and then changes its word from STEALING to SLEEPING, unless it has been told
 * something. What it was told stays until it has looked there, or has found something else, and passes it on.
 */
/* Of a job for anybody: one bee, or everybody. */
#define NOTIFY_EVERYBODY false
#include "common.pml"

/* NOTIFIED_OF_WORK: of work anywhere. Who is told looks into the other's queue first, where it may be, and into the injector. */
mtype = { WORKING, IDLE, STEALING, SLEEPING, NOTIFIED_OF_MAIL, NOTIFIED_OF_WORK };
mtype word[BEES] = WORKING;

/* Bees whose word is STEALING or SLEEPING. Never too few: counted before the word changes, and counted off after it has. */
byte open;

#define IS_OPEN(word) (word == STEALING || word == SLEEPING)

#define OPEN_WORDS (IS_OPEN(word[0]) + IS_OPEN(word[1]))
#define COUNTS_MATCH(sleepers) (open == OPEN_WORDS && (state[0] != ASLEEP || word[0] == SLEEPING) && (state[1] != ASLEEP || word[1] == SLEEPING))

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
    d_step { is_told = (word[me] == NOTIFIED_OF_WORK); was = (word[me] == NOTIFIED_OF_MAIL || is_told -> word[me] : IDLE) }
#endif
}

/* `was`: what it had been told, or IDLE. What it has been told since stays. */
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

/* Whatever the word was, it is WORKING now. */
inline close_word()
{
    d_step { was = word[me]; write_word(me, me, WORKING) }
    if
    /* Step: replace_state: count off */
    :: IS_OPEN(was) -> count_off(me)
    :: else
    fi
}

/* It may have been told of something, and have found something else: so it looks whether anything is left. */
inline find()
{
    /* Step: end_search: close */
    close_word();
    /* Step: end_search: anybody open */
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

/* If it was told, it still has to hear of it. */
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

/* Who parks a sleeper may come to it late, when that is up again. */
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
