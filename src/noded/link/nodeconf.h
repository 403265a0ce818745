/* nodeconf.h - a node without files: its configuration comes from the controller
 *
 * The configuration is fetched at the start, or taken from the cache while no controller can be
 * reached; later ones are sent by the controller on the node's connection.  Main thread.
 * docs/design/0018-configless.md. */
#pragma once

#include "noded/noded.h"

struct nodeconf; /* NULL in struct noded: the node has files of its own */

/* Is the configuration to be fetched?  Then fetch it, and set d->nodeconf and d->conf_file.  Waits
 * for a controller without end when there is no cache.  Errors, each with a sentence: what does not
 * get better by waiting. */
int nodeconf_begin(struct noded *d, struct err *err);
struct nodeconf *nodeconf_free(struct nodeconf *nc); /* always NULL */
/* Give up launches that wait for a configuration. */
void nodeconf_close(struct noded *d);

/* Who was asked for the configuration, and may lead by now.  NULL: the node has its own files. */
struct confservers;
const struct confservers *nodeconf_servers(const struct noded *d);

/* Let a configuration that was loaded from the cache use the key of this host.  -ENOMEM. */
int nodeconf_set_key(const struct noded *d, struct conf *conf);

/* The controller sends the configuration in force: run with it, or stay with the one before.  The
 * caller tells the reporter which. */
int nodeconf_take(struct noded *d, const Pst__ConfBundle *b, struct err *err);
/* Remove configurations that nothing runs with any more. */
void nodeconf_clean(struct noded *d);

/* May the step of this credential start now?  False: it needs a later configuration, which is on
 * its way; launch, cred and srun_fd are taken, and d->on->launch_step() gets them then. */
bool nodeconf_ready(struct noded *d, Pst__LaunchStep *launch, Pst__StepCredential *cred,
                    int srun_fd, uint32_t request_id);

/* For the registration: what the node runs with, and why it could not take the last one (NULL: it
 * could).  False: the node has files of its own. */
bool nodeconf_digest(const struct noded *d, ProtobufCBinaryData *ret_digest,
                     const char **ret_problem);
