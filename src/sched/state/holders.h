/* holders.h - the jobs that hold resources, by partition and QOS; jobs that leave */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct part;
struct sched;

struct holders_iter {
    uint32_t part, row, at;
};

struct claim {
    uint32_t n;
    struct claim_wait {
        uint32_t id;
        int64_t start_us; /* of the run meant */
    } v[];
};

void claim_drop(struct sched *s, struct job *j);
bool goes_anyway(const struct job *j);           /* it leaves, or makes room for another */
void going_note(struct sched *s, struct job *j); /* j holds, and goes_anyway() */
void going_settle(struct sched *s);              /* forget the jobs that do not any more */
/* holders_add() cannot fail after it */
int holders_room(struct sched *s, uint32_t part, uint32_t qos);
/* by its part and qos, which stay until it is removed */
void holders_add(struct sched *s, struct job *j);
void holders_remove(struct sched *s, struct job *j);
struct job *holders_next(const struct sched *s, struct holders_iter *it); /* NULL at the end */
void holders_done(struct part *p);
