/* adopt.c - see adopt.h
 *
 * A job is here when the spool has it and does not say that it is clean. */
#include "pam/adopt.h"

#include <errno.h>

#include "base/cleanup.h"
#include "stepd/shared/ask.h"
#include "stepd/shared/spool.h"
#include "stepfile.pb-c.h"

struct search {
    const char *spool;
    uid_t uid;
    struct adopt_job newest;
    size_t count;
};

static int on_entry(void *ctx, uint32_t job_id, uint64_t run_id, const uint32_t *step_id)
{
    struct search *s = ctx;
    char dir[SPOOL_PATH_MAX];
    ProtobufCMessage *msg = NULL;
    const Pst__JobRecord *job;

    if (step_id)
        return 0;
    spool_job_dir(s->spool, job_id, run_id, dir, sizeof(dir));
    if (spool_has(dir, "clean") ||
        spool_get_msg(dir, "job", &pst__job_on_node__descriptor, &msg) < 0)
        return 0; /* over, or just coming or going */
    job = ((const Pst__JobOnNode *)msg)->job;
    if (job && job->uid == s->uid) {
        s->count++;
        if (s->count == 1 || job->start_us >= s->newest.start_us)
            s->newest = (struct adopt_job){ job_id, run_id, job->start_us };
    }
    protobuf_c_message_free_unpacked(msg, NULL);
    return 0;
}

int adopt_find(const char *spool, uid_t uid, struct adopt_job *ret_newest, size_t *ret_count)
{
    struct search s = { .spool = spool, .uid = uid };
    int r = spool_scan(spool, on_entry, &s);

    if (r < 0)
        return r;
    if (s.count)
        *ret_newest = s.newest;
    *ret_count = s.count;
    return 0;
}

int adopt_join(const char *spool, const struct adopt_job *job, int *ret_ns, int *ret_flags)
{
    char dir[SPOOL_PATH_MAX];

    spool_step_dir(spool, job->job_id, job->run_id, STEP_ID_EXTERN, dir, sizeof(dir));
    return ask_adopt(dir, false, ret_ns, ret_flags);
}
