/* watchfields.c - the fields that watchers are told about; see watchfields.h */
#include "wire/watchfields.h"

#include "base/cleanup.h"

/* array_tasks, name, account, qos, partition, reservation | state, flags, reason, its text, exit
 * status, restarts, priority, nice | begin, start, end, deadline | sizes, memory, features, nodes,
 * GRES, licenses, time limit, dependency | what it holds */
static const uint32_t job_fields[] = { 4,  9,  10, 11, 12, 17, 30, 31,  32,  33,  34, 36,
                                       37, 38, 52, 53, 54, 57, 70, 71,  72,  73,  75, 76,
                                       85, 87, 88, 93, 94, 98, 99, 100, 101, 102, 180 };
static const uint32_t job_identity[] = { 1, 2, 3, 5, 7 };
/* addr, cpus, memory, features, GRES, weight, comment | state, flags, reason, boot */
static const uint32_t node_fields[] = { 4, 10, 11, 13, 14, 15, 16, 20, 30, 31, 32, 35 };
static const uint32_t node_identity[] = { 1, 2 };
/* nodes, default, state, limits | sharing, tier, factor, hidden, reservation */
static const uint32_t part_fields[] = { 2, 3, 4, 5, 6, 7, 8, 9, 21, 22, 23, 24, 28, 30 };
static const uint32_t part_identity[] = { 1 };

static const struct watch_fields rows[] = {
    [PST__WATCH_ENTITY__WATCH_JOB] = { &pst__job_record__descriptor, job_fields, job_identity,
                                       ARRAY_SIZE(job_fields), ARRAY_SIZE(job_identity), 180 },
    [PST__WATCH_ENTITY__WATCH_NODE] = { &pst__node_record__descriptor, node_fields, node_identity,
                                        ARRAY_SIZE(node_fields), ARRAY_SIZE(node_identity), 0 },
    [PST__WATCH_ENTITY__WATCH_PARTITION] = { &pst__partition_record__descriptor, part_fields,
                                             part_identity, ARRAY_SIZE(part_fields),
                                             ARRAY_SIZE(part_identity), 0 },
};

const struct watch_fields *watch_fields(unsigned entity)
{
    return entity < ARRAY_SIZE(rows) && rows[entity].desc ? &rows[entity] : NULL;
}
