/* sacctmgr_archive.c - old rows of the accounting store into files, and files back */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr.h"

#include "acct.pb-c.h"

/* "12months", "30days", "36hours", "6" months; as hours.  false: told. */
static bool parse_age(struct smgr *s, const char *text, uint32_t *ret_hours)
{
    static const struct {
        const char *name;
        uint32_t hours;
    } units[] = { { "hours", 1 }, { "days", 24 }, { "months", 30 * 24 } };
    size_t digits = strspn(text, "0123456789");
    _cleanup_free_ char *number = strndup(text, digits);
    uint64_t n;

    if (!number || parse_u64(number, 1, 100000, &n) < 0) {
        smgr_fail(s, "sacctmgr: error: Invalid purge string '%s'\n", text);
        return false;
    }
    if (!text[digits]) {
        *ret_hours = (uint32_t)n * units[2].hours;
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (smgr_is(text + digits, units[i].name, 1)) {
            *ret_hours = (uint32_t)n * units[i].hours;
            return true;
        }
    smgr_fail(
        s, "sacctmgr: error: Invalid purge unit '%s', valid options are hours, days, or months\n",
        text + digits);
    return false;
}

static bool is_on(const char *value)
{
    return !value || strcmp(value, "1") == 0 || strcasecmp(value, "yes") == 0;
}

/* One word of `archive dump`; false: told. */
static bool take_word(struct smgr *s, Pst__ArchiveRequest *req, const char *word, const char *name,
                      const char *value)
{
    const struct {
        const char *name;
        unsigned min;
        protobuf_c_boolean *has, *on;
    } kinds[] = { { "Events", 1, &req->has_events, &req->events },
                  { "Jobs", 1, &req->has_jobs, &req->jobs },
                  { "Reservations", 1, &req->has_resvs, &req->resvs },
                  { "Resvs", 4, &req->has_resvs, &req->resvs },
                  { "Steps", 2, &req->has_steps, &req->steps },
                  { "Suspend", 2, &req->has_suspend, &req->suspend },
                  { "TXN", 1, &req->has_txns, &req->txns },
                  { "Usage", 1, &req->has_usage, &req->usage } };
    const struct {
        const char *name;
        unsigned min;
        protobuf_c_boolean *has;
        uint32_t *hours;
    } ages[] = { { "PurgeEventAfter", 6, &req->has_purge_event_h, &req->purge_event_h },
                 { "PurgeJobAfter", 6, &req->has_purge_job_h, &req->purge_job_h },
                 { "PurgeReservationAfter", 6, &req->has_purge_resv_h, &req->purge_resv_h },
                 { "PurgeResvAfter", 8, &req->has_purge_resv_h, &req->purge_resv_h },
                 { "PurgeStepAfter", 7, &req->has_purge_step_h, &req->purge_step_h },
                 { "PurgeSuspendAfter", 7, &req->has_purge_suspend_h, &req->purge_suspend_h },
                 { "PurgeTXNAfter", 6, &req->has_purge_txn_h, &req->purge_txn_h },
                 { "PurgeUsageAfter", 6, &req->has_purge_usage_h, &req->purge_usage_h } };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (smgr_is(name, kinds[i].name, kinds[i].min)) {
            *kinds[i].has = 1;
            *kinds[i].on = is_on(value);
            return true;
        }
    for (size_t i = 0; i < ARRAY_SIZE(ages); i++)
        if (smgr_is(name, ages[i].name, ages[i].min)) {
            *ages[i].has = 1;
            return parse_age(s, value ? value : "", ages[i].hours);
        }
    if (value && smgr_is(name, "Directory", 1)) {
        check_mem_or_die(pb_set_str(&req->directory, value));
        return true;
    }
    smgr_fail(s, " Unknown condition: %s\n", word);
    return false;
}

/* A folder that this machine does not have is told at once. */
static bool directory_is_there(struct smgr *s, const Pst__ArchiveRequest *req)
{
    struct stat st;

    if (req->load || !req->directory || stat(req->directory, &st) == 0)
        return true;
    smgr_fail(s,
              " dump: Failed to stat %s: %s\n"
              " Note: For archive dump, the directory must be on the calling host.\n",
              req->directory, strerror(errno));
    return false;
}

static void tell_failure(struct smgr *s, const Pst__ArchiveRequest *req, int r)
{
    const char *text = NULL;

    (void)client_error(smgr_client(s), &text);
    if (req->load && text && strstr(text, strerror(ENOENT))) {
        smgr_fail(s,
                  "sacctmgr: error: No archive file given to recover.\n"
                  " Problem loading archive file: %s\n"
                  " Note: For archive load, the file must be accessible on the slurmdbd host.\n",
                  strerror(ENOENT));
        return;
    }
    smgr_fail(s, " Problem %s: %s\n", req->load ? "loading archive file" : "dumping archive",
              text && *text ? text : client_strerror(smgr_client(s), r));
}

static bool parse_words(struct smgr *s, Pst__ArchiveRequest *req, int n, char **words)
{
    for (int i = 0; i < n; i++) {
        _cleanup_free_ char *name = xstrdup_or_die(words[i]);
        char *eq = strchr(name, '=');

        if (eq)
            *eq++ = '\0';
        if (req->load && (smgr_is(name, "File", 1) || !eq)) {
            char path[PATH_MAX]; /* the service has a folder of its own */

            check_mem_or_die(pb_set_str(&req->file, realpath(eq ? eq : name, path) ? path
                                                    : eq ? eq
                                                         : name));
        } else if (req->load || !take_word(s, req, words[i], name, eq)) {
            if (req->load)
                smgr_fail(s, " Unknown option: %s\n", words[i]);
            return false;
        }
    }
    if (!req->load || req->file)
        return true;
    smgr_fail(s, "sacctmgr: error: Error with request.\n"
                 " Problem loading archive file: Unspecified error\n");
    return false;
}

/* Rows that go to a file go from the store. */
static bool confirm_archive(struct smgr *s, bool load)
{
    if (load)
        return smgr_commit(s);
    if (!s->immediate)
        printf("This may result in loss of accounting database records (if Purge* options "
               "enabled).\n");
    if (smgr_ask(s, "Are you sure you want to continue?"))
        return true;
    printf(" Changes Discarded\n");
    return false;
}

void smgr_archive(struct smgr *s, int n, char **words)
{
    Pst__ArchiveRequest *req;
    ProtobufCMessage *reply = NULL;
    int r;

    if (n < 1 || (!smgr_is(words[0], "dump", 1) && !smgr_is(words[0], "load", 1))) {
        smgr_fail(
            s,
            "No valid entity in archive command\nInput line must include, \"Dump\", or \"load\"\n");
        return;
    }
    if (!smgr_may_write(s, "archive"))
        return;
    req = xmalloc_or_die(sizeof(*req));
    pst__archive_request__init(req);
    req->has_load = 1;
    req->load = smgr_is(words[0], "load", 1);
    if (parse_words(s, req, n - 1, words + 1) && directory_is_there(s, req) &&
        confirm_archive(s, req->load)) {
        r = client_call(smgr_client(s), OP_ARCHIVE, &req->base, &reply);
        if (r < 0) {
            tell_failure(s, req, r);
        } else {
            const Pst__ArchiveReply *a = PB_AS(archive_reply, reply);

            for (size_t i = 0; i < a->n_files; i++)
                printf("%s\n", a->files[i]);
            if (!req->load)
                (void)fprintf(stderr, "sacctmgr: accounting_storage/slurmdbd: "
                                      "jobacct_storage_p_archive: SUCCESS\n");
            protobuf_c_message_free_unpacked(reply, NULL);
        }
    }
    pst__archive_request__free_unpacked(req, NULL);
}
