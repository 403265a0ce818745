/* json_alloc.c - what a job holds of each node, and what its steps use of it; see json_alloc.h */
#include "cli/format/json_alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "cli/query/out_job.h"
#include "cli/query/out_query.h"
#include "model/words/names.h"
#include "wire/ops.h"

/* ---- what steps use -------------------------------------------------------------------------- */

struct running {
    Pst__StepRecord *rec;
    struct hostlist *names; /* of its nodes: each node of the job is looked for there */
    size_t next;            /* in names: nodes of a job and of its steps have one order, mostly */
};

struct step_use {
    struct running *steps; /* by job */
    size_t n, cap;
};

/* The script and external processes hold nothing; what --overlap shares is counted for others. */
static bool uses_cpus(const Pst__StepRecord *s)
{
    return s->state == PST__STEP_STATE__STEP_RUNNING && s->alloc && s->alloc->nodes &&
           s->step_id < NAMES_STEP_INTERACTIVE && !s->overlap;
}

static int add_step(struct step_use *use, const ProtobufCMessage *record)
{
    struct running *s = &use->steps[use->n];
    ProtobufCMessage *copy;
    int r = pb_dup(record, &copy);

    if (r < 0)
        return r;
    *s = (struct running){ .rec = (Pst__StepRecord *)copy };
    r = hostlist_parse(s->rec->alloc->nodes, &s->names, NULL);
    if (r < 0)
        pst__step_record__free_unpacked(s->rec, NULL);
    else
        use->n++;
    return r;
}

static int on_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct step_use *use = ctx;

    (void)info;
    if (!uses_cpus((const Pst__StepRecord *)record))
        return 0;
    if (use->n == use->cap) {
        size_t cap = use->cap ? use->cap * 2 : 16;
        struct running *more = reallocarray(use->steps, cap, sizeof(*more));

        if (!more)
            return -ENOMEM;
        use->steps = more;
        use->cap = cap;
    }
    return add_step(use, record);
}

static int by_job(const void *va, const void *vb)
{
    const struct running *a = va, *b = vb;

    return a->rec->job_id < b->rec->job_id ? -1 : a->rec->job_id > b->rec->job_id;
}

int step_use_load(struct client *c, Pst__JobFilter *filter, struct step_use **ret_use)
{
    static const char fields[] = "job_id step_id state alloc overlap";
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    struct step_use *use = calloc(1, sizeof(*use));
    struct pb_fieldset set = { 0 };
    int r;

    *ret_use = NULL;
    if (!use)
        return -ENOMEM;
    request.jobs = filter;
    query_need_names(fields, &pst__step_record__descriptor, &set);
    r = query_fields(&set, &request.fields, &request.n_fields);
    if (r >= 0)
        r = query_run(c, OP_QUERY_STEPS, &request.base, &pst__step_record__descriptor, on_step, use,
                      NULL);
    free(request.fields);
    if (r < 0 || !use->n) {
        step_use_free(use);
        return r < 0 ? r : 0;
    }
    qsort(use->steps, use->n, sizeof(*use->steps), by_job);
    *ret_use = use;
    return 0;
}

struct step_use *step_use_free(struct step_use *use)
{
    if (use) {
        for (size_t i = 0; i < use->n; i++) {
            pst__step_record__free_unpacked(use->steps[i].rec, NULL);
            (void)hostlist_free(use->steps[i].names); /* always NULL */
        }
        free(use->steps);
        free(use);
    }
    return NULL;
}

