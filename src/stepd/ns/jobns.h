/* jobns.h - the private folders of a job: a mount namespace, and a folder on the node behind it
 *
 * The extern step's daemon makes the namespace and lives in it; the job's other processes enter it
 * by a descriptor.  Nothing is mounted on the node itself, so that the mounts end with the last
 * process and the last descriptor.  The folder BASE/JOBID stays: the daemon removes it at its end,
 * and slurmd removes it when the daemon was killed.
 *
 * Process and user namespaces (namespace.yaml, clone_ns_flags) hold tasks and sessions, no daemon:
 * a child of the extern step's daemon is their first process, and a pidfd of it the way in.  They
 * do not outlive the daemon.  They need cgroups, since orphans go to the first process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stepfile.pb-c.h"

#define NS_PATH_MAX 4096

struct step;

/* Make the namespace, and enter it for good; s->ns_fd and s->host_ns_fd are set.  False:
 * step_fail() was called. */
bool ns_make(struct step *s);
/* Enter the namespace of fd and keep the current directory.  Negative errno. */
int ns_enter(int fd);
/* ns_enter() for a step; an error is reported by step_fail(). */
void ns_join(struct step *s, int fd);
/* Run the site's program for the end, end the namespaces' first process, and remove the job's
 * folder. */
void ns_remove(struct step *s);
/* nsfirst.c: process and user namespaces: s->ns_flags */
/* Is this the title of a first process?  Then main() is nsfirst_main(). */
bool nsfirst_is(const char *title);
int nsfirst_main(void);
/* The extern step's: s->ns_pid, s->ns_pid_fd, s->ns_pipe are set.  False: step_fail() was
 * called. */
bool nsfirst_make(struct step *s);
void nsfirst_end(struct step *s);
/* In another step: every process that the daemon starts from now on is born in the process
 * namespace.  pid_fd is kept.  An error is reported by step_fail(). */
void nsfirst_join(struct step *s, int pid_fd);
/* What a child does itself: /proc and the user namespace.  Only system calls.  Negative errno. */
int nsfirst_enter(const struct step *s);

/* nsprogram.c */
/* "BASE/JOBID", cut at size. */
void ns_job_dir(const char *base, uint32_t job_id, char *buf, size_t size);
/* Run a program of the site on the node; NULL: none.  var: one more "NAME=value", or NULL.  False:
 * it failed, or ran for longer than wait_s (0: no limit), and step_fail() was called. */
bool ns_program(struct step *s, const char *path, uint32_t wait_s, char *var);
/* The same without a word about a failure: the wait status or a negative errno. */
int ns_run(const struct step *s, char *const argv[], char *const envp[], uint32_t wait_s);
