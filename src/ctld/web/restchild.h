/* restchild.h - the slurmrestd that slurmctld runs for callers of its own port
 *
 * SlurmctldParameters=enable_rest.  What strangers send to the REST API is parsed in a process of
 * its own, so that neither the memory nor the threads of the controller meet it.  A caller whose
 * first request is for that API goes there with its connection; slurmrestd asks the controller with
 * the caller's token, as it does when it listens at a port of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct conf;
struct restchild;

/* Errors: -ENOMEM. */
int restchild_new(struct restchild **ret);
/* Start slurmrestd, with the configuration file at `path`, or end it, as conf says.  One that runs
 * is replaced: it makes the answers that are under way, reads no slurm.conf again, and ends.  On
 * the thread of the core. */
void restchild_configure(struct restchild *rc, const struct conf *conf, const char *path);
/* Start slurmrestd again if it ended by itself.  On the thread of the core. */
void restchild_tick(struct restchild *rc);
/* Does `head`, the first n bytes of a caller, ask for the REST API, and is it served?  Then fd is
 * taken.  Any thread; does not block. */
bool restchild_take(struct restchild *rc, int fd, const char *head, size_t n);
/* Ends the process, waits for it, at most for a moment.  Always NULL. */
struct restchild *restchild_free(struct restchild *rc);

/* Is this the beginning of a request for the REST API?  Pure. */
bool restchild_wants(const char *head, size_t n);
