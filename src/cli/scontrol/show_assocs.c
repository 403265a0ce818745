/* show_assocs.c - scontrol show assoc_mgr: users, associations and QOS as the controller has them
 *
 * Arguments choose: users=, accounts=, qos= (lists) and flags=users,assoc,qos.  N stands where
 * no limit is set; what is in use comes in parentheses.  One thread. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "cli/format/fmt_core.h"
#include "cli/format/json_store.h"
#include "cli/query/out_query.h"
#include "cli/scontrol/scontrol.h"
#include "wire/ops.h"

#define NO_UID 4294967294u /* of users that this host does not know */

/* ---- the question ---------------------------------------------------------------------------- */

static void split_names(char *list, char ***ret, size_t *ret_n)
{
    char *save = NULL;

    for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        *ret = xrealloc_or_die(*ret, *ret_n + 1, sizeof(**ret));
        (*ret)[(*ret_n)++] = w;
    }
}

static bool take_flags(Pst__AssocMgrRequest *req, char *list)
{
    static const struct {
        const char *word;
        Pst__AssocMgrPart part;
    } words[] = { { "users", PST__ASSOC_MGR_PART__ASSOC_MGR_USERS },
                  { "assoc", PST__ASSOC_MGR_PART__ASSOC_MGR_ASSOCS },
                  { "qos", PST__ASSOC_MGR_PART__ASSOC_MGR_QOS } };
    char *save = NULL;

    for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        bool known = false;

        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
            if (strncasecmp(w, words[i].word, strlen(w)) != 0)
                continue;
            req->has_parts = known = true;
            req->parts |= 1u << words[i].part;
        }
        if (!known)
            return false;
    }
    return true;
}

/* word is cut up and must live as long as req. */
static bool take_word(Pst__AssocMgrRequest *req, char *word)
{
    char *value = strchr(word, '=');

    if (!value)
        return false;
    *value++ = '\0';
    if (strncasecmp(word, "users", MAX(strlen(word), 1u)) == 0)
        split_names(value, &req->users, &req->n_users);
    else if (strncasecmp(word, "accounts", MAX(strlen(word), 1u)) == 0)
        split_names(value, &req->accounts, &req->n_accounts);
    else if (strncasecmp(word, "qos", MAX(strlen(word), 1u)) == 0)
        split_names(value, &req->qos, &req->n_qos);
    else if (strncasecmp(word, "flags", MAX(strlen(word), 1u)) == 0)
        return take_flags(req, value);
    else
        return false;
    return true;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static uint32_t uid_of(const char *user)
{
    const struct passwd *pw = getpwnam(user);

    return pw ? (uint32_t)pw->pw_uid : NO_UID;
}

static void put_number(const char *name, bool has, int64_t limit, uint64_t used)
{
    if (has && limit >= 0)
        (void)printf("%s=%lld(%llu)", name, (long long)limit, (unsigned long long)used);
    else
        (void)printf("%s=N(%llu)", name, (unsigned long long)used);
}

/* Of one job, where nothing is in use: empty when it is not set. */
static void put_plain(const char *name, bool has, int64_t limit)
{
    if (has && limit >= 0)
        (void)printf("%s=%lld", name, (long long)limit);
    else
        (void)printf("%s=", name);
}

static void put_wall(bool has, int64_t limit, double minutes)
{
    if (has && limit >= 0)
        (void)printf("GrpWall=%lld(%.2f)", (long long)limit, minutes);
    else
        (void)printf("GrpWall=N(%.2f)", minutes);
}

enum use { USE_NOW, USE_MINUTES, USE_RUNNING };

static uint64_t put_amount(const Pst__TresUse *t, enum use use)
{
    return use == USE_NOW ? t->used : use == USE_MINUTES ? (uint64_t)t->minutes : t->run_minutes;
}

/* "cpu=8(4),mem=N(0),..." for every TRES. */
static void put_used(const char *name, Pst__TresUse *const *tres, size_t n,
                     Pst__TresCount *const *limits, size_t nlimits, enum use use)
{
    (void)printf("%s=", name);
    for (size_t i = 0; i < n; i++) {
        const Pst__TresCount *l = NULL;

        for (size_t k = 0; k < nlimits; k++)
            if (limits[k]->tres_id == tres[i]->tres_id && limits[k]->count >= 0)
                l = limits[k];
        (void)printf("%s%s=", i ? "," : "", tres[i]->name);
        if (l)
            (void)printf("%lld(%llu)", (long long)l->count,
                         (unsigned long long)put_amount(tres[i], use));
        else
            (void)printf("N(%llu)", (unsigned long long)put_amount(tres[i], use));
    }
}

/* "cpu=4,node=1" of those that are set. */
static void put_limits(const char *name, Pst__TresUse *const *tres, size_t n,
                       Pst__TresCount *const *limits, size_t nlimits)
{
    bool any = false;

    (void)printf("%s=", name);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nlimits; k++)
            if (limits[k]->tres_id == tres[i]->tres_id && limits[k]->count >= 0) {
                (void)printf("%s%s=%lld", any ? "," : "", tres[i]->name,
                             (long long)limits[k]->count);
                any = true;
            }
}

