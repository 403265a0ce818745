/* gresbind.h - CPUs near the devices of a job */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fit;
struct geometry;
struct gres_row;
struct node;
struct pick;

/* CPUs near a device of the row, or one whose share it is; NULL: all. */
const uint64_t *gres_near(const struct node *n, const struct gres_row *row, uint32_t device);
/* Lower f->tasks to those that have CPUs near the devices.  False: none. */
bool gres_fit_bound(const struct pick *p, uint32_t id, const struct geometry *g, struct fit *f);
/* Has the node as many sockets as the request is for, each with as many free devices as are asked
 * of it? */
bool gres_fit_sockets(const struct pick *p, uint32_t id, uint32_t req);
/* Take from words the CPUs the job is not to have there, so that those near its devices are left.
 * False: these are too few. */
bool gres_bind(const struct pick *p, const struct fit *f, const struct geometry *g, uint32_t need,
               uint64_t *words);
/* Do the job's tasks begin on the last socket that is near its devices?  So they do where CPUs and
 * devices go together. */
bool gres_near_last(const struct pick *p, const struct fit *f);
