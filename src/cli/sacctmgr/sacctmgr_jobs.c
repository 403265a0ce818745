/* sacctmgr_jobs.c - records of jobs: notes made afterwards, and runs that never ended
 *
 * Which runs are runaways: runaways.h.  The store is asked again about those found: what ended and
 * was forgotten between the two questions is none. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/base/ids.h"
#include "cli/query/out_job.h"
#include "cli/sacctmgr/runaways.h"
#include "cli/sacctmgr/sacctmgr_keys.h"
#include "wire/errors.h"

/* ---- modify job ------------------------------------------------------------------------------ */

enum { JOB_TEXT, JOB_CODE, JOB_TRES };

static const struct {
    const char *name;
    unsigned min;
    int kind;
    size_t offset; /* in AcctJobSet */
} settings[] = {
    { "AdminComment", 6, JOB_TEXT, offsetof(Pst__AcctJobSet, admin_comment) },
    { "AllocTRES", 6, JOB_TRES, 0 },
    { "Comment", 1, JOB_TEXT, offsetof(Pst__AcctJobSet, comment) },
    { "DerivedExitCode", 3, JOB_CODE, 0 },
    { "DerivedES", 8, JOB_TEXT, offsetof(Pst__AcctJobSet, comment) }, /* its name once */
    { "Extra", 2, JOB_TEXT, offsetof(Pst__AcctJobSet, extra) },
    { "NewWCKey", 3, JOB_TEXT, offsetof(Pst__AcctJobSet, wckey) },
    { "SystemComment", 6, JOB_TEXT, offsetof(Pst__AcctJobSet, system_comment) },
    { "TRES", 4, JOB_TRES, 0 },
};

static bool set_tres(struct smgr *s, Pst__AcctJobSet *set, const char *value)
{
    Pst__TresCount **list = NULL;
    struct err err = { .text = "" };
    struct strbuf sb = STRBUF_INIT;
    size_t n = 0;
    int r = smgr_parse_tres(s, value, &list, &n, &err);

    if (r < 0)
        smgr_fail(s, " Bad TRES value: %s: %s\n", value, err.text);
    else
        smgr_put_tres(s, &sb, list, n);
    if (r == 0)
        check_mem_or_die(pb_set_str(&set->tres, strbuf_str(&sb)));
    for (size_t i = 0; i < n; i++)
        pst__tres_count__free_unpacked(list[i], NULL);
    free(list);
    strbuf_done(&sb);
    return r == 0;
}

static bool set_word(struct smgr *s, Pst__AcctJobSet *set, const char *word, const char *name,
                     const char *value)
{
    int64_t code;

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        if (!smgr_is(name, settings[i].name, settings[i].min))
            continue;
        if (settings[i].kind == JOB_TRES)
            return set_tres(s, set, value);
        if (settings[i].kind == JOB_TEXT) {
            check_mem_or_die(pb_set_str((char **)((char *)set + settings[i].offset), value));
            return true;
        }
        if (parse_i64(value, 0, INT32_MAX, &code) < 0) {
            smgr_fail(s, " Bad DerivedExitCode value: %s\n", value);
            return false;
        }
        set->has_derived_exit_code = 1;
        set->derived_exit_code = (int32_t)code;
        return true;
    }
    printf(" Unknown option: %s\n Use keyword 'where' to modify condition\n", word);
    s->status = CLI_EXIT_FAILED;
    return false;
}

static bool add_ids(struct smgr *s, Pst__AcctCond *where, const char *value)
{
    char **words = NULL;
    size_t n = 0;
    bool ok = true;

    smgr_add_words(&words, &n, value, false);
    for (size_t i = 0; i < n; i++) {
        uint64_t id = 0;

        if (ok && parse_u64(words[i], 1, UINT32_MAX - 1, &id) < 0) {
            smgr_fail(s, "sacctmgr: fatal: Bad job/step specified: %s\n", words[i]);
            ok = false;
        }
        where->ids = xrealloc_or_die(where->ids, where->n_ids + 1, sizeof(uint32_t));
        where->ids[where->n_ids++] = (uint32_t)id;
        free(words[i]);
    }
    free(words);
    return ok;
}

static bool put_when(struct smgr *s, const char *value, protobuf_c_boolean *has, int64_t *us)
{
    *has = 1;
    if (time_when_parse(value, now_us(), false, us, NULL) == 0)
        return true;
    smgr_fail(s, " Bad time: %s\n", value);
    return false;
}

