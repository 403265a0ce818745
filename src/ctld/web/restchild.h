/* restchild.h - the slurmrestd that slurmctld runs for callers of its own port
 *
 * SlurmctldParameters=enable_rest.  A separate process parses what strangers send to the REST API,
 * so that no such byte reaches the memory or a thread of the controller.  A connection whose first
 * request is for that API is handed to slurmrestd, which asks the controller with the caller's
 * token, as it does when it listens at a port of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct conf;
struct restchild;

/* Errors: -ENOMEM. */
int restchild_new(struct restchild **ret);
/* Start slurmrestd with the configuration file at `path`, or end it, as conf says.  A slurmrestd
 * that runs already is replaced: the old process finishes the answers that it has begun, and ends.
 * Core thread. */
void restchild_configure(struct restchild *rc, const struct conf *conf, const char *path);
/* Start slurmrestd again if it ended by itself.  Core thread. */
void restchild_tick(struct restchild *rc);
/* head: the first n bytes that a caller sent.  If they ask for the REST API and slurmrestd runs,
 * hand the connection over, which takes fd, and give true.  Any thread; does not block. */
bool restchild_take(struct restchild *rc, int fd, const char *head, size_t n);
/* End the process and wait for its end, a short time at most.  Always NULL. */
struct restchild *restchild_free(struct restchild *rc);

/* Is this the beginning of a request for the REST API?  Pure. */
bool restchild_wants(const char *head, size_t n);
