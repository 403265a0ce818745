/* nsplan.c - see nsplan.h */
#include "kube/nodeset/nsplan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkworkers.h"
#include "kube/make/opconf.h"
#include "kube/make/opkeys.h"

/* Workers that jobs may be laid on: those that are free, then those that could be made. */
struct bins {
    int64_t n, cpus;
    int64_t first; /* all before it are full */
    int64_t *left; /* CPUs */
    bool *used;
    int64_t *chosen; /* of the job at hand */
};

bool nsplan_is_wanted(const json_t *nodeset)
{
    return json_is_object(kubejson_at(nodeset, "spec.autoscale")) &&
           strcmp(kubejson_text(nodeset, "spec.scalingMode"), "DaemonSet") != 0;
}

int64_t nsplan_count_tasks(const char *text, int64_t most)
{
    int64_t n = 0;

    if (!*text)
        return 1;
    while (*text && *text != '%' && n < most) {
        char *end;
        long long a = strtoll(text, &end, 10), b = a, step = 1;

        if (end == text || a < 0)
            break;
        if (*end == '-')
            b = strtoll(end + 1, &end, 10);
        if (*end == ':')
            step = strtoll(end + 1, &end, 10);
        if (b >= a && step > 0)
            n += MIN((b - a) / step, most) + 1;
        text = end + (*end == ',');
        if (text == end && *end && *end != '%')
            break; /* "...": there are more, which the next look shows */
    }
    return MIN(MAX(n, 1), most);
}

static bool has_text(const json_t *list, const char *text, size_t n)
{
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one)
    {
        if (json_is_string(one) && json_string_length(one) == n &&
            memcmp(json_string_value(one), text, n) == 0)
            return true;
    }
    return false;
}

/* Is one of the job's partitions the set's? */
static bool is_in_partition(const struct nsview *v, const json_t *job)
{
    const json_t *own = kubejson_at(v->f->cr, "spec.autoscale.partitions");
    const char *text = kubejson_text(job, "partition");
    char buf[64];
    const char *name = opconf_nodeset_name(v->f->cr, buf);

    while (*text) {
        size_t n = strcspn(text, ",");

        if (json_array_size(own) ? has_text(own, text, n)
                                 : n == strlen(name) && memcmp(name, text, n) == 0)
            return true;
        text += n + (text[n] == ',');
    }
    return false;
}

/* Has a worker of the set the job's features?  A list with rules may mean any of them. */
static bool has_features(const struct nsview *v, const json_t *job)
{
    const char *want = kubejson_text(job, "features");
    char buf[64];
    size_t i;
    json_t *one;

    if (!*want || strpbrk(want, "&|[]()*!,") ||
        strcmp(want, opconf_nodeset_name(v->f->cr, buf)) == 0)
        return true;
    json_array_foreach(v->pods, i, one)
    {
        const json_t *record = json_object_get(v->slurm, mkworkers_slurm_name(one));

        if (has_text(json_object_get(record, "features"), want, strlen(want)))
            return true;
    }
    return strstr(kubejson_text(v->f->cr, "spec.extraConf"), want) != NULL;
}

/* CPUs of a worker: as slurmctld knows one, or as its limit says; else no job is too large. */
static int64_t cpus_of(const struct nsview *v)
{
    int64_t most = 0;
    size_t i;
    json_t *one;

    json_array_foreach(v->pods, i, one)
    {
        const json_t *record = json_object_get(v->slurm, mkworkers_slurm_name(one));

        most = MAX(most, kubejson_int(record, "cpus", 0));
    }
    if (!most)
        most = mkworkers_cpus(v->f->cr);
    return most ? most : INT32_MAX;
}

