/* confpage.h - the configuration that slurmd goes by, as JSON for HTTP */
#pragma once

#include <stdint.h>

struct conf;

/* The members of GET /slurm/v0.0.45/conf: what scontrol show config would say here.  The number of
 * the next job is the controller's, and 0.  since_us: when it was read.  The caller frees it; NULL:
 * no memory. */
char *confpage_make(const struct conf *conf, int64_t since_us);
