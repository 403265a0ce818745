/* archiveops.c - OP_ARCHIVE; see archiveops.h. */
#include "acctd/archiveops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct.pb-c.h"
#include "acct/archive.h"
#include "acct/sql/sql.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

#define PURGE_LIMIT 50000u
#define FILES_MAX 1024u

static uint64_t age_of(bool given, uint32_t hours, uint64_t configured_h)
{
    return given ? hours : configured_h;
}

static bool choose_kept(protobuf_c_boolean given, protobuf_c_boolean on, bool configured)
{
    return given ? on : configured;
}

/* What the request does not say slurmdbd.conf says: Purge...After, Archive... and ArchiveDir.  With
 * ArchiveScript only what is named is taken: the rest is the script's to keep. */
static int dump_files(const struct serve_call *call, struct sql *db, const Pst__ArchiveRequest *req,
                      struct strbuf *files, uint64_t *rows, struct err *err)
{
    _cleanup_free_ struct serve_settings *set = malloc(sizeof(*set));
    struct archive_what what;

    if (!set)
        return -ENOMEM;
    serve_settings_of(call, set);
    what = set->script[0] ? (struct archive_what){ .limit = set->purge.limit } : set->purge;
    what.dir = req->directory ? req->directory : set->dir[0] ? set->dir : "/tmp";
    if (what.dir[0] != '/')
        return err_set(err, -EINVAL, "archive: the directory must be an absolute path");
    what.limit = what.limit ? what.limit : PURGE_LIMIT;
    what.event_h = age_of(req->has_purge_event_h, req->purge_event_h, what.event_h);
    what.job_h = age_of(req->has_purge_job_h, req->purge_job_h, what.job_h);
    what.step_h = age_of(req->has_purge_step_h, req->purge_step_h, what.step_h);
    what.usage_h = age_of(req->has_purge_usage_h, req->purge_usage_h, what.usage_h);
    what.resv_h = age_of(req->has_purge_resv_h, req->purge_resv_h, what.resv_h);
    what.suspend_h = age_of(req->has_purge_suspend_h, req->purge_suspend_h, what.suspend_h);
    what.txn_h = age_of(req->has_purge_txn_h, req->purge_txn_h, what.txn_h);
    what.events = choose_kept(req->has_events, req->events, what.events);
    what.jobs = choose_kept(req->has_jobs, req->jobs, what.jobs);
    what.steps = choose_kept(req->has_steps, req->steps, what.steps);
    what.usage = choose_kept(req->has_usage, req->usage, what.usage);
    what.resvs = choose_kept(req->has_resvs, req->resvs, what.resvs);
    what.suspends = choose_kept(req->has_suspend, req->suspend, what.suspends);
    what.txns = choose_kept(req->has_txns, req->txns, what.txns);
    return acct_archive(db, &what, now_us(), files, rows, err);
}

static int answer_files(struct serve_call *call, const char *files, uint64_t rows)
{
    Pst__ArchiveReply reply = PST__ARCHIVE_REPLY__INIT;
    _cleanup_free_ char *copy = strdup(files);
    char *list[FILES_MAX], *save = NULL;

    if (!copy)
        return -ENOMEM;
    reply.files = list;
    for (char *f = strtok_r(copy, "\n", &save); f && reply.n_files < FILES_MAX;
         f = strtok_r(NULL, "\n", &save))
        list[reply.n_files++] = f;
    reply.has_rows = true;
    reply.rows = rows;
    return serve_reply(call, &reply.base, false);
}

int archive_run(struct serve_call *call, const ProtobufCMessage *request, struct err *err)
{
    const Pst__ArchiveRequest *req = (const Pst__ArchiveRequest *)request;
    _cleanup_val_(strbuf_done) struct strbuf files = STRBUF_INIT;
    uint64_t rows = 0;
    struct sql *db;
    int r;

    if (!serve_may_archive(call))
        return err_set(err, -EINVAL, "archive commands are disabled (DisableArchiveCommands)");
    r = serve_db(call, &db, err);
    if (r == 0 && req->load)
        r = req->file ? acct_archive_load(db, req->file, &rows, err)
                      : err_set(err, -EINVAL, "archive: which file?");
    else if (r == 0)
        r = dump_files(call, db, req, &files, &rows, err);
    return r < 0 ? r : answer_files(call, strbuf_str(&files), rows);
}
