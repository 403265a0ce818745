/* watchfields.c - the fields that watchers are told about; see watchfields.h */
#include "wire/watchfields.h"

#include "base/cleanup.h"
#include "fields.h"

static const uint32_t job_fields[] = { JOB_F_ARRAY_TASKS,
                                       JOB_F_NAME,
                                       JOB_F_ACCOUNT,
                                       JOB_F_QOS,
                                       JOB_F_PARTITION,
                                       JOB_F_RESERVATION,
                                       JOB_F_STATE,
                                       JOB_F_STATE_FLAGS,
                                       JOB_F_REASON,
                                       JOB_F_REASON_TEXT,
                                       JOB_F_EXIT_STATUS,
                                       JOB_F_RESTART_COUNT,
                                       JOB_F_PRIORITY,
                                       JOB_F_NICE,
                                       JOB_F_BEGIN_US,
                                       JOB_F_START_US,
                                       JOB_F_END_US,
                                       JOB_F_DEADLINE_US,
                                       JOB_F_MIN_NODES,
                                       JOB_F_MAX_NODES,
                                       JOB_F_NUM_TASKS,
                                       JOB_F_CPUS_PER_TASK,
                                       JOB_F_MEM_PER_NODE_MIB,
                                       JOB_F_MEM_PER_CPU_MIB,
                                       JOB_F_FEATURES,
                                       JOB_F_REQ_NODES,
                                       JOB_F_EXC_NODES,
                                       JOB_F_TRES_PER_NODE,
                                       JOB_F_TRES_PER_JOB,
                                       JOB_F_LICENSES,
                                       JOB_F_TIME_LIMIT_MIN,
                                       JOB_F_TIME_UNLIMITED,
                                       JOB_F_TIME_MIN_MIN,
                                       JOB_F_DEPENDENCY,
                                       JOB_F_ALLOC };
static const uint32_t job_identity[] = { JOB_F_JOB_ID, JOB_F_ARRAY_JOB_ID, JOB_F_ARRAY_TASK_ID,
                                         JOB_F_UID, JOB_F_USER_NAME };
static const uint32_t node_fields[] = {
    NODE_F_ADDR,   NODE_F_CPUS,   NODE_F_REAL_MEMORY_MIB, NODE_F_FEATURES, NODE_F_ACTIVE_FEATURES,
    NODE_F_GRES,   NODE_F_WEIGHT, NODE_F_COMMENT,         NODE_F_STATE,    NODE_F_STATE_FLAGS,
    NODE_F_REASON, NODE_F_BOOT_US
};
static const uint32_t node_identity[] = { NODE_F_NODE_ID, NODE_F_NAME };
static const uint32_t part_fields[] = {
    PART_F_NODES,        PART_F_IS_DEFAULT,        PART_F_STATE,
    PART_F_MAX_TIME_MIN, PART_F_DEFAULT_TIME_MIN,  PART_F_MAX_NODES,
    PART_F_MIN_NODES,    PART_F_MAX_CPUS_PER_NODE, PART_F_OVERSUBSCRIBE,
    PART_F_EXCLUSIVE,    PART_F_PRIORITY_TIER,     PART_F_PRIORITY_JOB_FACTOR,
    PART_F_HIDDEN,       PART_F_REQ_RESV
};
static const uint32_t part_identity[] = { PART_F_NAME };

static const struct watch_fields rows[] = {
    [PST__WATCH_ENTITY__WATCH_JOB] = { &pst__job_record__descriptor, job_fields, job_identity,
                                       ARRAY_SIZE(job_fields), ARRAY_SIZE(job_identity),
                                       JOB_F_ALLOC },
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
