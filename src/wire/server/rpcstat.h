/* rpcstat.h - how often each operation was asked for, and how long it took; any thread */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "wire/ops.h"

struct rpc_stat {
    _Atomic uint64_t count, total_us;
};

void rpc_count(struct rpc_stat rpcs[OP_MAX_], unsigned op, int64_t elapsed_us);
/* Those that were asked for, as records in stats and pointers to them in list (OP_MAX_ each);
 * reset: and from now on 0.  Gives their number. */
size_t rpc_fill(struct rpc_stat rpcs[OP_MAX_], Pst__RpcStat *stats, Pst__RpcStat **list,
                bool reset);
