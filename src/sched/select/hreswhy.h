/* hreswhy.h - does a job wait because a layer of its resources has too little left? */
#pragma once

#include <stdbool.h>

#include "sched/sched.h"

struct pick;

/* Would a job of the class fit now, were it not for the layers?  p: the question whose answer was
 * no. */
bool hres_lacks(const struct pick *p);
/* What such a job is told: SCHED_WHY_RESERVED where layers keep nodes from it (modes 1 and 2),
 * SCHED_WHY_RESOURCES where they are counted with its nodes; SCHED_WHY_NONE: it lacks none. */
enum sched_why hres_why(const struct pick *p);
