/* reqtres.h - what a job asks for, as text; pure */
#pragma once

#include "base/strbuf.h"

#include "job.pb-c.h"

/* "cpu=4,mem=400M,node=1,billing=4": the record's own text, else made from the request.  noconvert
 * keeps memory in M. */
void reqtres_put(struct strbuf *sb, const Pst__JobRecord *job, bool noconvert);

/* Memory on all nodes together; node_mib stands for "all of a node". */
uint64_t reqtres_mem_mib(const Pst__JobRecord *job, uint64_t node_mib);

/* How many it asks for, at least one. */
uint32_t reqtres_nodes(const Pst__JobRecord *job);
uint32_t reqtres_tasks(const Pst__JobRecord *job);
uint64_t reqtres_cpus(const Pst__JobRecord *job);
/* Devices on all nodes together; type NULL = of any type.  Of counts given in two ways one has
 * decided how many nodes or tasks there are (base/gres/gpucount.h). */
uint64_t reqtres_gres(const Pst__JobRecord *job, const char *name, const char *type);