static const Pst__Limits *limits_or_none(const Pst__Limits *l)
{
    static const Pst__Limits none = PST__LIMITS__INIT;

    return l ? l : &none;
}

/* ---- records --------------------------------------------------------------------------------- */

static void put_user(const Pst__AssocMgrRecord *r)
{
    static const char *const levels[] = { "Not Set", "None", "Operator", "Administrator" };
    unsigned level = r->user->has_admin_level ? (unsigned)r->user->admin_level : 1;

    (void)printf("UserName=%s(%u) DefAccount=%s DefWckey=%s AdminLevel=%s\n", r->user->name,
                 uid_of(r->user->name), r->default_account ? r->default_account : "(null)",
                 r->default_wckey ? r->default_wckey : "",
                 level < ARRAY_SIZE(levels) ? levels[level] : "None");
}

#define LIST(name, field) put_limits(name, r->tres, r->n_tres, l->field, l->n_##field)
#define USED(name, field, use) put_used(name, r->tres, r->n_tres, l->field, l->n_##field, use)

/* The group's limits, which associations and QOS share. */
static void put_group(const Pst__AssocMgrRecord *r, const Pst__Limits *l, const char *middle)
{
    (void)printf("    ");
    put_number("GrpJobs", l->has_grp_jobs, l->grp_jobs, r->jobs);
    (void)printf(" ");
    put_number("GrpJobsAccrue", l->has_grp_jobs_accrue, l->grp_jobs_accrue, r->accruing);
    (void)printf("%s", middle);
    put_number("GrpSubmitJobs", l->has_grp_submit_jobs, l->grp_submit_jobs, r->submitted);
    (void)printf(" ");
    put_wall(l->has_grp_wall_min, l->grp_wall_min, r->wall_minutes);
    (void)printf("\n    ");
    USED("GrpTRES", grp_tres, USE_NOW);
    (void)printf("\n    ");
    USED("GrpTRESMins", grp_tres_mins, USE_MINUTES);
    (void)printf("\n    ");
    USED("GrpTRESRunMins", grp_tres_run_mins, USE_RUNNING);
    (void)printf("\n");
}

/* The limits of one job, which associations and QOS share. */
static void put_per_job(const Pst__AssocMgrRecord *r, const Pst__Limits *l)
{
    put_plain("MaxWallPJ", l->has_max_wall_min, l->max_wall_min);
    (void)printf("\n    ");
    LIST("MaxTRESPJ", max_tres_per_job);
    (void)printf("\n    ");
    LIST("MaxTRESPN", max_tres_per_node);
    (void)printf("\n    ");
    LIST("MaxTRESMinsPJ", max_tres_mins_per_job);
    (void)printf("\n    ");
    put_plain("MinPrioThresh", l->has_min_prio_threshold, l->min_prio_threshold);
}

static void put_user_number(const char *name, bool user, bool has, int64_t limit, uint64_t used)
{
    if (user && has && limit >= 0)
        put_number(name, has, limit, used);
    else
        put_plain(name, has, limit);
}

static void put_assoc(const Pst__AssocMgrRecord *r)
{
    const Pst__AssocRecord *a = r->assoc;
    const Pst__Limits *l = limits_or_none(a->limits);
    bool user = a->user && *a->user;

    (void)printf("ClusterName=%s Account=%s UserName=%s", a->cluster, a->account,
                 user ? a->user : "");
    if (user)
        (void)printf("(%u)", uid_of(a->user));
    (void)printf(" Partition=%s Priority=%u ID=%u\n", a->partition ? a->partition : "", a->priority,
                 a->assoc_id);
    (void)printf("    SharesRaw/Norm/Level/Factor=%u/%.2f/%u/%.2f\n", a->has_shares ? a->shares : 1,
                 r->shares_norm, r->shares_level, r->factor);
    (void)printf("    UsageRaw/Norm/Efctv=%.2f/%.2f/%.2f\n", r->usage_raw, r->usage_norm,
                 r->usage_effective);
    (void)printf("    ParentAccount=%s", r->parent_account ? r->parent_account : "");
    if (r->parent_account)
        (void)printf("(%u)", a->parent_id);
    (void)printf(" Lineage=%s DefAssoc=%s\n", r->lineage, a->is_default ? "Yes" : "No");
    put_group(r, l, "\n    ");
    (void)printf("    ");
    put_user_number("MaxJobs", user, l->has_max_jobs, l->max_jobs, r->jobs);
    (void)printf(" ");
    put_user_number("MaxJobsAccrue", user, l->has_max_jobs_accrue, l->max_jobs_accrue, r->accruing);
    (void)printf(" ");
    put_user_number("MaxSubmitJobs", user, l->has_max_submit_jobs, l->max_submit_jobs,
                    r->own_submitted);
    (void)printf(" ");
    put_per_job(r, l);
    (void)printf("\n    Comment=%s\n", a->comment && *a->comment ? a->comment : "(null)");
}

