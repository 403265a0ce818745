/* wait.h - requests that are answered later: for an allocation, or for the end of a job
 *
 * A waiter gets JobStatus frames: pending at once, the grant when the job starts, the grant again
 * when its nodes are ready if they were not, the end as the last frame. */
#pragma once

#include "ctld/ctld.h"

struct waiter {
    uint64_t ticket;
    struct waiter *next; /* the waiter on the same job that came before this one */
    struct cmd reply;    /* conn (held), op and id to answer with; whose rights hold */
    uint32_t job_id;
    bool until_started;     /* answer the grant; else only the end */
    bool array;             /* job_id is an array: its end is that of its last task */
    bool told;              /* grant frame sent; the nodes were not ready then */
    bool granted;           /* grant frame sent, and the nodes are ready */
    Pst__JobRecord *record; /* test_only: sent with the answer; owned */
    bool test_only;         /* the scheduler's answer is awaited (ticket) */
    uint32_t test_id;       /* test_only: the id that is told */
    bool plan, shows;       /* test_only: answer with what keeps it; with the record */
    int64_t give_up_us;     /* --immediate; 0 = none */
    bool at_once;           /* --immediate without a time: it must start now */
    Pst__StepSpec *step;    /* create with the grant; owned */
    char *message;          /* for the user, with the next frame; owned */
};

/* Enter a waiter for cmd's connection; gives its ticket.  step is copied. */
uint64_t wait_add(struct ctld *ctld, const struct cmd *cmd, struct job *j, bool until_started,
                  uint32_t immediate_s, const Pst__StepSpec *step);
/* The same for the end of the whole array. */
void wait_add_array(struct ctld *ctld, const struct cmd *cmd, uint32_t array_job_id);
/* asking_admit() let cmd in.  record (may be NULL) is taken over and sent with the answer. */
uint64_t wait_add_test(struct ctld *ctld, const struct cmd *cmd, Pst__JobRecord *record);
/* The scheduler has answered the question of this ticket.  Its waiter may have gone already. */
void wait_answered(struct ctld *ctld, uint64_t ticket);
/* Lines for the user, which go with the waiter's next frame; "" = none. */
void wait_message(struct ctld *ctld, uint64_t ticket, const char *lines);
struct waiter *wait_find(struct ctld *ctld, uint64_t ticket);
void wait_remove(struct ctld *ctld, struct waiter *w);

/* Tell the waiters on j, and on the array that it is a task of, its state, once lsn is durable. */
void wait_notify(struct ctld *ctld, struct job *j, uint64_t lsn);
void wait_conn_closed(struct ctld *ctld, uint64_t conn);
void wait_tick(struct ctld *ctld, int64_t now_us);
void wait_clear(struct ctld *ctld);
