/* restresources.h - what a job holds on each node: GET resources/{} */
#pragma once

#include "base/strbuf.h"
#include "rest/restcall.h"

extern const struct rest_row rest_resource_rows[];

/* The cores of a list of CPUs ("0-3,8", `threads` to a core), as a mask of the node's cores, the
 * first core the lowest bit: "0x0F" of eight. */
void restresources_cores(struct strbuf *sb, const char *cpus, unsigned threads, unsigned cores);