static bool where_word(struct smgr *s, Pst__AcctCond *where, const char *word, const char *name,
                       const char *value)
{
    if (smgr_is(name, "JobIDs", 1) || smgr_is(name, "Ids", 1))
        return add_ids(s, where, value);
    if (smgr_is(name, "Clusters", 1))
        smgr_add_words(&where->clusters, &where->n_clusters, value, true);
    else if (smgr_is(name, "Users", 1))
        smgr_add_words(&where->users, &where->n_users, value, true);
    else if (smgr_is(name, "WCKeys", 1))
        smgr_add_words(&where->wckeys, &where->n_wckeys, value, false);
    else if (smgr_is(name, "StartTime", 1))
        return put_when(s, value, &where->has_start_us, &where->start_us);
    else if (smgr_is(name, "EndTime", 1))
        return put_when(s, value, &where->has_end_us, &where->end_us);
    else {
        smgr_fail(s, " Unknown condition: %s\n Use keyword 'set' to modify value\n", word);
        return false;
    }
    return true;
}

/* What stands in the words: something to set, a list of conditions without a name. */
struct job_words {
    bool any, empty;
};

static bool names_nothing(const char *value)
{
    return !value[strspn(value, ", ")];
}

static bool parse_words(struct smgr *s, int n, char **words, Pst__AcctCond *where,
                        Pst__AcctJobSet *set, struct job_words *ret)
{
    bool setting = false;

    for (int i = 0; i < n; i++) {
        _cleanup_free_ char *name = xstrdup_or_die(words[i]);
        char *eq = strchr(name, '=');
        bool ok;

        if (smgr_is(words[i], "where", 5) || smgr_is(words[i], "set", 3)) {
            setting = smgr_is(words[i], "set", 3);
            continue;
        }
        if (!eq && !setting) {
            ok = add_ids(s, where, words[i]);
        } else if (!eq) {
            ok = set_word(s, set, words[i], "?", "");
        } else {
            *eq = '\0';
            ok = setting ? set_word(s, set, words[i], name, eq + 1)
                         : where_word(s, where, words[i], name, eq + 1);
            ret->any |= setting;
            ret->empty |= !setting && names_nothing(eq + 1);
        }
        if (!ok)
            return false;
    }
    return true;
}

static Pst__AcctOpResult *send_one(struct smgr *s, Pst__AcctOp *op, bool dry_run,
                                   Pst__AcctAdminReply **ret_reply)
{
    Pst__AcctAdminRequest req = PST__ACCT_ADMIN_REQUEST__INIT;
    Pst__AcctOp *ops[] = { op };

    req.n_ops = 1;
    req.ops = ops;
    req.has_dry_run = req.dry_run = dry_run;
    if (*ret_reply)
        pst__acct_admin_reply__free_unpacked(*ret_reply, NULL);
    *ret_reply = smgr_request(s, &req);
    return *ret_reply && (*ret_reply)->n_results ? (*ret_reply)->results[0] : NULL;
}

static void tell_unchanged(struct smgr *s)
{
    printf(" Modified jobs...\n");
    smgr_fail(s, " Error with request: Data has not changed since time specified\n");
}

static void tell_jobs(struct smgr *s, const Pst__AcctOpResult *res)
{
    if (res->has_code && res->code == ESLURM_ACCESS_DENIED && !res->text) {
        printf(" Modified jobs...\n");
        smgr_fail(s,
                  "sacctmgr: error: Your user doesn't have privilege to perform this action\n"
                  " Error with request: %s\n",
                  slurm_err_text(res->code));
    } else if (res->has_code && res->code == SLURM_NO_CHANGE_IN_DATA) {
        tell_unchanged(s);
    } else if (res->has_code) {
        smgr_fail(s, " Error with request: %s\n",
                  res->text ? res->text : slurm_err_text(res->code));
    } else {
        printf(" Modified jobs...\n");
        for (size_t i = 0; i < res->n_lines; i++)
            printf("  %s\n", res->lines[i]);
    }
}

void smgr_modify_job(struct smgr *s, int n, char **words)
{
    Pst__AcctCond *where = xmalloc_or_die(sizeof(*where));
    Pst__AcctSet *set = xmalloc_or_die(sizeof(*set));
    Pst__AcctAdminReply *reply = NULL;
    Pst__AcctOp op = PST__ACCT_OP__INIT;
    const Pst__AcctOpResult *res;
    struct job_words found = { 0 };
    bool ok;

    pst__acct_cond__init(where);
    pst__acct_set__init(set);
    set->job = xmalloc_or_die(sizeof(*set->job));
    pst__acct_job_set__init(set->job);
    op.has_verb = op.has_entity = 1;
    op.verb = PST__ACCT_VERB__ACCT_MODIFY;
    op.entity = PST__ACCT_ENTITY__ACCT_JOB;
    op.where = where;
    op.set = set;
    ok = parse_words(s, n, words, where, set->job, &found);
    if (ok && !found.any)
        smgr_fail(s, " You didn't give me anything to set\n");
    else if (ok && found.empty) /* a script's variable may be: no job is meant, not all */
        tell_unchanged(s);
    else if (ok && (res = send_one(s, &op, !s->immediate, &reply))) {
        tell_jobs(s, res);
        if (!res->has_code && !s->immediate && smgr_commit(s)) {
            res = send_one(s, &op, false, &reply);
            if (res && res->has_code)
                tell_jobs(s, res);
        }
    }
    if (reply)
        pst__acct_admin_reply__free_unpacked(reply, NULL);
    pst__acct_cond__free_unpacked(where, NULL);
    pst__acct_set__free_unpacked(set, NULL);
}

