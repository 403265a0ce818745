/* hrescharge.h - which layers of its resources a job is charged on the nodes it gets */
#pragma once

#include <stdint.h>

struct job_lics;
struct sched;
struct sched_alloc;

/* How much of a licence or layer is left for the job. */
typedef uint64_t hres_left_fn(const void *ctx, const struct sched *s, uint32_t lic);

/* What a job that wants so much holds on these nodes: licences, and the layers of resources.
 * which: of alternatives without layers the one, see lics_fit().  1 with *ret, which the caller
 * releases with lics_free(); 0: a layer has too little left; -ENOMEM. */
int hres_charge(const struct sched *s, const struct job_lics *want, uint32_t which,
                const struct sched_alloc *a, hres_left_fn *left, const void *ctx,
                struct job_lics *ret);
/* The same without any resource with layers, for plans that do not count these.  0, -ENOMEM. */
int hres_leave_out(const struct sched *s, const struct job_lics *want, uint32_t which,
                   struct job_lics *ret);
