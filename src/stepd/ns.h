/* ns.h - the private folders of a job: a mount namespace, and a folder on the node behind it
 *
 * The extern step's daemon makes the namespace and lives in it; what else belongs to the job enters
 * by a descriptor of it.  Nothing is mounted on the node itself, so that all ends with the last
 * process and the last descriptor.  What stays is BASE/JOBID, which the daemon removes at its end,
 * and slurmd after one that was killed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stepfile.pb-c.h"

#define NS_PATH_MAX 4096

struct step;

/* "BASE/JOBID", cut at size. */
void ns_job_dir(const char *base, uint32_t job_id, char *buf, size_t size);

/* Make it, and enter it for good; s->ns_fd and s->host_ns_fd are set.  False: step_fail() was
 * called. */
bool ns_make(struct step *s);
/* Enter the namespace of fd and keep the current directory.  Negative errno. */
int ns_enter(int fd);
/* The same for a step; errors are step_fail()'s. */
void ns_join(struct step *s, int fd);
/* Run what the site wants at the end, and remove the job's folder. */
void ns_remove(struct step *s);