/* ---- runaway jobs ---------------------------------------------------------------------------- */

struct runaways {
    Pst__AcctJob **jobs;
    size_t n;
    struct known_runs known; /* to the controller */
};

static int keep_open(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct runaways *r = ctx;
    ProtobufCMessage *copy;

    (void)info;
    if (!runaways_is_open(((const Pst__AcctJob *)record)->job))
        return 0;
    check_mem_or_die(pb_dup(record, &copy));
    r->jobs = xrealloc_or_die(r->jobs, r->n + 1, sizeof(*r->jobs));
    r->jobs[r->n++] = (Pst__AcctJob *)copy;
    return 0;
}

static int keep_known(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct runaways *r = ctx;

    (void)info;
    return runaways_note(&r->known, (const Pst__JobRecord *)record);
}

static void drop_jobs(struct runaways *r)
{
    for (size_t i = 0; i < r->n; i++)
        pst__acct_job__free_unpacked(r->jobs[i], NULL);
    free(r->jobs);
    r->jobs = NULL;
    r->n = 0;
}

/* Open in the store: all (ids NULL), or of these. */
static bool ask_store(struct smgr *s, struct runaways *r, uint32_t *ids, size_t n)
{
    Pst__AcctFilter filter = PST__ACCT_FILTER__INIT;
    uint32_t states[] = { PST__JOB_STATE__JOB_PENDING, PST__JOB_STATE__JOB_RUNNING,
                          PST__JOB_STATE__JOB_SUSPENDED };
    struct query_info info;
    int rc;

    filter.n_states = ids ? 0 : ARRAY_SIZE(states);
    filter.states = states;
    filter.n_job_ids = n;
    filter.job_ids = ids;
    rc = query_run(smgr_client(s), OP_QUERY_ACCT, &filter.base, &pst__acct_job__descriptor,
                   keep_open, r, &info);
    if (rc < 0)
        smgr_fail(s, "sacctmgr: error: %s\n", client_strerror(smgr_client(s), rc));
    return rc == 0;
}

static bool ask_controller(struct smgr *s, struct runaways *r)
{
    Pst__QueryRequest req = PST__QUERY_REQUEST__INIT;
    struct query_info info;
    struct client *c = NULL;
    struct err err = { .text = "" };
    int rc = cli_connect(&s->cli, &c, &err);

    if (rc == 0)
        rc = query_run(c, OP_QUERY_JOBS, &req.base, &pst__job_record__descriptor, keep_known, r,
                       &info);
    if (rc < 0)
        smgr_fail(s, "sacctmgr: error: slurmctld cannot say which jobs live: %s\n",
                  err.text[0] ? err.text : client_strerror(c, rc));
    client_free(c);
    return rc == 0;
}

/* Ids of those the controller does not know.  Caller frees. */
static uint32_t *unknown_ids(struct runaways *r, size_t *ret_n)
{
    uint32_t *ids = xmalloc_or_die((r->n + 1) * sizeof(*ids));
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        if (!runaways_is_known(&r->known, r->jobs[i]->job))
            ids[n++] = r->jobs[i]->job->job_id;
    *ret_n = n;
    return ids;
}

static void put_jobs(struct smgr *s, const struct runaways *r, const char *cluster)
{
    printf("NOTE: Runaway jobs are jobs that don't exist in the controller but have a start time "
           "and no end time in "
           "the database\n");
    if (!s->noheader)
        printf("%-12s %-10s %-10s %-10s %-10s %-19s %-19s %-19s \n"
               "------------ ---------- ---------- ---------- ---------- ------------------- "
               "------------------- "
               "------------------- \n",
               "ID", "Name", "Partition", "Cluster", "State", "TimeSubmit", "TimeStart", "TimeEnd");
    for (size_t i = 0; i < r->n; i++) {
        const Pst__JobRecord *j = r->jobs[i]->job;
        struct job_row row = { .job = j, .now_us = now_us(), .cluster = cluster };
        char submit[64], start[64];

        time_fmt_stamp(j->submit_us, "Unknown", row.now_us, submit, sizeof(submit));
        time_fmt_stamp(j->start_us, "Unknown", row.now_us, start, sizeof(start));
        printf("%-12u %-10.10s %-10.10s %-10.10s %-10.10s %19s %19s %19s \n", j->job_id,
               j->name ? j->name : "", j->partition ? j->partition : "", cluster,
               job_state_word(&row, false), submit, start, "Unknown");
    }
}

