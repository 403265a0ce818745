/* secrets.c - see secrets.h */
#include "model/secrets.h"

#include <string.h>

#include "base/cleanup.h"
#include "fieldlists.h"
#include "job.pb-c.h"
#include "node.pb-c.h"

static const uint32_t job_secrets[] = { JOB_SECRET_FIELDS },
                      step_secrets[] = { STEP_SECRET_FIELDS },
                      node_secrets[] = { NODE_SECRET_FIELDS };

static const struct {
    const ProtobufCMessageDescriptor *desc;
    const uint32_t *fields;
    size_t n;
} rows[] = {
    { &pst__job_record__descriptor, job_secrets, ARRAY_SIZE(job_secrets) },
    { &pst__step_record__descriptor, step_secrets, ARRAY_SIZE(step_secrets) },
    { &pst__node_record__descriptor, node_secrets, ARRAY_SIZE(node_secrets) },
};

bool secrets_remove(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *shown)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (rows[i].desc != desc)
            continue;
        for (size_t k = 0; k < rows[i].n; k++)
            pb_fieldset_remove(shown, rows[i].fields[k]);
        return true;
    }
    return false;
}

void secrets_all_others(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *ret_shown)
{
    memset(ret_shown->bits, 0xff, sizeof(ret_shown->bits));
    (void)secrets_remove(desc, ret_shown); /* there may be none */
}
