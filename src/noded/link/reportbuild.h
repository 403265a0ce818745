/* reportbuild.h - reports to the controller: events that gather, and the message made of them
 *
 * Used by nodereport.c alone, in the main thread. */
#pragma once

#include "noded/noded.h"

enum report_event_kind {
    EV_LAUNCHED,
    EV_ENDED,
    EV_ABSENT, /* the controller asked for a step that is not here */
    EV_CLEAN,
    EV_PROLOG_DONE,
    EV_PROLOG_FAILED,
    EV_SCRIPT_TOLD,
    EV_MEMORY /* it is measured when the report is made */
};

struct report_event {
    enum report_event_kind kind;
    uint32_t job_id, step_id;
    uint64_t run_id;
};

struct report_events {
    struct report_event *items;
    size_t n, cap;
};

/* Without memory the event is logged as lost: the next registration tells the whole state. */
void report_events_add(struct report_events *l, struct report_event e);

struct report_build {
    Pst__NodeReport msg;
    Pst__RunningStep *refs; /* storage of launched, clean, prolog_done, script_told */
    size_t n_refs;
    Pst__RunningStep **launched, **clean, **prolog, **told;
    Pst__StepEnd **ended;
    Pst__StepEnd *absent; /* storage of ends that no step here has */
    size_t n_absent;
    Pst__JobMemory *memory, **memories; /* storage of job_memory */
};

/* Room for n events.  False: no memory.  Call report_build_done() in both cases. */
bool report_build_init(struct report_build *b, size_t n);
/* Ends of steps are borrowed from the table of jobs: the message is packed before it changes. */
void report_build_add(struct noded *d, struct report_build *b, const struct report_event *e);
void report_build_done(struct report_build *b);
