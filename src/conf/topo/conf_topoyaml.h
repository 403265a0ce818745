/* conf_topoyaml.h - topology.yaml; private to src/conf */
#pragma once

#include "conf/topo/conf_topo_priv.h"

/* Read a text.  Mistakes are noted.  -ENOMEM. */
int conf_topoyaml_read(struct topo_loader *tl, const struct conf_source *src);
