/* sacctmgr_dump.c - a cluster's accounts as a file that load reads
 *
 * Parents come before their children.  What an association inherits is not written. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "cli/base/ownfile.h"
#include "cli/sacctmgr/sacctmgr.h"

static const char head[] =
    "# To edit this file start with a cluster line for the new cluster\n"
    "# Cluster - 'cluster_name':MaxTRESPerJob=node=50\n"
    "# Followed by Accounts you want in this fashion (root is created by default)...\n"
    "# Parent - 'root'\n"
    "# Account - 'cs':MaxTRESPerJob=node=5:MaxJobs=4:MaxTRESMinsPerJob=cpu=20:FairShare=399:"
    "MaxWallDurationPerJob=40:Description='Computer Science':Organization='LC'\n"
    "# Any of the options after a ':' can be left out and they can be in any order.\n"
    "# If you want to add any sub accounts just list the Parent THAT HAS ALREADY\n"
    "# BEEN CREATED before the account line in this fashion...\n"
    "# Parent - 'cs'\n"
    "# Account - 'test':MaxTRESPerJob=node=1:MaxJobs=1:MaxTRESMinsPerJob=cpu=1:FairShare=1:"
    "MaxWallDurationPerJob=1:Description='Test Account':Organization='Test'\n"
    "# To add users to a account add a line like this after a Parent - 'line'\n"
    "# User - 'lipari':MaxTRESPerJob=node=2:MaxJobs=3:MaxTRESMinsPerJob=cpu=4:FairShare=1:"
    "MaxWallDurationPerJob=1\n";

/* Limits as the file names them, in its order. */
static const struct {
    const char *name, *field;
} limits[] = {
    { "GrpTRESMins", "grp_tres_mins" },
    { "GrpTRESRunMins", "grp_tres_run_mins" },
    { "GrpTRES", "grp_tres" },
    { "GrpJobs", "grp_jobs" },
    { "GrpJobsAccrue", "grp_jobs_accrue" },
    { "GrpSubmitJobs", "grp_submit_jobs" },
    { "GrpWall", "grp_wall_min" },
    { "MaxTRESMinsPerJob", "max_tres_mins_per_job" },
    { "MaxTRESRunMins", "max_tres_run_mins" },
    { "MaxTRESRunMinsPerAccount", "max_tres_run_mins_per_account" },
    { "MaxTRESRunMinsPerUser", "max_tres_run_mins_per_user" },
    { "MaxTRESPerAccount", "max_tres_per_account" },
    { "MaxTRESPerJob", "max_tres_per_job" },
    { "MaxTRESPerNode", "max_tres_per_node" },
    { "MaxTRESPerUser", "max_tres_per_user" },
    { "MaxJobs", "max_jobs" },
    { "MaxJobsAccrue", "max_jobs_accrue" },
    { "MaxJobsAccruePA", "max_jobs_accrue_per_account" },
    { "MaxJobsAccruePU", "max_jobs_accrue_per_user" },
    { "MaxJobsPA", "max_jobs_per_account" },
    { "MaxJobsPU", "max_jobs_per_user" },
    { "MaxSubmitJobs", "max_submit_jobs" },
    { "MaxSubmitJobsPA", "max_submit_jobs_per_account" },
    { "MaxSubmitJobsPU", "max_submit_jobs_per_user" },
    { "MaxWallDurationPerJob", "max_wall_min" },
    { "MinPrioThreshold", "min_prio_threshold" },
    { "MinTRESPerJob", "min_tres_per_job" },
};

struct dump {
    struct smgr *s;
    FILE *f;
    Pst__AssocRecord **assocs;
    size_t n_assocs;
    ProtobufCMessage **users, **accounts, **wckeys;
    size_t n_users, n_accounts, n_wckeys;
    Pst__AssocRecord **defaults; /* of users, borrowed from assocs */
    size_t n_defaults;
    const char *cluster;
    struct strbuf sb;
};

static int keep_assoc(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct dump *d = ctx;
    ProtobufCMessage *copy;

    (void)info;
    check_mem_or_die(pb_dup(record, &copy));
    if ((d->n_assocs & (d->n_assocs - 1)) == 0)
        d->assocs =
            xrealloc_or_die(d->assocs, d->n_assocs ? d->n_assocs * 2 : 1, sizeof(*d->assocs));
    d->assocs[d->n_assocs++] = (Pst__AssocRecord *)copy;
    return 0;
}