/* The first step of the job; use->n when there is none. */
static size_t first_step(const struct step_use *use, uint32_t job_id)
{
    size_t low = 0, high = use->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (use->steps[middle].rec->job_id < job_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What one node of a job is asked for. */
struct node_use {
    uint32_t cpus;
    uint64_t mem_mib;
    struct bitmap *ids; /* of CPUs */
};

static long find_node(struct running *s, const char *node)
{
    const char *next = hostlist_nth(s->names, s->next);
    long at = next && strcmp(next, node) == 0 ? (long)s->next : hostlist_find(s->names, node);

    if (at >= 0)
        s->next = (size_t)at + 1;
    return at;
}

static const Pst__AllocGroup *group_of(struct running *s, const char *node)
{
    const Pst__Alloc *alloc = s->rec->alloc;
    long at = find_node(s, node);

    for (size_t g = 0; at >= 0 && g < alloc->n_groups; g++) {
        if (at < (long)alloc->groups[g]->nodes)
            return alloc->groups[g];
        at -= (long)alloc->groups[g]->nodes;
    }
    return NULL;
}

static void add_use(const struct step_use *use, uint32_t job_id, const char *node,
                    struct node_use *sum)
{
    for (size_t i = use ? first_step(use, job_id) : 0; use && i < use->n; i++) {
        const Pst__AllocGroup *g;

        if (use->steps[i].rec->job_id != job_id)
            break;
        g = group_of(&use->steps[i], node);
        if (!g)
            continue;
        sum->cpus += g->cpus;
        sum->mem_mib += g->mem_mib;
        if (g->cpu_ids)
            (void)bitmap_parse(sum->ids, g->cpu_ids, NULL); /* one that cannot be read adds none */
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool any_thread(const struct bitmap *ids, uint32_t core, unsigned threads)
{
    for (unsigned t = 0; t < threads; t++)
        if (bitmap_test(ids, core * threads + t))
            return true;
    return false;
}

static unsigned sockets_of(const Pst__AllocGroup *group)
{
    return group->has_sockets ? group->sockets : 1;
}

static unsigned threads_of(const Pst__AllocGroup *group)
{
    return group->has_threads_per_core ? group->threads_per_core : 1;
}

/* A record of an older release does not tell how many cores a socket has. */
static uint32_t cpus_of(const Pst__AllocGroup *group)
{
    return sockets_of(group) * group->cores_per_socket * threads_of(group);
}

static void put_sockets(struct json *js, const Pst__AllocGroup *group, const struct bitmap *held,
                        const struct bitmap *used)
{
    unsigned threads = threads_of(group);

    json_list(js, "sockets");
    for (unsigned s = 0; group->cores_per_socket && s < sockets_of(group); s++) {
        json_map(js, NULL);
        json_int(js, "index", s);
        json_list(js, "cores");
        for (unsigned c = 0; c < group->cores_per_socket; c++) {
            uint32_t core = s * group->cores_per_socket + c;
            bool is_held = any_thread(held, core, threads);

            json_map(js, NULL);
            json_int(js, "index", c);
            json_list(js, "status");
            json_str(js, NULL, is_held ? "ALLOCATED" : "UNALLOCATED");
            if (is_held && any_thread(used, core, threads))
                json_str(js, NULL, "IN_USE");
            json_list_end(js);
            json_map_end(js);
        }
        json_list_end(js);
        json_map_end(js);
    }
    json_list_end(js);
}

static void put_node(struct json *js, const Pst__JobRecord *job, const Pst__AllocGroup *group,
                     size_t index, const char *name, const struct step_use *use)
{
    _cleanup_(bitmap_free) struct bitmap *held = NULL, *ids = NULL;
    struct node_use sum = { 0 };
    uint32_t cpus = cpus_of(group);

    if (bitmap_new(cpus, &held) < 0 || bitmap_new(cpus, &ids) < 0)
        return;
    if (group->cpu_ids)
        (void)bitmap_parse(held, group->cpu_ids, NULL); /* one that cannot be read holds none */
    sum.ids = ids;
    add_use(use, job->job_id, name, &sum);
    json_map(js, NULL);
    json_int(js, "index", (int64_t)index);
    json_str(js, "name", name);
    json_map(js, "cpus");
    json_int(js, "count", group->cpus);
    json_int(js, "used", sum.cpus);
    json_map_end(js);
    json_map(js, "memory");
    json_int(js, "used", (int64_t)sum.mem_mib);
    json_int(js, "allocated", (int64_t)group->mem_mib);
    json_map_end(js);
    put_sockets(js, group, held, ids);
    json_map_end(js);
}

void json_alloc(struct json *js, const Pst__JobRecord *job, const struct step_use *use)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    const Pst__Alloc *alloc = job->alloc;
    bool single = alloc->nodes && !strpbrk(alloc->nodes, "[,"); /* by far the most */
    size_t index = 0, n = 1;

    if (!single) {
        if (hostlist_parse(alloc->nodes, &hl, NULL) < 0)
            return;
        n = hostlist_count(hl);
    }
    for (size_t g = 0; g < alloc->n_groups; g++)
        for (uint32_t i = 0; i < alloc->groups[g]->nodes && index < n; i++, index++)
            put_node(js, job, alloc->groups[g], index,
                     single ? alloc->nodes : hostlist_nth(hl, index), use);
}
