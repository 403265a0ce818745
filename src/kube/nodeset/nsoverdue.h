/* nsoverdue.h - workers that should have come or gone, and have not
 *
 * Nothing is done about them but to say so: what would help is not the operator's to do.  Pure. */
#pragma once

#include "kube/nodeset/nsdecide.h"

#define NSOVERDUE_TEXT 400

/* The worker of the view that has waited longest beyond v->patience_s, and for what: text; false:
 * none has.  *ret_wake_s: when the next one will have; 0: none waits. */
bool nsoverdue_find(const struct nsview *v, char text[static NSOVERDUE_TEXT], int64_t *ret_wake_s);
