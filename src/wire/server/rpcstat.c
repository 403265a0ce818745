/* rpcstat.c - see rpcstat.h */
#include "wire/server/rpcstat.h"

void rpc_count(struct rpc_stat rpcs[OP_MAX_], unsigned op, int64_t elapsed_us)
{
    atomic_fetch_add_explicit(&rpcs[op].count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&rpcs[op].total_us, (uint64_t)elapsed_us, memory_order_relaxed);
}

size_t rpc_fill(struct rpc_stat rpcs[OP_MAX_], Pst__RpcStat *stats, Pst__RpcStat **list, bool reset)
{
    size_t n = 0;

    for (unsigned op = 0; op < OP_MAX_; op++) {
        uint64_t count = atomic_load_explicit(&rpcs[op].count, memory_order_relaxed);

        if (!count)
            continue;
        pst__rpc_stat__init(&stats[n]);
        stats[n].name = (char *)(uintptr_t)wire_op_info(op)->name; /* not changed by packing */
        stats[n].has_count = stats[n].has_total_us = true;
        stats[n].count = count;
        stats[n].total_us = atomic_load_explicit(&rpcs[op].total_us, memory_order_relaxed);
        list[n] = &stats[n];
        n++;
        if (reset) {
            atomic_store(&rpcs[op].count, 0);
            atomic_store(&rpcs[op].total_us, 0);
        }
    }
    return n;
}
