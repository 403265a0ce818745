/* x11forward.h - srun and salloc --x11: windows of a job's programs on the user's display
 *
 * A thread serves the connections until they end or x11forward_stop().  The cookie of the display
 * stays here: nodes get another one, and a program that does not show that one reaches nothing. */
#pragma once

#include <stdint.h>

#include "cli/job/jobopts.h"

struct cli;
struct x11forward;

/* Find the display, its cookie and that it answers, before the job is submitted.  Exits with the
 * sentence printed when that fails.  NULL: the options do not ask for it. */
struct x11forward *x11forward_new(struct cli *cli, const struct jobopts *jo);
/* Serve the job, which has been allocated: returns when its nodes have a display.  Nodes that can
 * not have one are told of, and the job goes on without. */
void x11forward_job(struct x11forward *x, uint32_t job_id);
/* No job is added any more. */
void x11forward_serve(struct x11forward *x);
struct x11forward *x11forward_stop(struct x11forward *x); /* NULL is fine; always NULL */
