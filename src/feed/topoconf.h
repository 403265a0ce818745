/* topoconf.h - the topologies of files, with what single nodes say of themselves */
#pragma once

#include "base/err.h"
#include "conf/conf.h"
#include "feed/toposet.h"
#include "model/cluster.h"

/* With the nodes of a configuration, whose ids are their places in it, and the Topology= of their
 * lines.  The caller owns *ret.  Errors: -EINVAL a node's or a partition's topology or unit is not
 * there; err has file, line and what is wrong. */
int topoconf_of_conf(const struct conf_topos *files, const struct conf *conf, struct toposet **ret,
                     struct err *err);
/* With the nodes of a cluster and the `topology` of their records; a node whose word fits nowhere
 * is in no unit.  The caller owns the object. */
struct toposet *topoconf_of_cluster(const struct conf_topos *files, const struct conf *conf,
                                    const struct cluster *c);
