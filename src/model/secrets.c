/* secrets.c - see secrets.h */
#include "model/secrets.h"

#include <string.h>

#include "base/cleanup.h"
#include "event.pb-c.h"
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

int secrets_codec(struct pb_codec **ret_codec)
{
    int r = pb_codec_new(&pst__event__descriptor, ret_codec);

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
        pb_codec_last(*ret_codec, rows[i].desc, rows[i].fields, rows[i].n);
    return r;
}