/* All nodes of the job, or none. */
static bool lay_job(struct bins *b, const json_t *job)
{
    int64_t cpus = MAX(kubejson_int(job, "cpus", 1), 1);
    int64_t nodes = MAX(kubejson_int(job, "nodes", 1), (cpus + b->cpus - 1) / b->cpus), each, k = 0;
    bool whole = kubejson_true(job, "exclusive");

    nodes = MAX(nodes, 1);
    if (nodes > b->n)
        return false;
    each = MAX((cpus + nodes - 1) / nodes, 1);
    for (int64_t i = b->first; i < b->n && k < nodes; i++)
        if (whole ? !b->used[i] : b->left[i] >= each)
            b->chosen[k++] = i;
    if (k < nodes)
        return false;
    while (k--) {
        int64_t i = b->chosen[k];

        b->used[i] = true;
        b->left[i] = whole ? 0 : b->left[i] - each;
    }
    while (b->first < b->n && b->left[b->first] == 0)
        b->first++;
    return true;
}

/* Workers that the jobs which wait need beside those that are busy. */
static int64_t count_wanted(const struct nsview *v, const json_t *pending, int64_t most)
{
    struct bins b = { .n = most, .cpus = cpus_of(v) };
    _cleanup_free_ int64_t *left = calloc((size_t)most + 1, sizeof(*left));
    _cleanup_free_ int64_t *chosen = calloc((size_t)most + 1, sizeof(*chosen));
    _cleanup_free_ bool *used = calloc((size_t)most + 1, sizeof(*used));
    int64_t wanted = 0;
    const char *id;
    json_t *job;

    if (!left || !chosen || !used)
        return -1;
    b.left = left;
    b.chosen = chosen;
    b.used = used;
    for (int64_t i = 0; i < most; i++)
        left[i] = b.cpus;
    json_object_foreach((json_t *)(uintptr_t)pending, id, job)
    {
        int64_t tasks;

        if (b.first == b.n)
            break;
        if (!is_in_partition(v, job) || !has_features(v, job))
            continue;
        tasks = nsplan_count_tasks(kubejson_text(job, "tasks"), most * b.cpus);
        while (tasks-- && lay_job(&b, job))
            continue;
    }
    for (int64_t i = 0; i < most; i++)
        wanted += used[i];
    return wanted;
}

static bool is_leaving(const struct nspod *p)
{
    return nspod_has_state(p, "DRAIN") && strstr(nspod_reason(p), NSDECIDE_ENDS);
}

int64_t nsplan_replicas(const struct nsview *v, const json_t *pending, int64_t *ret_wake_s)
{
    const json_t *own = kubejson_at(v->f->cr, "spec.autoscale");
    int64_t least = kubejson_int(own, "minReplicas", 0), most = kubejson_int(own, "maxReplicas", 0);
    int64_t rest_s = kubejson_int(own, "idleSeconds", 300), now_s = v->now_us / USEC_PER_SEC;
    int64_t have = kubejson_int(v->f->cr, "spec.replicas", 1), held = 0, idle = 0, wanted;
    size_t i;
    json_t *one;

    *ret_wake_s = 0;
    if (!v->slurm || !pending)
        return -1;
    json_array_foreach(v->pods, i, one)
    {
        struct nspod p;
        int64_t since;

        nspod_read(v, one, &p);
        if (p.ending || p.finished || is_leaving(&p))
            continue;
        if (nspod_is_busy(&p) || nspod_has_state(&p, "DRAIN") || nspod_has_state(&p, "DOWN")) {
            held++; /* jobs that wait do not start there */
        } else if (nspod_has_state(&p, "IDLE")) {
            since = MAX(kubejson_int(p.slurm, "last_busy.number", 0), p.ready_us / USEC_PER_SEC);
            if (since + rest_s <= now_s)
                idle++;
            else if (!*ret_wake_s || since + rest_s - now_s < *ret_wake_s)
                *ret_wake_s = since + rest_s - now_s;
        }
    }
    wanted = count_wanted(v, pending, MAX(most - held, 0));
    if (wanted < 0)
        return -1;
    wanted += held;
    if (wanted < have) /* no more than have been idle for long */
        wanted = MAX(wanted, have - MIN(idle, have));
    return MIN(MAX(wanted, least), most);
}