static void keep_in(ProtobufCMessage ***list, size_t *n, const ProtobufCMessage *record)
{
    if ((*n & (*n - 1)) == 0)
        *list = xrealloc_or_die(*list, *n ? *n * 2 : 1, sizeof(**list));
    check_mem_or_die(pb_dup(record, &(*list)[*n]));
    (*n)++;
}

static int keep_user(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct dump *d = ctx;

    (void)info;
    keep_in(&d->users, &d->n_users, record);
    return 0;
}

static int keep_account(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct dump *d = ctx;

    (void)info;
    keep_in(&d->accounts, &d->n_accounts, record);
    return 0;
}

static int keep_wckey(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct dump *d = ctx;

    (void)info;
    keep_in(&d->wckeys, &d->n_wckeys, record);
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    const Pst__WckeyRecord *const *x = a, *const *y = b;
    int r = strcmp((*x)->user, (*y)->user);

    return r ? r : ((*x)->wckey_id > (*y)->wckey_id) - ((*x)->wckey_id < (*y)->wckey_id);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_limits(struct dump *d, const Pst__Limits *l, const char *after, const char *until)
{
    const char *base = (const char *)l;

    for (size_t i = 0; l && i < ARRAY_SIZE(limits); i++) {
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(
            &pst__limits__descriptor, limits[i].field);

        if (strcmp(limits[i].name, after) < 0 || strcmp(limits[i].name, until) >= 0)
            continue;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t n = *(const size_t *)(base + f->quantifier_offset);

            if (n) {
                strbuf_addf(&d->sb, ":%s=", limits[i].name);
                smgr_put_tres(d->s, &d->sb, *(Pst__TresCount *const *const *)(base + f->offset), n);
            }
        } else if (*(const protobuf_c_boolean *)(base + f->quantifier_offset)) {
            strbuf_addf(&d->sb, ":%s=%d", limits[i].name, *(const int32_t *)(base + f->offset));
        }
    }
}

static void put_text(struct dump *d, const char *name, const char *value)
{
    char quote = value && strchr(value, '\'') ? '"' : '\'';
    size_t start;

    if (!value || !*value)
        return;
    strbuf_addf(&d->sb, ":%s=%c", name, quote);
    start = d->sb.len;
    strbuf_add(&d->sb, value);
    for (size_t i = start; i < d->sb.len; i++)
        if (d->sb.buf[i] == '"' && quote == '"')
            d->sb.buf[i] = '\''; /* what follows would be taken for keys when it is loaded */
    strbuf_addc(&d->sb, quote);
}

static void put_qos_list(struct dump *d, const Pst__AssocRecord *a)
{
    struct strbuf list = STRBUF_INIT;

    smgr_put_qos_list(d->s, &list, a->qos_ids, a->n_qos_ids);
    for (int sign = 0; sign < 2; sign++)
        for (size_t i = 0; i < (sign ? a->n_qos_removed : a->n_qos_added); i++) {
            const char *name = smgr_qos_name(d->s, sign ? a->qos_removed[i] : a->qos_added[i]);

            if (name)
                strbuf_addf(&list, "%s%c%s", list.len ? "," : "", sign ? '-' : '+', name);
        }
    put_text(d, "QOS", strbuf_str(&list));
    strbuf_done(&list);
}

static void put_assoc(struct dump *d, const Pst__AssocRecord *a)
{
    put_text(d, "Comment", a->comment);
    if (a->has_default_qos_id)
        put_text(d, "DefaultQOS", smgr_qos_name(d->s, a->default_qos_id));
    if (a->shares_parent)
        strbuf_add(&d->sb, ":Fairshare=parent");
    else
        strbuf_addf(&d->sb, ":Fairshare=%u", a->has_shares ? a->shares : 1);
    put_limits(d, a->limits, "", "~");
    if (a->has_priority)
        strbuf_addf(&d->sb, ":Priority=%u", a->priority);
    put_qos_list(d, a);
}

/* One chunk to the file, and told. */
static void finish_lines(struct dump *d)
{
    strbuf_addc(&d->sb, '\n');
    if (fputs(strbuf_str(&d->sb), d->f) == EOF && !d->s->status)
        d->s->status = CLI_EXIT_FAILED; /* fclose tells why */
    if (!d->s->quiet)
        (void)fprintf(stderr, "sacctmgr: %s",
                      strbuf_str(&d->sb)); /* a failure here cannot be told */
    strbuf_reset(&d->sb);
}