#define PART_USED(name, field, what)                                                               \
    put_used(name, p->tres, p->n_tres, l->field, l->n_##field, what)

/* One user's or account's part of a QOS. */
static void put_part(const Pst__LimitUse *p, const Pst__Limits *l)
{
    const struct passwd *pw = p->account ? NULL : getpwuid(p->uid);
    bool user = !p->account;

    (void)printf("      %s", p->account ? p->account : pw ? pw->pw_name : "");
    if (user)
        (void)printf("(%u)", p->uid);
    (void)printf("\n        ");
    put_number(user ? "MaxJobsPU" : "MaxJobsPA",
               user ? l->has_max_jobs_per_user : l->has_max_jobs_per_account,
               user ? l->max_jobs_per_user : l->max_jobs_per_account, p->jobs);
    (void)printf(" ");
    put_number(user ? "MaxJobsAccruePU" : "MaxJobsAccruePA",
               user ? l->has_max_jobs_accrue_per_user : l->has_max_jobs_accrue_per_account,
               user ? l->max_jobs_accrue_per_user : l->max_jobs_accrue_per_account, p->accruing);
    (void)printf(" ");
    put_number(user ? "MaxSubmitJobsPU" : "MaxSubmitJobsPA",
               user ? l->has_max_submit_jobs_per_user : l->has_max_submit_jobs_per_account,
               user ? l->max_submit_jobs_per_user : l->max_submit_jobs_per_account, p->submitted);
    (void)printf("\n        ");
    if (user) {
        PART_USED("MaxTRESPU", max_tres_per_user, USE_NOW);
        (void)printf("\n        ");
        PART_USED("MaxTRESRunMinsPU", max_tres_run_mins_per_user, USE_RUNNING);
    } else {
        PART_USED("MaxTRESPA", max_tres_per_account, USE_NOW);
        (void)printf("\n        ");
        PART_USED("MaxTRESRunMinsPA", max_tres_run_mins_per_account, USE_RUNNING);
    }
    (void)printf("\n");
}

static void put_parts(const Pst__AssocMgrRecord *r, const Pst__Limits *l, bool accounts)
{
    bool any = false;

    (void)printf("    %s Limits\n", accounts ? "Account" : "User");
    for (size_t i = 0; i < r->n_parts; i++)
        if ((r->parts[i]->account != NULL) == accounts) {
            put_part(r->parts[i], l);
            any = true;
        }
    if (!any)
        (void)printf("        No %s\n", accounts ? "Accounts" : "Users");
}

/* "GANG,SUSPEND": gang stands before the others.  OFF: as the cluster's. */
static void put_preempt_mode(const Pst__QosRecord *q)
{
    const uint32_t gang = 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_GANG;
    uint32_t bits = q->has_preempt_mode && q->preempt_mode != UINT32_MAX ? q->preempt_mode : 0;
    bool any = bits & gang;

    (void)printf("%s", any ? "GANG" : bits ? "" : "OFF");
    for (unsigned i = 0; store_preempt_word(i); i++)
        if (bits & ~gang & 1u << i) {
            (void)printf("%s%s", any ? "," : "", store_preempt_word(i));
            any = true;
        }
}

static void put_qos(const Pst__AssocMgrRecord *r)
{
    const Pst__QosRecord *q = r->qos;
    const Pst__Limits *l = limits_or_none(q->limits);

    (void)printf("QOS=%s(%u)\n    UsageRaw=%f\n", q->name, q->qos_id, r->usage_raw);
    put_group(r, l, " ");
    (void)printf("    ");
    put_per_job(r, l);
    (void)printf(" \n    ");
    LIST("MinTRESPJ", min_tres_per_job);
    (void)printf("\n    PreemptMode=");
    put_preempt_mode(q);
    (void)printf("\n    Priority=%u\n", q->priority);
    put_parts(r, l, true);
    put_parts(r, l, false);
}
#undef LIST
#undef USED
#undef PART_USED

struct print {
    unsigned section; /* printed last: 0 none, 1 users, 2 associations, 3 QOS */
    uint32_t wanted;  /* bits of enum AssocMgrPart; 0 = all */
};

#define SECTIONS 3

/* The sections up to this one that have no records. */
static void pass_sections(struct print *p, unsigned section)
{
    static const struct {
        Pst__AssocMgrPart part;
        const char *things;
    } sections[] = { [1] = { PST__ASSOC_MGR_PART__ASSOC_MGR_USERS, "users" },
                     [2] = { PST__ASSOC_MGR_PART__ASSOC_MGR_ASSOCS, "associations" },
                     [3] = { PST__ASSOC_MGR_PART__ASSOC_MGR_QOS, "QOS" } };

    for (unsigned i = p->section + 1; i < section; i++)
        if (!p->wanted || p->wanted >> sections[i].part & 1)
            (void)printf("\nNo %s currently cached in Slurm.\n\n", sections[i].things);
}

static int on_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    static const char *const titles[] = { "", "User", "Association", "QOS" };
    const Pst__AssocMgrRecord *r = (const Pst__AssocMgrRecord *)record;
    struct print *p = ctx;
    unsigned section = r->user ? 1 : r->assoc ? 2 : 3;

    (void)info;
    if (section != p->section) {
        pass_sections(p, section);
        (void)printf("\n%s Records\n\n", titles[section]);
    }
    p->section = section;
    if (r->user)
        put_user(r);
    else if (r->assoc)
        put_assoc(r);
    else if (r->qos)
        put_qos(r);
    return 0;
}

