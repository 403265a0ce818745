/* mkha.h - several slurmctld of a Controller that share no folder: spec.ha.etcd
 *
 * The log is in an etcd that the site has.  Each pod has a folder of its own; what all pods have is
 * the pair of keys that nodes know the controllers by, in a Secret that is made once.  Pure, but
 * for mkha_identity(), which needs random bytes. */
#pragma once

#include "kube/make/mkbase.h"

/* Is the log of the Controller in etcd? */
bool mkha_in_etcd(const json_t *controller);
/* What is wrong with spec.ha.  -EINVAL, with a sentence. */
int mkha_check(const json_t *controller, struct err *err);
/* What may not become of spec.ha.  -EPERM, with a sentence. */
int mkha_check_change(const json_t *before, const json_t *now, struct err *err);

/* The Secret of the pair of keys; buf has 300 bytes. */
const char *mkha_identity_name(const json_t *controller, char *buf);
/* That Secret, with a new pair.  NULL: no random bytes, or no memory. */
json_t *mkha_identity(const struct mkbase_facts *f);
/* NULL: what pods mount is there; else what is missing, in a sentence. */
const char *mkha_missing(const struct mkbase_facts *f);

void mkha_write_conf(const struct mkbase_facts *f, struct strbuf *out); /* lines of slurm.conf */
/* What pods mount, and where.  0 or -ENOMEM. */
int mkha_add_volumes(const struct mkbase_facts *f, json_t *volumes);
int mkha_add_mounts(const struct mkbase_facts *f, json_t *container);
/* Of several pods one at a time may be evicted. */
json_t *mkha_budget(const struct mkbase_facts *f, const char *name);
