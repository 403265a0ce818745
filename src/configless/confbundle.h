/* confbundle.h - a configuration as one message: made, named, checked
 *
 * Pure functions.  A bundle is freed with pst__conf_bundle__free_unpacked(b, NULL). */
#pragma once

#include <stdint.h>

#include "api.pb-c.h"
#include "base/digest.h"
#include "base/err.h"
#include "conf/conf.h"
#include "conf/conf_shared.h"

/* The bundle of the files: all of them for nodes, else those that commands read.  -ENOMEM. */
int confbundle_make(const struct conf_shared *files, bool node, int64_t since_us,
                    Pst__ConfBundle **ret);

/* What names the bundle's contents: names, kinds and bytes in their order.  -ENOMEM. */
int confbundle_digest(const Pst__ConfBundle *b, struct digest *ret);

/* May the bundle, which came from outside, be written below a folder?  Counts and sizes are within
 * CONF_SHARED_*, names are sound, different, and none is another's folder, slurm.conf is first, and
 * the digest is that of the contents.  Errors: -EINVAL with a sentence, -ENOMEM. */
int confbundle_check(const Pst__ConfBundle *b, struct err *err);

/* The configuration that the bundle describes, as conf_load() gives it; no file is opened. */
int confbundle_load(const Pst__ConfBundle *b, enum conf_scope scope, struct conf **ret_conf,
                    struct err *err);
