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

void secrets_all_others(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *ret_shown)
{
    memset(ret_shown->bits, 0xff, sizeof(ret_shown->bits));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (size_t k = 0; rows[i].desc == desc && k < rows[i].n; k++)
            pb_fieldset_remove(ret_shown, rows[i].fields[k]);
}

size_t secrets_last(const ProtobufCMessageDescriptor *desc, const uint8_t *in, size_t len,
                    uint8_t *out)
{
    struct pb_fieldset shown, hidden;
    long n;

    secrets_all_others(desc, &shown);
    n = pb_project(in, len, &shown, out);
    if (n < 0) {
        memcpy(out, in, len);
        return 0;
    }
    if ((size_t)n == len)
        return len;
    for (size_t i = 0; i < ARRAY_SIZE(hidden.bits); i++)
        hidden.bits[i] = ~shown.bits[i];
    (void)pb_project(in, len, &hidden, out + n); /* walked already */
    return (size_t)n;
}
