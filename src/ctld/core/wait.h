/* wait.h - requests that are answered later: allocations being waited for, job ends
 *
 * A waiter gets JobStatus frames: pending at once, the grant when the job starts, the end as the
 * last frame. */
#pragma once

#include "ctld/ctld.h"

struct waiter {
    uint64_t ticket;
    struct waiter *next; /* that waits on the same job, and came before */
    struct cmd reply;    /* conn (held), op and id to answer with */
    uint32_t job_id;
    bool until_started;     /* the grant matters; else only the end */
    bool granted;           /* grant frame sent */
    Pst__JobRecord *record; /* test_only: tell it too; owned */
    bool test_only;         /* the scheduler's answer is awaited (ticket) */
    int64_t give_up_us;     /* --immediate; 0 = none */
    Pst__StepSpec *step;    /* create with the grant; owned */
    char *message;          /* for the user, with the next frame; owned */
};

/* Enter a waiter for cmd's connection; gives its ticket.  step is copied. */
uint64_t wait_add(struct ctld *ctld, const struct cmd *cmd, struct job *j, bool until_started,
                  uint32_t immediate_s, const Pst__StepSpec *step);
/* record (may be NULL) is taken, to be told with the answer. */
uint64_t wait_add_test(struct ctld *ctld, const struct cmd *cmd, Pst__JobRecord *record);
/* May cmd's user put one more question to the scheduler?  False: told to come back.  True:
 * wait_add_test() follows. */
bool wait_may_ask(struct ctld *ctld, const struct cmd *cmd);
/* by the scheduler, whether or not anybody still waits */
void wait_answered(struct ctld *ctld, uint64_t ticket);
/* Lines for the user, which go with the waiter's next frame; "" = none. */
void wait_message(struct ctld *ctld, uint64_t ticket, const char *lines);
struct waiter *wait_find(struct ctld *ctld, uint64_t ticket);
void wait_remove(struct ctld *ctld, struct waiter *w);

/* Tell those who wait on j what it is now; after lsn. */
void wait_notify(struct ctld *ctld, struct job *j, uint64_t lsn);
void wait_conn_closed(struct ctld *ctld, uint64_t conn);
void wait_tick(struct ctld *ctld, int64_t now_us);
void wait_clear(struct ctld *ctld);
