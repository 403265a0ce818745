/* sacctmgr_fields.c - the columns of lists
 *
 * Names of format= and headings are not always the same words.  What a cell says is in
 * sacctmgr_cells.c. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/fmt_core.h"
#include "cli/sacctmgr/sacctmgr_cells.h"

static const struct smgr_field fields[] = {
    { "Acct", 4, "Account", 10, C_ACCOUNT, NULL },
    { "Account", 3, "Account", 10, C_ACCOUNT, NULL },
    { "Action", 4, "Action", 20, C_ACTION, NULL },
    { "Actor", 4, "Actor", 10, C_ACTOR, NULL },
    { "AdminLevel", 2, "Admin", 9, C_ADMIN, NULL },
    { "Allocated", 4, "Allocated", 9, C_ALLOCATED, NULL },
    { "Allowed", 3, "Allowed", 8, C_ALLOWED, NULL },
    { "Associations", 3, "Assocs", 10, C_ASSOCS, NULL },
    { "Classification", 3, "Class", 9, C_CLASS, NULL },
    { "Cluster", 2, "Cluster", 10, C_CLUSTER, NULL },
    { "ClusterNodes", 8, "Cluster Nodes", 20, C_CLUSTER_NODES, NULL },
    { "Comment", 3, "Comment", 20, C_COMMENT, NULL },
    { "ControlHost", 8, "ControlHost", 15, C_CONTROL_HOST, NULL },
    { "ControlPort", 8, "ControlPort", 12, C_CONTROL_PORT, NULL },
    { "Coordinators", 4, "Coord Accounts", 20, C_COORD, NULL },
    { "Count", 4, "Count", 6, C_COUNT, NULL },
    { "CPUCount", 2, "CPU Cnt", 7, C_CPU, NULL },
    { "DefaultAccount", 8, "Def Acct", 10, C_DEF_ACCOUNT, NULL },
    { "DefAcct", 4, "Def Acct", 10, C_DEF_ACCOUNT, NULL },
    { "DefaultQOS", 8, "Def QOS", 9, C_DEF_QOS, NULL },
    { "DefQOS", 4, "Def QOS", 9, C_DEF_QOS, NULL },
    { "DefaultWCKey", 8, "Def WCKey", 10, C_DEF_WCKEY, NULL },
    { "Description", 3, "Descr", 20, C_DESCR, NULL },
    { "Duration", 2, "Duration", 13, C_DURATION, NULL },
    { "End", 2, "TimeEnd", 19, C_TIME_END, NULL },
    { "EventRaw", 6, "EventRaw", 8, C_EVENT_RAW, NULL },
    { "Event", 2, "Event", 7, C_EVENT, NULL },
    { "Extra", 2, "Extra", 20, C_EXTRA, NULL },
    { "Fairshare", 2, "Share", 9, C_FAIRSHARE, NULL },
    { "Features", 3, "Features", 20, C_FEATURES, NULL },
    { "Federation", 3, "Federation", 10, C_FEDERATION, NULL },
    { "FedState", 4, "FedState", 12, C_FED_STATE, NULL },
    { "FedStateRaw", 9, "FedStateRaw", 12, C_FED_STATE_RAW, NULL },
    { "FedID", 4, "ID", 2, C_FED_ID, NULL },
    { "Flags", 2, "Flags", 20, C_FLAGS, NULL },
    { "GraceTime", 3, "GraceTime", 10, C_GRACE, NULL },
    { "GrpCPUMins", 8, "GrpCPUMins", 11, C_LIMIT_ONE, "1grp_tres_mins" },
    { "GrpCPURunMins", 8, "GrpCPURunMins", 13, C_LIMIT_ONE, "1grp_tres_run_mins" },
    { "GrpCPUs", 7, "GrpCPUs", 8, C_LIMIT_ONE, "1grp_tres" },
    { "GrpMemory", 4, "GrpMem", 7, C_LIMIT_ONE, "2grp_tres" },
    { "GrpNodes", 4, "GrpNodes", 8, C_LIMIT_ONE, "4grp_tres" },
    { "GrpTRES", 7, "GrpTRES", 13, C_LIMIT_TRES, "grp_tres" },
    { "GrpTRESMins", 8, "GrpTRESMins", 13, C_LIMIT_TRES, "grp_tres_mins" },
    { "GrpTRESRunMins", 8, "GrpTRESRunMins", 13, C_LIMIT_TRES, "grp_tres_run_mins" },
    { "GrpJobs", 4, "GrpJobs", 7, C_LIMIT, "grp_jobs" },
    { "GrpJobsAccrue", 8, "GrpJobsAccrue", 13, C_LIMIT, "grp_jobs_accrue" },
    { "GrpSubmitJobs", 4, "GrpSubmit", 9, C_LIMIT, "grp_submit_jobs" },
    { "GrpWall", 4, "GrpWall", 11, C_LIMIT_TIME, "grp_wall_min" },
    { "ID", 2, "ID", 6, C_ID, NULL },
    { "Info", 3, "Info", 20, C_INFO, NULL },
    { "InstanceId", 9, "InstanceId", 20, C_INSTANCE_ID, NULL },
    { "InstanceType", 9, "InstanceType", 20, C_INSTANCE_TYPE, NULL },
    { "LastConsumed", 4, "LastConsumed", 12, C_LAST_CONSUMED, NULL },
    { "LimitFactor", 6, "LimitFactor", 11, C_LIMIT_FACTOR, NULL },
    { "Lineage", 4, "Lineage", -20, C_LINEAGE, NULL },
    { "MaxCPUMinsPerJob", 8, "MaxCPUMins", 11, C_LIMIT_ONE, "1max_tres_mins_per_job" },
    { "MaxCPUsPerJob", 7, "MaxCPUs", 8, C_LIMIT_ONE, "1max_tres_per_job" },
    { "MaxCPUsPerUser", 11, "MaxCPUsPU", 9, C_LIMIT_ONE, "1max_tres_per_user" },
    { "MaxNodesPerUser", 11, "MaxNodesPU", 10, C_LIMIT_ONE, "4max_tres_per_user" },
    { "MinCPUs", 7, "MinCPUs", 8, C_LIMIT_ONE, "1min_tres_per_job" },
    { "MaxNodesPerJob", 4, "MaxNodes", 8, C_LIMIT_ONE, "4max_tres_per_job" },
    { "MaxTRES", 7, "MaxTRES", 13, C_LIMIT_TRES, "max_tres_per_job" },
    { "MaxTRESPerJob", 11, "MaxTRES", 13, C_LIMIT_TRES, "max_tres_per_job" },
    { "MaxTRESPJ", 9, "MaxTRES", 13, C_LIMIT_TRES, "max_tres_per_job" },
    { "MaxTRESPerNode", 11, "MaxTRESPerNode", 14, C_LIMIT_TRES, "max_tres_per_node" },
    { "MaxTRESPN", 9, "MaxTRESPerNode", 14, C_LIMIT_TRES, "max_tres_per_node" },
    { "MaxTRESMins", 8, "MaxTRESMins", 13, C_LIMIT_TRES, "max_tres_mins_per_job" },
    { "MaxTRESMinsPerJob", 12, "MaxTRESMins", 13, C_LIMIT_TRES, "max_tres_mins_per_job" },
    { "MaxTRESMinsPJ", 12, "MaxTRESMins", 13, C_LIMIT_TRES, "max_tres_mins_per_job" },
    { "MaxTRESRunMins", 14, "MaxTRESRunMins", 14, C_LIMIT_TRES, "max_tres_run_mins" },
    { "MaxTRESRunMinsPA", 16, "MaxTRESRunMinsPA", 16, C_LIMIT_TRES,
      "max_tres_run_mins_per_account" },
    { "MaxTRESRunMinsPerAccount", 18, "MaxTRESRunMinsPA", 16, C_LIMIT_TRES,
      "max_tres_run_mins_per_account" },
    { "MaxTRESRunMinsPU", 16, "MaxTRESRunMinsPU", 16, C_LIMIT_TRES, "max_tres_run_mins_per_user" },
    { "MaxTRESRunMinsPerUser", 18, "MaxTRESRunMinsPU", 16, C_LIMIT_TRES,
      "max_tres_run_mins_per_user" },
    { "MaxTRESPA", 9, "MaxTRESPA", 13, C_LIMIT_TRES, "max_tres_per_account" },
    { "MaxTRESPerAccount", 11, "MaxTRESPA", 13, C_LIMIT_TRES, "max_tres_per_account" },
    { "MaxTRESPU", 9, "MaxTRESPU", 13, C_LIMIT_TRES, "max_tres_per_user" },
    { "MaxTRESPerUser", 11, "MaxTRESPU", 13, C_LIMIT_TRES, "max_tres_per_user" },
    { "MaxJobs", 4, "MaxJobs", 7, C_LIMIT, "max_jobs" },
    { "MaxJobsAccrue", 8, "MaxJobsAccrue", 13, C_LIMIT, "max_jobs_accrue" },
    { "MaxJobsAccruePA", 15, "MaxJobsAccruePA", 15, C_LIMIT, "max_jobs_accrue_per_account" },
    { "MaxJobsAccruePerAccount", 17, "MaxJobsAccruePA", 15, C_LIMIT,
      "max_jobs_accrue_per_account" },
    { "MaxJobsAccruePU", 15, "MaxJobsAccruePU", 15, C_LIMIT, "max_jobs_accrue_per_user" },
    { "MaxJobsAccruePerUser", 17, "MaxJobsAccruePU", 15, C_LIMIT, "max_jobs_accrue_per_user" },
    { "MaxJobsPA", 9, "MaxJobsPA", 9, C_LIMIT, "max_jobs_per_account" },
    { "MaxJobsPerAccount", 11, "MaxJobsPA", 9, C_LIMIT, "max_jobs_per_account" },
    { "MaxJobsPU", 9, "MaxJobsPU", 9, C_LIMIT, "max_jobs_per_user" },
    { "MaxJobsPerUser", 11, "MaxJobsPU", 9, C_LIMIT, "max_jobs_per_user" },
    { "MaxSubmitJobs", 4, "MaxSubmit", 9, C_LIMIT, "max_submit_jobs" },
    { "MaxSubmitPA", 11, "MaxSubmitPA", 11, C_LIMIT, "max_submit_jobs_per_account" },
    { "MaxSubmitJobsPerAccount", 17, "MaxSubmitPA", 11, C_LIMIT, "max_submit_jobs_per_account" },
    { "MaxSubmitJobsPA", 15, "MaxSubmitPA", 11, C_LIMIT, "max_submit_jobs_per_account" },
    { "MaxSubmitPU", 11, "MaxSubmitPU", 11, C_LIMIT, "max_submit_jobs_per_user" },
    { "MaxSubmitJobsPerUser", 17, "MaxSubmitPU", 11, C_LIMIT, "max_submit_jobs_per_user" },
    { "MaxSubmitJobsPU", 15, "MaxSubmitPU", 11, C_LIMIT, "max_submit_jobs_per_user" },
    { "MaxWall", 4, "MaxWall", 11, C_LIMIT_TIME, "max_wall_min" },
    { "MaxWallDurationPerJob", 8, "MaxWall", 11, C_LIMIT_TIME, "max_wall_min" },
    { "MinPrioThreshold", 4, "MinPrioThres", 12, C_LIMIT, "min_prio_threshold" },
    { "MinTRES", 7, "MinTRES", 13, C_LIMIT_TRES, "min_tres_per_job" },
    { "MinTRESPerJob", 8, "MinTRES", 13, C_LIMIT_TRES, "min_tres_per_job" },
    { "MinTRESPJ", 8, "MinTRES", 13, C_LIMIT_TRES, "min_tres_per_job" },
    { "Name", 2, "Name", 10, C_NAME, NULL },
    { "NodeCount", 5, "NodeCount", 9, C_NODE_COUNT, NULL },
    { "NodeNames", 9, "NodeName", -15, C_NODE_NAME, NULL },
    { "NodeName", 5, "NodeName", -15, C_NODE_NAME, NULL },
    { "Organization", 1, "Org", 20, C_ORG, NULL },
    { "ParentID", 8, "ParentID", 8, C_PARENT_ID, NULL },
    { "ParentName", 7, "ParentName", 10, C_PARENT_NAME, NULL },
    { "Partition", 4, "Partition", 10, C_PARTITION, NULL },
    { "PreemptMode", 8, "PreemptMode", 11, C_PREEMPT_MODE, NULL },
    { "PreemptExemptTime", 8, "PreemptExemptTime", 19, C_PREEMPT_EXEMPT, NULL },
    { "Preempt", 7, "Preempt", 10, C_PREEMPT, NULL },
    { "Priority", 3, "Priority", 10, C_PRIORITY, NULL },
    { "Problem", 3, "Problem", 40, C_PROBLEM, NULL },
    { "QOSLevel", 3, "QOS", 20, C_QOS, NULL },
    { "QOSRAWID", 4, "QOS_RAW", 10, C_QOS_RAW, NULL },
    { "QOS_RAW", 5, "QOS_RAW", 10, C_QOS_RAW, NULL },
    { "Reason", 3, "Reason", 30, C_REASON, NULL },
    { "RPC", 1, "RPC", 5, C_RPC, NULL },
    { "Server", 2, "Server", 10, C_SERVER, NULL },
    { "ServerType", 7, "ServerType", 10, C_SERVER_TYPE, NULL },
    { "Shares", 2, "Share", 9, C_FAIRSHARE, NULL },
    { "Start", 3, "TimeStart", 19, C_TIME_START, NULL },
    { "StateRaw", 6, "StateRaw", 8, C_STATE_RAW, NULL },
    { "State", 3, "State", 6, C_STATE, NULL },
    { "TimeEnd", 5, "TimeEnd", 19, C_TIME_END, NULL },
    { "TimeStart", 5, "TimeStart", 19, C_TIME_START, NULL },
    { "Time", 2, "Time", 19, C_TIME, NULL },
    { "TRES", 2, "TRES", 20, C_TRES, NULL },
    { "Type", 2, "Type", 8, C_TYPE, NULL },
    { "UnusedWall", 2, "UnusedWall", 10, C_UNUSED_WALL, NULL },
    { "UsageFactor", 6, "UsageFactor", 11, C_USAGE_FACTOR, NULL },
    { "UsageThreshold", 6, "UsageThres", 10, C_USAGE_THRESHOLD, NULL },
    { "User", 1, "User", 10, C_USER, NULL },
    { "WCKeys", 6, "WCKeys", 20, C_WCKEYS, NULL },
    { "WCKey", 2, "WCKey", 10, C_NAME, NULL },
    { "Where", 2, "Where", 20, C_WHERE, NULL },
};

struct column {
    const struct smgr_field *field;
    const char *header;
    int width;
};

struct smgr_table {
    struct smgr *s;
    struct column *cols;
    size_t n;
    bool tree;
};

void smgr_print_fields(FILE *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        fprintf(f, "field\t%s\t-\t%s\tshown\n", fields[i].name, fields[i].header);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct smgr_field *find_field(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcasecmp(fields[i].name, name) == 0)
            return &fields[i];
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcasecmp(fields[i].header, name) == 0)
            return &fields[i];
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (smgr_is(name, fields[i].name, fields[i].min))
            return &fields[i];
    return NULL;
}

/* "name[%[-]width]" */
static bool add_column(struct smgr_table *t, const char *spec)
{
    _cleanup_free_ char *name = xstrdup_or_die(spec);
    char *percent = strchr(name, '%');
    const struct smgr_field *f;
    int64_t width = 0;

    if (percent)
        *percent++ = '\0';
    f = find_field(name);
    if (!f) {
        smgr_fail(t->s, "Unknown field '%s'\n", name);
        return false;
    }
    if (percent && parse_i64(percent, -100000, 100000, &width) < 0)
        width = 0; /* what is no width leaves the field as wide as it is */
    t->cols = xrealloc_or_die(t->cols, t->n + 1, sizeof(*t->cols));
    t->cols[t->n++] = (struct column){ f, f->header, width ? (int)width : f->width };
    if (!percent && t->tree && f->col == C_ACCOUNT)
        t->cols[t->n - 1].width = -20;
    return true;
}

