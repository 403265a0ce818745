/* hetgroup.c - what makes a group of components one job; see hetgroup.h. */
#include "ctld/job/hetgroup.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/policy/fedset.h"

uint32_t het_ids(struct ctld *ctld, uint32_t from, uint32_t n)
{
    uint32_t first = (uint32_t)conf_num(ctld->conf, CONF_FIRST_JOB_ID);
    uint32_t max = (uint32_t)conf_num(ctld->conf, CONF_MAX_JOB_ID), run = 0;
    uint32_t bits = fedset_own_number(ctld) << FED_ID_SHIFT, id = from & FED_LOCAL_MASK;
    bool wrapped = false;

    while (run < n) {
        if (id + run > max) {
            if (wrapped)
                return 0;
            wrapped = true;
            id = first;
            run = 0;
        } else if (cluster_job(ctld->cluster, (id + run) | bits)) {
            id += run + 1;
            run = 0;
        } else {
            run++;
        }
    }
    return id | bits;
}

void het_fill(Pst__JobRecord *rec, uint32_t leader, uint32_t k, uint32_t n)
{
    char set[32];

    (void)snprintf(set, sizeof(set), "%u-%u", leader, leader + n - 1); /* fits */
    SET(rec, het_job_id, leader);
    SET(rec, het_offset, k);
    SET(rec, het_count, n);
    rec->het_id_set = tx_strdup(set);
}

bool het_all_ended(const struct ctld *ctld, const Pst__JobRecord *r)
{
    for (uint32_t k = 0; k < r->het_count; k++) {
        const struct job *j = het_component(ctld->cluster, r, k);

        if (j && !job_is_ended(j->rec))
            return false;
    }
    return true;
}
