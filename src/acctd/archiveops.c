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

static int dump_files(struct sql *db, const Pst__ArchiveRequest *req, struct strbuf *files,
                      uint64_t *rows, struct err *err)
{
    const struct archive_what what = {
        .event_h = req->purge_event_h,
        .job_h = req->purge_job_h,
        .step_h = req->purge_step_h,
        .usage_h = req->purge_usage_h,
        .resv_h = req->purge_resv_h,
        .suspend_h = req->purge_suspend_h,
        .txn_h = req->purge_txn_h,
        .events = req->events,
        .jobs = req->jobs,
        .steps = req->steps,
        .usage = req->usage,
        .resvs = req->resvs,
        .suspends = req->suspend,
        .txns = req->txns,
        .dir = req->directory,
        .limit = PURGE_LIMIT,
    };

    if (!req->directory || req->directory[0] != '/')
        return err_set(err, -EINVAL, "archive: the directory must be an absolute path");
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
        r = dump_files(db, req, &files, &rows, err);
    return r < 0 ? r : answer_files(call, strbuf_str(&files), rows);
}