/* One line a record: what is indented belongs to the line above, a heading has a = in place of the
 * line's end, and empty lines go. */
static void print_folded(const char *text)
{
    const char *between = "";

    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n"), lead = strspn(p, " ");

        if (len > lead) {
            bool heading = len > 7 && memcmp(p + len - 7, " Limits", 7) == 0;

            (void)printf("%s%.*s",
                         lead        ? between
                         : p == text ? ""
                                     : "\n",
                         (int)(len - lead), p + lead);
            between = heading ? "=" : " ";
        }
        p += len + (p[len] == '\n');
    }
    (void)printf("\n");
}

/* Run the query; records that have to be folded are gathered first. */
static int print_assocs(struct scontrol *s, struct client *c, const Pst__AssocMgrRequest *req)
{
    struct print p = { .wanted = req->has_parts ? req->parts : 0 };
    FILE *out = stdout;
    char *text = NULL;
    size_t size = 0;
    int r;

    if (s->show.oneliner)
        stdout = open_memstream(&text, &size);
    if (!stdout) {
        stdout = out;
        return -ENOMEM;
    }
    (void)printf("Current Association Manager state\n");
    r = query_run(c, OP_QUERY_ASSOCS, &req->base, &pst__assoc_mgr_record__descriptor, on_record, &p,
                  NULL);
    if (r >= 0)
        pass_sections(&p, SECTIONS + 1);
    if (stdout != out) {
        (void)fclose(stdout); /* text is complete now */
        stdout = out;
        print_folded(text);
        free(text);
    }
    return r;
}

/* A word that is none of the arguments; a flag that is unknown leaves the exit status alone. */
static void fail_word(struct scontrol *s, const char *word)
{
    const char *value = strchr(word, '=');

    if (value && strncasecmp(word, "flags=", 6) == 0)
        (void)fprintf(stderr, "invalid flag '%s', valid options are 'Assoc, QOS, and/or Users'\n",
                      value + 1);
    else
        scontrol_missing(s, stderr, "invalid entity: %s for keyword:show assoc_mgr", word);
}

void scontrol_show_assocs(struct scontrol *s, int argc, char **argv)
{
    Pst__AssocMgrRequest req = PST__ASSOC_MGR_REQUEST__INIT;
    char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    bool good = true;
    int r;

    for (int i = 0; good && i < argc; i++) {
        words[i] = xstrdup_or_die(argv[i]);
        good = take_word(&req, words[i]);
        if (!good)
            fail_word(s, argv[i]);
    }
    if (good) {
        struct client *c = scontrol_client(s, "show assoc_mgr");

        r = print_assocs(s, c, &req);
        if (r < 0)
            scontrol_fail(s, "slurm_load_assoc_mgr_info error: %s", client_strerror(c, r));
    }
    for (int i = 0; i < argc; i++)
        free(words[i]);
    free(words);
    free(req.users);
    free(req.accounts);
    free(req.qos);
}
