/* watchfields.c - the fields that watchers are told about; see watchfields.h */
#include "wire/watchfields.h"

#include "base/cleanup.h"
#include "fieldlists.h"
#include "fields.h"

static const uint32_t job_fields[] = { JOB_WATCHED_FIELDS };
static const uint32_t job_identity[] = { JOB_IDENTITY_FIELDS };
static const uint32_t node_fields[] = { NODE_WATCHED_FIELDS };
static const uint32_t node_identity[] = { NODE_IDENTITY_FIELDS };
static const uint32_t part_fields[] = { PART_WATCHED_FIELDS };
static const uint32_t part_identity[] = { PART_IDENTITY_FIELDS };

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
