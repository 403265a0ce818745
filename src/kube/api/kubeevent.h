/* kubeevent.h - what a program tells about an object: Events (core/v1) of Kubernetes
 *
 * An event that is told again counts up: its Event is changed, at most once a minute, and made anew
 * when the server has dropped it.  Best effort: what cannot be sent is lost, and nothing waits for
 * it.  One thread: the loop's. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "kube/api/kubecall.h"

#define KUBEEVENT_KEPT 4096u /* different events that are remembered */
#define KUBEEVENT_TEXT 1000u /* bytes of a text; what is longer is cut */

struct kubeevents;

/* program: who tells, borrowed.  -ENOMEM. */
int kubeevents_new(struct kubeserver *s, const char *program, struct kubeevents **ret);
/* After kubeserver_free(), which drops requests under way.  Always NULL. */
struct kubeevents *kubeevents_free(struct kubeevents *e);
/* reason: one word, in CamelCase.  about has kind, name and uid; of an object without a namespace
 * events are in "default". */
void kubeevents_tell(struct kubeevents *e, const json_t *about, bool warning, const char *reason,
                     const char *text);
