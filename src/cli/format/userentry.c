/* userentry.c - see userentry.h */
#include "cli/format/userentry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/people/groups.h"
#include "stepd/shared/jobuser.h"
#include "stepd/shared/spool.h"

static int put_group(struct strbuf *sb, gid_t gid, const char *user)
{
    _cleanup_free_ char *name = NULL;
    int r = groups_name(gid, &name);

    if (r < 0 && r != -ENOENT)
        return r;
    if (name)
        strbuf_add(sb, name);
    else
        strbuf_addf(sb, "%u", gid);
    strbuf_addf(sb, ":x:%u:%s\n", gid, user);
    return 0;
}

int userentry_put(struct strbuf *sb, const Pst__JobOnNode *on)
{
    struct job_user u;
    int r = jobuser_find(on, &u);

    if (r < 0)
        return r;
    strbuf_addf(sb, "User:\n%s:x:%u:%u:%s:%s:%s\nGroups:\n", u.name, on->job->uid, on->job->gid,
                u.gecos, u.home, u.shell);
    for (size_t i = 0; r == 0 && i < u.ngids; i++)
        r = put_group(sb, u.gids[i], u.name);
    strbuf_addc(sb, '\n');
    jobuser_done(&u);
    return r;
}

/* ---- the steps of a node ------------------------------------------------------------------- */

struct place {
    uint32_t job_id, step_id;
    uint64_t run_id;
};

struct places {
    const char *spool;
    struct place *list;
    size_t n;
};

/* Steps that have not ended.  -EACCES: of a job into which we may not look. */
static int note_step(void *ctx, uint32_t job_id, uint64_t run_id, const uint32_t *step_id)
{
    struct places *p = ctx;
    struct place *list;
    char dir[SPOOL_PATH_MAX];

    if (!step_id) {
        spool_job_dir(p->spool, job_id, run_id, dir, sizeof(dir));
        return access(dir, R_OK | X_OK) < 0 && errno == EACCES ? -EACCES : 0;
    }
    spool_step_dir(p->spool, job_id, run_id, *step_id, dir, sizeof(dir));
    if (spool_has(dir, "exit"))
        return 0;
    list = realloc(p->list, (p->n + 1) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    p->list = list;
    p->list[p->n++] = (struct place){ job_id, *step_id, run_id };
    return 0;
}

static int compare_places(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->job_id != b->job_id)
        return a->job_id < b->job_id ? -1 : 1;
    return a->step_id < b->step_id ? -1 : a->step_id > b->step_id;
}

/* 0 also for a job that is gone meanwhile. */
static int put_step(struct strbuf *sb, const char *spool, const struct place *at)
{
    char dir[SPOOL_PATH_MAX], num[16];
    ProtobufCMessage *msg = NULL;
    const Pst__JobOnNode *on;
    int r;

    spool_job_dir(spool, at->job_id, at->run_id, dir, sizeof(dir));
    r = spool_get_msg(dir, "job", &pst__job_on_node__descriptor, &msg);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    on = (const Pst__JobOnNode *)msg;
    r = -EBADMSG;
    if (on->job && on->job->has_uid && on->job->has_gid) {
        strbuf_addf(sb, "JobId=%u.%s:\n", at->job_id, step_id_name(at->step_id, num, sizeof(num)));
        r = userentry_put(sb, on);
    }
    protobuf_c_message_free_unpacked(msg, NULL);
    return r;
}

int userentry_spool(struct strbuf *sb, const char *spool, size_t *ret_steps)
{
    struct places p = { .spool = spool };
    int r = spool_scan(spool, note_step, &p);

    if (p.n)
        qsort(p.list, p.n, sizeof(*p.list), compare_places);
    for (size_t i = 0; r == 0 && i < p.n; i++)
        r = put_step(sb, spool, &p.list[i]);
    free(p.list);
    *ret_steps = p.n;
    return r;
}
