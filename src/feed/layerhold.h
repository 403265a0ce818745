/* layerhold.h - the layers that a running job is charged when what it holds is changed
 *
 * The scheduler chooses layers at a start.  Later an operator may give a job other licences, and a
 * job may give nodes back; then the layers follow from the rules and the nodes it has.  Pure. */
#pragma once

#include "conf/layers/resources.h"
#include "model/cluster.h"

/* What the job holds by `request`, as asked for or (all: every item of it) as held before, on the
 * nodes of alloc: the texts of licenses_alloc and layers_alloc, each NULL for nothing; the caller
 * frees both.  Of resources of mode 1 a layer in `before`, the layers held so far (may be NULL),
 * stays when it can. */
void layers_held(const struct cluster *c, const struct resources *res, const char *request,
                 bool all, const Pst__Alloc *alloc, const char *before, char **ret_alloc,
                 char **ret_layers);
