/* clouddoc.h - what clouds say about where instances are, from the documents of their interfaces
 *
 * | provider | document |
 * | aws      | DescribeInstanceTopology (`aws ec2 describe-instance-topology`) |
 * | gcp      | instances.list (`gcloud compute instances list --format=json`) |
 * | oci      | ListComputeHosts, or an array of what GetComputeHost gives |
 * | nebius   | Instance.List (`nebius compute instance list --format json`) |
 * | nscale   | topology, and a second document with ids and names of instances |
 * | lambdai  | topology/instance |
 * | oci-imds | lines `NODE: JSON` (pdsh), or one object NODE -> JSON |
 *
 * A document is an array, or an object that holds one, of instances.  Pages of one list may be
 * given one after the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "topograph/graph.h"

/* Errors: -EINVAL (err says which instance, counted from 0, and what is wrong), -E2BIG, -ENOMEM. */
int clouddoc_read(const char *provider, const char *text, size_t len,
                  const struct graph_wanted *wanted, struct graph *g, struct err *err);
