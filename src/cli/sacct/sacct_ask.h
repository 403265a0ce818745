/* sacct_ask.h - the request for jobs that the options of sacct amount to */
#pragma once

#include "cli/sacct/sacct.h"

/* Fill s->request from the options and from what the connection s->client knows of ids and QOS;
 * what cannot be asked ends the process, with Slurm's sentence. */
void sacct_make_request(struct sacct *s);
/* Of it the window of time, and with it s->start_us and s->end_us: from midnight of the day of now
 * (local time) to now; with --jobs from the beginning; with --state what is so at one moment. */
void sacct_make_window(struct sacct *s, int64_t now_us);
