/* conf_check.c - mistakes that a single line does not show: missing keys, keys that contradict each
 * other.
 *
 * Reads the loaded object; each finding is a problem with the file and line of its key. */
#include "conf/conf_mcs.h"
#include "conf/conf_priv.h"
#include "conf/conf_tres.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/wordlist.h"

#define CONF_EXIT_CODES 256u

static const struct conf_val *key_value(const struct conf_loader *l, enum conf_key key)
{
    return &l->c->vals[key];
}

static void check_required(struct conf_loader *l)
{
    bool sound = l->nerrors == 0; /* else there may be lines, and each was refused */

    if (!key_value(l, CONF_CLUSTER_NAME)->set)
        conf_error(l, l->c->path, 0, "ClusterName is missing");
    if (!conf_ctld_host(l->c, 0, NULL))
        conf_error(l, l->c->path, 0, "SlurmctldHost is missing");
    if (l->c->nnodes == 0 && sound)
        conf_warn(l, l->c->path, 0, "no NodeName line: the cluster has no nodes");
}

static void check_cluster_name(struct conf_loader *l)
{
    const struct conf_val *v = key_value(l, CONF_CLUSTER_NAME);

    if (v->set && strspn(v->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-.") != strlen(v->text))
        conf_error(l, v->file, v->line,
                   "ClusterName=%.40s may hold letters, digits, '_', '-' and '.' only", v->text);
}

static void check_users(struct conf_loader *l)
{
    static const enum conf_key keys[] = { CONF_SLURM_USER, CONF_SLURMD_USER };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct conf_val *v = key_value(l, keys[i]);
        uid_t uid;

        if (!v->set || strcmp(v->text, "root") == 0 || (v->text[0] >= '0' && v->text[0] <= '9'))
            continue;
        if (l->texts)
            continue; /* texts in memory say nothing about this machine's users */
        if (conf_user_id(v->text, &uid) == -ENOENT)
            conf_error(l, v->file, v->line, "%s=%.64s: there is no such user",
                       conf_tables[CONF_TBL_KEY].rows[keys[i]].name, v->text);
    }
}

/* Pairs of keys that exclude each other. */
static void check_exclusive(struct conf_loader *l)
{
    static const enum conf_key pairs[][2] = {
        { CONF_DEF_MEM_PER_CPU, CONF_DEF_MEM_PER_NODE },
        { CONF_MAX_MEM_PER_CPU, CONF_MAX_MEM_PER_NODE },
        { CONF_PROPAGATE_RESOURCE_LIMITS, CONF_PROPAGATE_RESOURCE_LIMITS_EXCEPT },
    };
    const struct conf_keydef *rows = conf_tables[CONF_TBL_KEY].rows;

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        const struct conf_val *a = key_value(l, pairs[i][0]), *b = key_value(l, pairs[i][1]);

        if (a->set && b->set && strcmp(a->text, "0") != 0 && strcmp(b->text, "0") != 0)
            conf_error(l, b->file, b->line, "%s and %s exclude each other", rows[pairs[i][0]].name,
                       rows[pairs[i][1]].name);
    }
}

/* SUSPEND needs GANG and a PreemptType.  GANG alone is allowed: it shares nodes by turns. */
static void check_preempt(struct conf_loader *l)
{
    const struct conf_val *v = key_value(l, CONF_PREEMPT_MODE),
                          *type = key_value(l, CONF_PREEMPT_TYPE);
    bool suspend = v->set && wordlist_has_nocase(v->text, "SUSPEND"),
         gang = v->set && wordlist_has_nocase(v->text, "GANG");

    if (suspend && !gang)
        conf_error(l, v->file, v->line, "PreemptMode=%.40s: SUSPEND needs GANG: write SUSPEND,GANG",
                   v->text);
    if (suspend && (!type->set || strcasecmp(type->text, "preempt/none") == 0))
        conf_error(l, v->file, v->line,
                   "PreemptMode=%.40s needs a PreemptType other than preempt/none", v->text);
}

static void check_numbers(struct conf_loader *l)
{
    const struct conf *c = l->c;
    const struct conf_val *v = key_value(l, CONF_FIRST_JOB_ID);

    if (conf_num(c, CONF_FIRST_JOB_ID) > conf_num(c, CONF_MAX_JOB_ID)) {
        v = v->set ? v : key_value(l, CONF_MAX_JOB_ID);
        conf_error(l, v->file, v->line, "FirstJobId exceeds MaxJobId");
    }
    v = key_value(l, CONF_UNKILLABLE_STEP_TIMEOUT);
    if (v->set && v->num < 5 * conf_num(c, CONF_MESSAGE_TIMEOUT))
        conf_warn(l, v->file, v->line,
                  "UnkillableStepTimeout should be at least five times MessageTimeout");
    v = key_value(l, CONF_MIN_JOB_AGE);
    if (v->set && v->num < 2)
        conf_warn(l, v->file, v->line, "MinJobAge=%ju is too small; 2 is used", (uintmax_t)v->num);
}

