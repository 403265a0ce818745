/* mkcontroller.h - the objects of a Controller: configuration, services, slurmctld
 *
 * Pure. */
#pragma once

#include "kube/make/mkbase.h"

/* An array of objects, in the order in which they are made.  Errors: -ENOMEM. */
int mkcontroller_objects(const struct mkbase_facts *f, json_t **ret);
