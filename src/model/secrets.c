/* secrets.c - see secrets.h */
#include "model/secrets.h"

#include <string.h>

#include "base/cleanup.h"
#include "job.pb-c.h"

static const struct {
    const ProtobufCMessageDescriptor *desc;
    const char *field;
} rows[] = {
    /* a guess of the script can be tested with its digest */
    { &pst__job_record__descriptor, "script_hash" },
    { &pst__job_record__descriptor, "env_hash" }, /* likewise, as are the next two */
    { &pst__job_record__descriptor, "script_digest" },
    { &pst__job_record__descriptor, "env_digest" },
    { &pst__job_record__descriptor, "export_env" }, /* --export=TOKEN=value */
    { &pst__job_record__descriptor, "spank_job_env" },
    { &pst__step_record__descriptor, "async_launch" }, /* with the environment of its tasks */
    { &pst__step_record__descriptor, "async_spec" },
};

bool secrets_remove(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *shown)
{
    bool any = false;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (rows[i].desc != desc)
            continue;
        pb_fieldset_remove(
            shown, protobuf_c_message_descriptor_get_field_by_name(desc, rows[i].field)->id);
        any = true;
    }
    return any;
}

void secrets_all_others(const ProtobufCMessageDescriptor *desc, struct pb_fieldset *ret_shown)
{
    memset(ret_shown->bits, 0xff, sizeof(ret_shown->bits));
    (void)secrets_remove(desc, ret_shown); /* there may be none */
}