/* As load reads it: a bare number is minutes. */
static void put_exempt_time(struct dump *d, uint32_t s)
{
    char text[32];

    if (s % 60 == 0) {
        strbuf_addf(&d->sb, ":PreemptExemptTime=%u", s / 60);
        return;
    }
    (void)snprintf(text, sizeof(text), "%02u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
    put_text(d, "PreemptExemptTime", text);
}

static void put_qos_line(struct dump *d, const Pst__QosRecord *q)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&d->sb, "QOS - '%s'", q->name);
    put_text(d, "Description", q->description);
    smgr_put_qos_flags(&text, q->flags);
    put_text(d, "Flags", strbuf_str(&text));
    strbuf_reset(&text);
    if (q->has_grace_s && q->grace_s)
        strbuf_addf(&d->sb, ":GraceTime=%u", q->grace_s);
    put_limits(d, q->limits, "", "LimitFactor");
    if (q->has_limit_factor)
        strbuf_addf(&d->sb, ":LimitFactor=%f", q->limit_factor);
    put_limits(d, q->limits, "LimitFactor", "~");
    smgr_put_qos_list(d->s, &text, q->preempt_ids, q->n_preempt_ids);
    put_text(d, "Preempt", strbuf_str(&text));
    strbuf_reset(&text);
    if (q->has_preempt_mode && q->preempt_mode != UINT32_MAX) {
        for (unsigned i = 0; store_preempt_word(i); i++)
            if (q->preempt_mode & 1u << i)
                strbuf_addf(&text, "%s%s", text.len ? "," : "", store_preempt_word(i));
        put_text(d, "PreemptMode", strbuf_str(&text));
    }
    if (q->has_preempt_exempt_s && q->preempt_exempt_s != UINT32_MAX)
        put_exempt_time(d, q->preempt_exempt_s);
    if (q->priority)
        strbuf_addf(&d->sb, ":Priority=%u", q->priority);
    if (q->has_usage_factor && (q->usage_factor < 1 || q->usage_factor > 1))
        strbuf_addf(&d->sb, ":UsageFactor=%f", q->usage_factor);
    if (q->has_usage_threshold)
        strbuf_addf(&d->sb, ":UsageThreshold=%f", q->usage_threshold);
    strbuf_addc(&d->sb, '\n');
    strbuf_done(&text);
}

static const Pst__UserRecord *user_of(const struct dump *d, const char *name)
{
    for (size_t i = 0; i < d->n_users; i++)
        if (strcmp(((const Pst__UserRecord *)d->users[i])->name, name) == 0)
            return (const Pst__UserRecord *)d->users[i];
    return NULL;
}

static const Pst__AccountRecord *account_of(const struct dump *d, const char *name)
{
    for (size_t i = 0; i < d->n_accounts; i++)
        if (strcasecmp(((const Pst__AccountRecord *)d->accounts[i])->name, name) == 0)
            return (const Pst__AccountRecord *)d->accounts[i];
    return NULL;
}

static int compare_users(const void *a, const void *b)
{
    return strcmp((*(Pst__AssocRecord *const *)a)->user, (*(Pst__AssocRecord *const *)b)->user);
}

/* Default associations and keys by user, so that a line finds its own without a walk. */
static void sort_by_user(struct dump *d)
{
    d->defaults = xrealloc_or_die(d->defaults, d->n_assocs + 1, sizeof(*d->defaults));
    for (size_t i = 0; i < d->n_assocs; i++)
        if (d->assocs[i]->is_default && d->assocs[i]->user)
            d->defaults[d->n_defaults++] = d->assocs[i];
    qsort(d->defaults, d->n_defaults, sizeof(*d->defaults), compare_users);
    if (d->n_wckeys)
        qsort(d->wckeys, d->n_wckeys, sizeof(*d->wckeys), compare_keys);
}

static const char *default_account_of(const struct dump *d, const char *user)
{
    Pst__AssocRecord key = PST__ASSOC_RECORD__INIT;
    Pst__AssocRecord *const at = &key;
    Pst__AssocRecord **found;

    key.user = (char *)user; /* only compared */
    found = d->n_defaults
                ? bsearch(&at, d->defaults, d->n_defaults, sizeof(*d->defaults), compare_users)
                : NULL;
    return found ? (*found)->account : NULL;
}