static void fix_jobs(struct smgr *s, uint32_t *ids, size_t n, uint32_t end_state)
{
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    Pst__AcctSet set = PST__ACCT_SET__INIT;
    Pst__AcctJobSet job = PST__ACCT_JOB_SET__INIT;
    Pst__AcctAdminReply *reply = NULL;
    Pst__AcctOp op = PST__ACCT_OP__INIT;
    const Pst__AcctOpResult *res;

    op.has_verb = op.has_entity = 1;
    op.verb = PST__ACCT_VERB__ACCT_MODIFY;
    op.entity = PST__ACCT_ENTITY__ACCT_RUNAWAY;
    op.where = &where;
    op.set = &set;
    where.n_ids = n;
    where.ids = ids;
    set.job = &job;
    job.has_end_state = 1;
    job.end_state = end_state;
    res = send_one(s, &op, false, &reply);
    if (res && res->has_code)
        smgr_fail(s, " Error with request: %s\n",
                  res->text ? res->text : slurm_err_text(res->code));
    if (reply)
        pst__acct_admin_reply__free_unpacked(reply, NULL);
}

static int take_level(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    (void)info;
    *(Pst__AdminLevel *)ctx = ((const Pst__UserRecord *)record)->admin_level;
    return 0;
}

bool smgr_has_level(struct smgr *s, Pst__AdminLevel least)
{
    uid_t uid = geteuid();
    const struct passwd *pw = getpwuid(uid);
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    Pst__AdminLevel level = PST__ADMIN_LEVEL__ADMIN_NONE;
    char *name = pw ? pw->pw_name : NULL;

    if (uid == 0 || uid == conf_slurm_uid(cli_conf(&s->cli)))
        return true;
    where.n_names = name ? 1 : 0;
    where.names = &name;
    return name && smgr_list(s, PST__ACCT_ENTITY__ACCT_USER, &where, take_level, &level) &&
           level >= least;
}

void smgr_show_runaway(struct smgr *s, int n, char **words)
{
    const char *cluster = conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME);
    uint32_t end_state = PST__JOB_STATE__JOB_COMPLETED;
    const char *named = NULL;
    struct runaways r = { 0 };
    uint32_t *ids = NULL;
    size_t n_ids = 0;

    for (int i = 0; i < n; i++) {
        if (strncasecmp(words[i], "cluster=", 8) == 0)
            named = words[i] + 8;
        if (strcasecmp(words[i], "endstate=failed") == 0)
            end_state = PST__JOB_STATE__JOB_FAILED;
        else if (strcasecmp(words[i], "endstate=completed") != 0 &&
                 strcasecmp(words[i], "set") != 0 && strcasecmp(words[i], "where") != 0 &&
                 strncasecmp(words[i], "cluster=", 8) != 0 &&
                 strncasecmp(words[i], "format=", 7) != 0) {
            smgr_fail(s, " Unknown option: %s\n", words[i]);
            return;
        }
    }
    /* who may fix them is asked to; the store looks at that again */
    if (!smgr_has_level(s, PST__ADMIN_LEVEL__ADMIN_OPERATOR)) {
        smgr_fail(s,
                  "sacctmgr: error: You must have an AdminLevel>=Operator to fix runaway jobs\n");
        return;
    }
    if (ask_store(s, &r, NULL, 0) && ask_controller(s, &r)) {
        ids = unknown_ids(&r, &n_ids);
        drop_jobs(&r);
        if (!n_ids || (ask_store(s, &r, ids, n_ids) && !r.n)) {
            printf("Runaway Jobs: No runaway jobs found on cluster %s\n", named ? named : cluster);
        } else if (r.n) {
            put_jobs(s, &r, cluster);
            free(ids);
            ids = unknown_ids(&r, &n_ids);
            printf("\nWould you like to fix these runaway jobs?\n(This ends each when it started, "
                   "or else was "
                   "submitted, as %s, and sums up usage again from there.)\n\n",
                   end_state == PST__JOB_STATE__JOB_FAILED ? "failed" : "completed");
            if (!s->readonly && smgr_commit(s))
                fix_jobs(s, ids, n_ids, end_state);
        }
    }
    drop_jobs(&r);
    runaways_done(&r.known);
    free(ids);
}