/* The exit codes of a key are a list of numbers; another text names no code. */
static void check_exit_codes(struct conf_loader *l)
{
    static const enum conf_key keys[] = { CONF_REQUEUE_EXIT, CONF_REQUEUE_EXIT_HOLD };
    _cleanup_(bitmap_free) struct bitmap *codes = NULL;

    if (bitmap_new(CONF_EXIT_CODES, &codes) < 0)
        return; /* a warning less */
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct conf_val *v = key_value(l, keys[i]);

        if (v->set && v->text[0] && bitmap_parse(codes, v->text, NULL) < 0)
            conf_warn(l, v->file, v->line, "%s=%.64s is no list of exit codes, and is not used",
                      conf_tables[CONF_TBL_KEY].rows[keys[i]].name, v->text);
    }
}

/* Controllers are known by the names of their lines: two of one name would take one lease for
 * theirs. */
static void check_hosts(struct conf_loader *l)
{
    const char *name, *other;

    for (size_t i = 1; (name = conf_ctld_host(l->c, i, NULL)); i++)
        for (size_t k = 0; k < i && (other = conf_ctld_host(l->c, k, NULL)); k++)
            if (strcasecmp(name, other) == 0)
                conf_error(l, l->c->path, 0, "SlurmctldHost=%.64s stands there twice", name);
}

static void check_mcs(struct conf_loader *l)
{
    const struct conf_val *plugin = key_value(l, CONF_MCS_PLUGIN),
                          *v = key_value(l, CONF_MCS_PARAMETERS);
    struct conf_mcs m;
    const char *bad;
    size_t len;

    if (!conf_mcs_parse(plugin->set ? plugin->text : NULL, NULL, &m, &bad, &len))
        conf_error(l, plugin->file, plugin->line,
                   "MCSPlugin=%.40s: it is mcs/none, mcs/user, mcs/group, mcs/account or mcs/label",
                   bad);
    else if (!conf_mcs_parse(plugin->set ? plugin->text : NULL, v->set ? v->text : NULL, &m, &bad,
                             &len))
        conf_error(l, v->file, v->line,
                   "MCSParameters: %.*s is not known: ondemand or enforced, noselect, select or "
                   "ondemandselect, privatedata",
                   (int)MIN(len, 40), bad);
    else if (m.kind == MCS_GROUP && !m.groups)
        conf_error(
            l, plugin->file, plugin->line,
            "MCSPlugin=mcs/group needs the groups: MCSParameters=enforced,select:group1|group2");
}

static void check_node_gres(struct conf_loader *l)
{
    const struct conf *c = l->c;
    const char *last = NULL; /* nodes of a line share the string */

    for (size_t i = 0; i < c->nnodes; i++) {
        const char *p = c->nodes[i].gres;

        if (!p || p == last)
            continue;
        last = p;
        while (*p) {
            size_t len = strcspn(p, ":,");

            if (len && !conf_gres_declared(c, p, len))
                conf_warn(l, c->nodes[i].file, c->nodes[i].line, "Gres %.*s is not in GresTypes",
                          (int)MIN(len, 64), p);
            p += strcspn(p, ",");
            p += *p == ',';
        }
    }
}

/* Folders whose libraries sbcast leaves alone; another text names none. */
static void check_bcast_exclude(struct conf_loader *l)
{
    const struct conf_val *v = key_value(l, CONF_BCAST_EXCLUDE);

    for (const char *p = v->set && strcasecmp(v->text, "none") != 0 ? v->text : ""; *p;) {
        size_t len = strcspn(p, ",");

        if (len && *p != '/')
            conf_error(l, v->file, v->line, "BcastExclude: %.*s is not an absolute path",
                       (int)MIN(len, 64), p);
        p += len + (p[len] == ',');
    }
}

/* What a partition hands out is told where the cluster's jobs get whole cores or sockets alone. */
static void check_part_select(struct conf_loader *l)
{
    const struct conf *c = l->c;
    const char *type = conf_str(c, CONF_SELECT_TYPE),
               *all = conf_str(c, CONF_SELECT_TYPE_PARAMETERS);
    bool cpus = all && strncasecmp(all, "CR_CPU", 6) == 0,
         nodes = type && strcasecmp(type, "select/linear") == 0;

    for (size_t i = 0; (cpus || nodes) && i < c->nparts; i++)
        if (c->parts[i].select_type_parameters)
            conf_warn(l, c->path, 0,
                      "partition %s: SelectTypeParameters is without effect, since the cluster's "
                      "jobs get %s",
                      c->parts[i].name, nodes ? "whole nodes" : "single CPUs");
}

void conf_check(struct conf_loader *l)
{
    check_required(l);
    check_cluster_name(l);
    check_users(l);
    check_exclusive(l);
    check_numbers(l);
    check_preempt(l);
    check_mcs(l);
    check_exit_codes(l);
    check_hosts(l);
    check_bcast_exclude(l);
    check_part_select(l);
    conf_tres_check(l, key_value(l, CONF_ACCOUNTING_STORAGE_TRES));
    check_node_gres(l);
    conf_power_check(l);
    conf_row_audit(l, CONF_TBL_KEY, l->c->vals);
}
