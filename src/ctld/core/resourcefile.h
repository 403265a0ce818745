/* resourcefile.h - resources.yaml as the controller follows it
 *
 * At the start a mistake in the file is fatal.  Later the controller says what is wrong and keeps
 * the resources it has: jobs hold layers of them.  Core thread. */
#pragma once

#include "conf/layers/resources.h"
#include "ctld/ctld.h"

/* resources_load(), and the topologies that resources name are those of the cluster. */
int resourcefile_load(const struct conf *conf, struct resources **ret,
                      struct resources_fault *fault, struct err *err);

/* Read the file beside the slurm.conf of conf.  -EINVAL and others with a sentence, at the start
 * alone; later a mistake is logged. */
int resourcefile_check(struct ctld *ctld, const struct conf *conf, struct err *err);
void resourcefile_follow(struct ctld *ctld); /* the configuration that was checked holds */
void resourcefile_forget(struct ctld *ctld);