static void put_wckeys(struct dump *d, const char *user)
{
    struct strbuf list = STRBUF_INIT;
    size_t low = 0, high = d->n_wckeys;

    while (low < high) { /* the first key of the user */
        size_t middle = low + (high - low) / 2;

        if (strcmp(((const Pst__WckeyRecord *)d->wckeys[middle])->user, user) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < d->n_wckeys; low++) {
        const Pst__WckeyRecord *w = (const Pst__WckeyRecord *)d->wckeys[low];

        if (strcmp(w->user, user) != 0)
            break;
        if (*w->name && *w->name != '*') /* not those that only jobs have made */
            strbuf_addf(&list, "%s%s", list.len ? "," : "", w->name);
    }
    put_text(d, "WCKeys", strbuf_str(&list));
    strbuf_done(&list);
}

static void put_coordinated(struct dump *d, const char *user)
{
    struct strbuf coords = STRBUF_INIT;

    for (size_t i = 0; i < d->n_accounts; i++) {
        const Pst__AccountRecord *acct = (const Pst__AccountRecord *)d->accounts[i];

        for (size_t k = 0; k < acct->n_coordinators; k++)
            if (strcmp(acct->coordinators[k], user) == 0)
                strbuf_addf(&coords, "%s%s", coords.len ? "," : "", acct->name);
    }
    put_text(d, "Coordinator", strbuf_str(&coords));
    strbuf_done(&coords);
}

/* Every line of a user tells all that is the user's own. */
static void put_user(struct dump *d, const Pst__AssocRecord *a)
{
    const Pst__UserRecord *u = user_of(d, a->user);

    strbuf_addf(&d->sb, "User - '%s'", a->user);
    put_text(d, "Partition", a->partition);
    put_text(d, "DefaultAccount", default_account_of(d, a->user));
    if (u && u->default_wckey)
        put_text(d, "DefaultWCKey", u->default_wckey);
    put_wckeys(d, a->user);
    if (u && u->admin_level > PST__ADMIN_LEVEL__ADMIN_NONE)
        put_text(d, "AdminLevel", store_admin_word(u->admin_level));
    put_coordinated(d, a->user);
    put_assoc(d, a);
    finish_lines(d);
}

static void put_account(struct dump *d, const Pst__AssocRecord *a)
{
    const Pst__AccountRecord *acct = account_of(d, a->account);

    strbuf_addf(&d->sb, "Account - '%s'", a->account);
    put_text(d, "Description", acct ? acct->description : NULL);
    put_text(d, "Organization", acct ? acct->organization : NULL);
    put_text(d, "Flags", acct && acct->users_are_coords ? "UsersAreCoords" : NULL);
    put_assoc(d, a);
    finish_lines(d);
}

static bool is_user(const Pst__AssocRecord *a)
{
    return a->user && *a->user;
}

static bool is_child(const Pst__AssocRecord *a, const Pst__AssocRecord *parent)
{
    return a->has_parent_id && a->parent_id == parent->assoc_id;
}

/* An account's users and accounts, and then what those have.  The list is in the order of the tree,
 * so all of it stands behind the account. */
static void put_below(struct dump *d, size_t at)
{
    const Pst__AssocRecord *parent = d->assocs[at];
    size_t len = parent->lineage ? strlen(parent->lineage) : 0, end = at + 1;
    bool any = false;

    while (end < d->n_assocs && d->assocs[end]->lineage && parent->lineage &&
           strncmp(d->assocs[end]->lineage, parent->lineage, len) == 0)
        end++;
    for (int users = 1; users >= 0; users--)
        for (size_t i = at + 1; i < end; i++) {
            if (!is_child(d->assocs[i], parent) || is_user(d->assocs[i]) != users)
                continue;
            if (!any) {
                strbuf_addf(&d->sb, "Parent - '%s'", parent->account);
                finish_lines(d);
            }
            any = true;
            if (users)
                put_user(d, d->assocs[i]);
            else
                put_account(d, d->assocs[i]);
        }
    for (size_t i = at + 1; i < end; i++)
        if (is_child(d->assocs[i], parent) && !is_user(d->assocs[i]))
            put_below(d, i);
}

static void put_all(struct dump *d)
{
    size_t root = 0;

    sort_by_user(d);
    if (fputs(head, d->f) == EOF)
        d->s->status = CLI_EXIT_FAILED; /* fclose tells why */
    for (size_t i = 0; i < d->s->names.n_qos; i++)
        put_qos_line(d, d->s->names.qos[i]);
    while (root < d->n_assocs && (d->assocs[root]->has_parent_id || is_user(d->assocs[root])))
        root++;
    if (root == d->n_assocs)
        return;
    strbuf_addf(&d->sb, "Cluster - '%s'", d->cluster);
    put_assoc(d, d->assocs[root]);
    finish_lines(d);
    put_below(d, root);
}

static void dump_done(struct dump *d)
{
    for (size_t i = 0; i < d->n_assocs; i++)
        pst__assoc_record__free_unpacked(d->assocs[i], NULL);
    for (size_t i = 0; i < d->n_users; i++)
        protobuf_c_message_free_unpacked(d->users[i], NULL);
    for (size_t i = 0; i < d->n_accounts; i++)
        protobuf_c_message_free_unpacked(d->accounts[i], NULL);
    for (size_t i = 0; i < d->n_wckeys; i++)
        protobuf_c_message_free_unpacked(d->wckeys[i], NULL);
    free(d->assocs);
    free(d->wckeys);
    free(d->defaults);
    free(d->users);
    free(d->accounts);
    strbuf_done(&d->sb);
}

static bool fetch_records(struct dump *d)
{
    static const Pst__AcctCond all = PST__ACCT_COND__INIT;
    Pst__AcctCond where = PST__ACCT_COND__INIT, keys = PST__ACCT_COND__INIT;
    char *clusters[] = { (char *)d->cluster }; /* only packed */

    where.n_clusters = keys.n_clusters = 1;
    where.clusters = keys.clusters = clusters;
    where.has_raw_qos = where.raw_qos = 1;
    where.has_no_inherited_limits = where.no_inherited_limits = 1;
    smgr_load_qos(d->s);
    smgr_load_tres(d->s);
    return smgr_list(d->s, PST__ACCT_ENTITY__ACCT_ASSOC, &where, keep_assoc, d) &&
           smgr_list(d->s, PST__ACCT_ENTITY__ACCT_USER, &all, keep_user, d) &&
           smgr_list(d->s, PST__ACCT_ENTITY__ACCT_ACCOUNT, &all, keep_account, d) &&
           smgr_list(d->s, PST__ACCT_ENTITY__ACCT_WCKEY, &keys, keep_wckey, d);
}

/* Administrators alone: a file with every user of the site. */
static bool may_dump(const struct dump *d)
{
    uid_t uid = geteuid();
    const struct passwd *pw = getpwuid(uid);
    const Pst__UserRecord *u = pw ? user_of(d, pw->pw_name) : NULL;

    return uid == 0 || uid == conf_slurm_uid(cli_conf(&d->s->cli)) ||
           (u && u->admin_level >= PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR);
}

/* NULL with errno set.  named: by the caller. */
static FILE *open_file(const char *path, bool named)
{
    int fd = named ? -1 : ownfile_create(path, 0666);

    if (named)
        return fopen(path, "we");
    if (fd < 0)
        errno = -fd;
    return fd < 0 ? NULL : fdopen(fd, "w");
}

void smgr_dump(struct smgr *s, int n, char **words)
{
    struct dump d = { .s = s };
    _cleanup_free_ char *path = NULL;

    for (int i = 0; i < n; i++) {
        if (strncasecmp(words[i], "file=", 5) == 0 || strncasecmp(words[i], "f=", 2) == 0) {
            free(path);
            path = xstrdup_or_die(strchr(words[i], '=') + 1);
        } else if (strncasecmp(words[i], "cluster=", 8) == 0) {
            d.cluster = words[i] + 8;
        } else if (!strchr(words[i], '=') && !d.cluster) {
            d.cluster = words[i];
        } else if (!strchr(words[i], '=')) {
            smgr_fail(s, " Can only do one cluster at a time.  Already doing %s\n", d.cluster);
        } else {
            smgr_fail(s, " Unknown option: %s\n", words[i]);
            return;
        }
    }
    if (!d.cluster) {
        smgr_fail(s, " We need a cluster to dump.\n");
        return;
    }
    if (!fetch_records(&d)) {
        dump_done(&d);
        return;
    }
    if (!d.n_assocs) {
        smgr_fail(s, " Cluster %s doesn't exist.\n", d.cluster);
    } else if (!may_dump(&d)) {
        smgr_fail(s, " Your user does not have sufficient privileges to dump clusters.\n");
    } else {
        bool named = path != NULL;

        if (!named) {
            path = xasprintf_or_die("./%s.cfg", d.cluster);
            printf(" No filename given, using %s.\n", path);
            (void)fflush(stdout); /* it shows when it does */
        }
        d.f = open_file(path, named);
        if (!d.f) {
            smgr_fail(s, "Can't open file %s, %s\n", path, strerror(errno));
        } else {
            put_all(&d);
            if (fclose(d.f) != 0)
                smgr_fail(s, "sacctmgr: error: cannot write %s: %s\n", path, strerror(errno));
        }
    }
    dump_done(&d);
}
