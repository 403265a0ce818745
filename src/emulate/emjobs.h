/* emjobs.h - the jobs of an emulated node: what runs, when it ends, what is still to be said of it
 *
 * An event is said in a report, and over when the report was answered.  One report is under way at
 * a time; when the connection is lost, the next registration tells everything anew.  Pure: the
 * caller brings the time (monotonic, microseconds) and sends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "emulate/emscript.h"

#define EMJOBS_NEVER INT64_MAX

struct emjob;

struct emabsent { /* a step that the controller asked for, and that is not here */
    uint64_t run_id;
    uint32_t job_id, step_id;
};

struct emjobs { /* all zero: none */
    struct emjob *first;
    struct emabsent *absent;
    size_t n_absent, n_absent_flying;
};

void emjobs_clear(struct emjobs *jobs); /* nothing is said of them any more */
/* Start a batch script; one that is here already is left alone.  single: the job has no other node.
 * -ENOMEM. */
int emjobs_launch(struct emjobs *jobs, const Pst__LaunchBatch *m, int64_t now_us);
/* The job has no script here; its prolog is done at once.  -ENOMEM. */
int emjobs_prepare(struct emjobs *jobs, const Pst__PrepareJob *m);
/* -ENOENT: no such job; -ENOMEM. */
int emjobs_signal(struct emjobs *jobs, const Pst__SignalSteps *m, int64_t now_us);
/* -ENOMEM. */
int emjobs_terminate(struct emjobs *jobs, const Pst__TerminateJob *m);
/* End what is due.  Gives when the next script ends, or EMJOBS_NEVER. */
int64_t emjobs_turn(struct emjobs *jobs, int64_t now_us);

/* What a report or a registration is made of; borrowed by the messages. */
struct emreport {
    Pst__RunningStep *refs;
    Pst__StepEnd *ends;
    void **pointers;
    size_t n_refs, n_ends, n_pointers;
};
void emreport_done(struct emreport *r);
/* Put everything that is to be said into a report that is under way from now on.  1: there is
 * something; 0: nothing; -ENOMEM.  now_us: of the calendar. */
int emjobs_report(struct emjobs *jobs, int64_t now_us, struct emreport *r, Pst__NodeReport *msg);
/* The whole state, under way from now on.  -ENOMEM. */
int emjobs_register(struct emjobs *jobs, int64_t now_us, struct emreport *r,
                    Pst__NodeRegister *msg);
void emjobs_acked(struct emjobs *jobs); /* what is under way was answered */
void emjobs_lost(struct emjobs *jobs);  /* it was not, or was refused: say it again */