struct smgr_table *smgr_table_new(struct smgr *s, char **formats, size_t n, bool tree)
{
    struct smgr_table *t = xmalloc_or_die(sizeof(*t));

    t->s = s;
    t->tree = tree;
    for (size_t i = 0; i < n; i++)
        if (!add_column(t, formats[i]))
            return smgr_table_free(t);
    return t;
}

struct smgr_table *smgr_table_default(struct smgr *s, const char *names, bool tree)
{
    char **formats = NULL;
    struct smgr_table *t;
    size_t n = 0;

    while (*names) {
        size_t len = strcspn(names, ",");

        smgr_add_string(&formats, &n, names, len);
        names += len + (names[len] == ',');
    }
    t = smgr_table_new(s, formats, n, tree);
    for (size_t i = 0; i < n; i++)
        free(formats[i]);
    free(formats);
    return t;
}

struct smgr_table *smgr_table_free(struct smgr_table *t)
{
    if (!t)
        return NULL;
    free(t->cols);
    free(t);
    return NULL;
}

static void end_cell(const struct smgr_table *t, size_t i, struct strbuf *out, size_t start,
                     bool header)
{
    int width = t->cols[i].width;
    unsigned size = (unsigned)abs(width);

    if (t->s->style != SMGR_FIXED) {
        if (t->s->style == SMGR_PARSABLE || i + 1 < t->n)
            strbuf_addc(out, '|');
        return;
    }
    if (out->len - start > size && !out->failed) {
        fmt_justify(out, start, size, false);
        if (!header)
            out->buf[out->len - 1] = '+';
    }
    fmt_justify(out, start, size, width > 0);
    strbuf_addc(out, ' ');
}

void smgr_table_header(struct smgr_table *t, struct strbuf *out)
{
    if (t->s->noheader)
        return;
    for (size_t i = 0; i < t->n; i++) {
        size_t start = out->len;

        strbuf_add(out, t->cols[i].header);
        end_cell(t, i, out, start, true);
    }
    strbuf_addc(out, '\n');
    for (size_t i = 0; t->s->style == SMGR_FIXED && i < t->n; i++) {
        strbuf_pad(out, '-', (size_t)abs(t->cols[i].width));
        strbuf_addc(out, ' ');
    }
    if (t->s->style == SMGR_FIXED)
        strbuf_addc(out, '\n');
}

void smgr_table_row(struct smgr_table *t, const struct smgr_row *row, struct strbuf *out)
{
    struct smgr_row r = *row;

    r.s = t->s;
    r.tree = t->tree;
    for (size_t i = 0; i < t->n; i++) {
        size_t start = out->len;

        smgr_put_cell(out, &r, t->cols[i].field);
        end_cell(t, i, out, start, false);
    }
    strbuf_addc(out, '\n');
}
