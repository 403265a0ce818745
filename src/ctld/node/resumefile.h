/* resumefile.h - what ResumeProgram is told of the jobs that its nodes are powered up for
 *
 * JSON: {"all_nodes_resume":"cloud[1-3]","jobs":[{"job_id":7,"nodes_alloc":"cloud[1-2]",
 * "nodes_resume":"cloud[1-2]","extra":null,"features":"a100","oversubscribe":"NO","exclusive":"NO",
 * "partition":"cloud","reservation":null}]}.  nodes_resume is the part of a job's nodes that this
 * program powers up. */
#pragma once

#include "base/bitmap.h"
#include "model/cluster.h"

/* all: the nodes, as the program's argument names them; set: their ids.  Caller frees *ret.
 * O(active jobs).  Errors: -ENOMEM. */
int resumefile_text(const struct cluster *c, const char *all, const struct bitmap *set, char **ret);
