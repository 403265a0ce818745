/* kubelease.h - which of several processes acts: a Lease object that one holds
 *
 * The holder renews the lease; it steps down by itself before others may take the lease over, also
 * when the server is away.  Others measure by their own clock how long the lease has not changed:
 * clocks need not agree.  One thread: the loop's. */
#pragma once

#include "kube/api/kubeapi.h"

struct kubelease;

struct kubelease_options {
    const char *namespace_, *name;
    const char *identity; /* of this process; no other has the same */
    int duration_s;       /* 0: 15 */
    void (*changed)(void *ctx, bool held);
    void *ctx;
};

/* The texts of o are borrowed.  -ENOMEM. */
int kubelease_new(struct kubeserver *s, const struct kubelease_options *o, struct kubelease **ret);
/* After kubeserver_free(), which drops the request under way.  Always NULL.  The lease is not given
 * back: another process takes it when it has run out. */
struct kubelease *kubelease_free(struct kubelease *l);
bool kubelease_is_held(const struct kubelease *l);

/* The end of a holder.  It renews no more: then all that it has begun is answered.  It gives the
 * lease back, so that another need not wait until it has run out: it is held until the server has
 * said so, and `changed` is not called. */
void kubelease_end(struct kubelease *l);
void kubelease_give_back(struct kubelease *l);
