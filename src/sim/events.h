/* events.h - the simulator's event queue: a binary heap
 *
 * Order: time, then kind, then the order of pushing; so a run is the same every time.  Pure data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_event_kind { /* at one instant: resources come free before the queue grows, then passes */
                      SIM_EV_END,
                      SIM_EV_SUBMIT,
                      SIM_EV_SLICE, /* the next turns of those who share CPUs */
                      SIM_EV_WAKE,  /* the scheduler asked to be called */
                      SIM_EV_BACKFILL,
};

struct sim_event {
    int64_t at_us;
    uint64_t seq; /* of pushing */
    enum sim_event_kind kind;
    uint32_t job; /* index; of its kinds */
    uint32_t run; /* which start of the job it belongs to */
};

struct events {
    struct sim_event *heap;
    size_t n, cap;
    uint64_t seq;
};

void events_done(struct events *e);
int events_push(struct events *e, int64_t at_us, enum sim_event_kind kind, uint32_t job,
                uint32_t run);                               /* -ENOMEM */
const struct sim_event *events_peek(const struct events *e); /* NULL when empty */
bool events_pop(struct events *e, struct sim_event *ret);
