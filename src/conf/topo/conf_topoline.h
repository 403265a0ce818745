/* conf_topoline.h - topology.conf; private to src/conf */
#pragma once

#include "conf/topo/conf_topo_priv.h"

/* Read the file at path into t, which has its kind.  Mistakes are noted.  -ENOMEM. */
int conf_topoline_read(struct topo_loader *tl, const char *path, struct conf_topo *t);
