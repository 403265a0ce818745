/* admin_blob.c - the script or the environment of a job, for its owner and for operators */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "acct/blobs.h"
#include "acct/sql/db.h"
#include "base/cleanup.h"

/* The newest run of the job; NULL: there is none. */
static int load_job(struct sql *db, const Pst__AcctBlobRequest *req, Pst__JobRecord **ret)
{
    _cleanup_(sql_free) struct sql_stmt *source = NULL;
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    const void *data;
    int64_t id;
    size_t len;
    int r = sql_prepare(db, "SELECT id FROM sources WHERE name=?", &source);

    if (r < 0)
        return r;
    sql_bind_text(source, 0, req->cluster);
    r = sql_step(source);
    if (r <= 0)
        return r;
    id = sql_int(source, 0);
    sql_reset(source);
    r = sql_prepare(
        db, "SELECT record FROM jobs WHERE job_id=? AND run>=? AND run<? ORDER BY run DESC LIMIT 1",
        &stmt);
    if (r < 0)
        return r;
    sql_bind(stmt, 0, req->job_id);
    sql_bind(stmt, 1, ACCT_RUNS_OF(id));
    sql_bind(stmt, 2, ACCT_RUNS_OF(id + 1));
    r = sql_step(stmt);
    if (r <= 0)
        return r;
    data = sql_blob(stmt, 0, &len);
    *ret = pst__job_record__unpack(NULL, len, data);
    sql_reset(stmt);
    return *ret ? 0 : -EUCLEAN;
}

int admin_blob(struct admin *a, const struct admin_who *who, uid_t uid,
               const Pst__AcctBlobRequest *req, Pst__AcctBlobReply *reply, int *ret_code)
{
    Pst__JobRecord *job = NULL;
    bool env = req->has_env && req->env, is_operator;
    int r = load_job(a->db, req, &job);

    is_operator = who->root || am_admin_level(a->am, who->user) >= PST__ADMIN_LEVEL__ADMIN_OPERATOR;
    *ret_code = r < 0                             ? 0
                : !job                            ? ESLURM_INVALID_JOB_ID
                : !is_operator && job->uid != uid ? ESLURM_ACCESS_DENIED
                                                  : 0;
    if (r == 0 && *ret_code == 0) { /* it may name none, or what it names was not to be kept */
        r = blobs_get(a->db, env ? BLOB_ENV : BLOB_SCRIPT, job, &reply->data.data,
                      &reply->data.len);
        reply->has_data = r == 0 && reply->data.data;
    }
    if (job)
        pst__job_record__free_unpacked(job, NULL);
    return r;
}
