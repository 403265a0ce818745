/* op_config.h - the configuration that holds, as scontrol show config and HTTP tell it */
#pragma once

#include "api.pb-c.h"

struct ctld;

/* Have take() look at the configuration; what it is given goes when it returns.  On the core. */
void op_config_told(struct ctld *ctld, void (*take)(void *ctx, const Pst__ConfigReply *r),
                    void *ctx);
