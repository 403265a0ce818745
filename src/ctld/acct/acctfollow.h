/* acctfollow.h - accounting entities of a controller whose store slurmdbd keeps
 *
 * A thread holds a connection to slurmdbd, on which every change comes; what it brings goes into
 * the log. While slurmdbd is away the controller works with what it has, and is given what it
 * missed afterwards. */
#pragma once

#include "base/err.h"

struct acctfollow;
struct ctld;

/* Uses ctld's conf and cluster in this call only.  Errors: -ENOMEM, -EAGAIN no thread. */
int acctfollow_start(struct ctld *ctld, struct acctfollow **ret, struct err *err);
/* Have slurmdbd told that this cluster leaves the federation: whoever is in the state DRAIN+REMOVE
 * there.  Until the request is sent acctfollow_stay() takes it back.  Any thread. */
void acctfollow_leave(struct acctfollow *f, const char *federation);
void acctfollow_stay(struct acctfollow *f);
struct acctfollow *acctfollow_stop(struct acctfollow *f); /* always NULL */
