/* machine.c - see machine.h */
#include "sim/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "conf/conf.h"
#include "feed/params.h"
#include "job.pb-c.h"
#include "node.pb-c.h"

static void *own_memory(struct sim_machine *m, void *p)
{
    if (!p)
        return NULL;
    if (m->nowned == m->cap_owned) {
        size_t cap = m->cap_owned ? m->cap_owned * 2 : 64;
        void **grown = realloc(m->owned, cap * sizeof(*grown));

        if (!grown) {
            free(p);
            return NULL;
        }
        m->owned = grown;
        m->cap_owned = cap;
    }
    return m->owned[m->nowned++] = p;
}

struct sim_machine *machine_free(struct sim_machine *m)
{
    if (!m)
        return NULL;
    for (size_t i = 0; i < m->nowned; i++)
        free(m->owned[i]);
    machine_drop_topologies(m);
    free(m->owned);
    free(m->nodes);
    free(m->parts);
    free(m);
    return NULL;
}

/* "gpu:a100:4,gpu:2(S:0),shard:8" -> rows. */
static int fill_gres(struct sim_machine *m, const char *text, struct sched_node *n)
{
    char *copy = own_memory(m, strdup(text)), *save = NULL;
    struct sched_gres_spec *rows = own_memory(m, calloc(strlen(text) + 1, sizeof(*rows)));
    uint64_t first = 0;

    if (!copy || !rows)
        return -ENOMEM;
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        struct sched_gres_spec *g = &rows[n->ngres];
        char *last;

        w[strcspn(w, "(")] = '\0';
        g->name = w;
        g->count = 1;
        last = strrchr(w, ':');
        if (last && last[1] >= '0' && last[1] <= '9') {
            g->count = strtoull(last + 1, NULL, 10);
            *last = '\0';
        }
        last = strchr(w, ':');
        if (last) {
            *last = '\0';
            g->type = last + 1;
        }
        if (n->ngres && strcmp(g[-1].name, g->name) != 0)
            first = 0;
        g->first_index = (uint32_t)first;
        g->indexed = first + g->count <= 1024 && strcmp(w, "shard") != 0 && strcmp(w, "mps") != 0;
        first += g->count;
        n->ngres++;
    }
    n->gres = rows;
    return 0;
}

static int fill_node(struct sim_machine *m, uint32_t id, const struct conf_node *from)
{
    struct sched_node *n = &m->nodes[id];
    bool out =
        from->state &&
        (strncasecmp(from->state, "DOWN", 4) == 0 || strncasecmp(from->state, "DRAIN", 5) == 0 ||
         strcasecmp(from->state, "FAIL") == 0 || strcasecmp(from->state, "FUTURE") == 0);

    n->id = id;
    n->name = own_memory(m, strdup(from->name));
    n->cpus = from->cpus;
    n->sockets = from->sockets;
    n->cores_per_socket = from->cores_per_socket;
    n->threads_per_core = from->threads_per_core;
    n->mem_mib =
        from->real_memory_mib > from->mem_spec_mib ? from->real_memory_mib - from->mem_spec_mib : 0;
    n->weight = from->weight;
    n->schedulable = !out;
    n->features = from->features ? own_memory(m, strdup(from->features)) : NULL;
    if (!n->name || (from->features && !n->features))
        return -ENOMEM;
    if (n->schedulable)
        m->cpus += n->cpus;
    return from->gres && *from->gres ? fill_gres(m, from->gres, n) : 0;
}

/* Names are looked up by bisection in an order made once. */
static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct sched_node *const *)a)->name,
                  (*(const struct sched_node *const *)b)->name);
}

static int fill_part(struct sim_machine *m, const struct conf_part *from,
                     const struct sched_node **sorted, struct sched_partition *p)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    const char *share = from->oversubscribe ? strchr(from->oversubscribe, ':') : NULL;
    uint32_t *ids;
    int r = hostlist_parse(from->nodes, &hl, NULL);

    if (r < 0)
        return r;
    ids = own_memory(m, calloc(hostlist_count(hl) + 1, sizeof(*ids)));
    p->name = own_memory(m, strdup(from->name));
    if (!ids || !p->name)
        return -ENOMEM;
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct sched_node key = { .name = hostlist_nth(hl, i) }, *pkey = &key, **found;

        found = bsearch(&pkey, sorted, m->nnodes, sizeof(*sorted), by_name);
        if (found)
            ids[p->nnodes++] = (*found)->id;
    }
    p->node_ids = ids;
    p->tier = from->priority_tier;
    p->job_factor = from->priority_job_factor;
    p->up = from->state == PST__PARTITION_STATE__PART_UP;
    p->max_time_min = from->max_time_min;
    p->min_nodes = from->min_nodes;
    p->max_nodes = from->max_nodes;
    p->lln = from->lln;
    p->own_select = feed_part_select(from->select_type_parameters, &p->select, &p->select_memory);
    p->exclusive_user = from->exclusive && strcasecmp(from->exclusive, "USER") == 0;
    p->exclusive_node = from->exclusive && strcasecmp(from->exclusive, "NODE") == 0;
    p->exclusive_topo = from->exclusive && strcasecmp(from->exclusive, "TOPO") == 0;
    p->topology = from->topology ? own_memory(m, strdup(from->topology)) : NULL;
    p->oversubscribe = share ? (uint32_t)strtoul(share + 1, NULL, 10) : 1;
    p->oversubscribe_force =
        from->oversubscribe && strncasecmp(from->oversubscribe, "FORCE", 5) == 0;
    p->max_cpus_per_node = from->max_cpus_per_node ? from->max_cpus_per_node : SCHED_UNLIMITED;
    return 0;
}

static int fill_parts(struct sim_machine *m, const struct conf *conf)
{
    _cleanup_free_ const struct sched_node **sorted = calloc(m->nnodes, sizeof(*sorted));
    int r = sorted ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < m->nnodes; i++)
        sorted[i] = &m->nodes[i];
    if (r == 0)
        qsort(sorted, m->nnodes, sizeof(*sorted), by_name);
    for (uint32_t i = 0; r == 0 && i < m->nparts; i++) {
        r = fill_part(m, conf_part(conf, i), sorted, &m->parts[i]);
        if (r == 0 && i && conf_part(conf, i)->is_default) {
            struct sched_partition first = m->parts[0];

            m->parts[0] = m->parts[i];
            m->parts[i] = first;
        }
    }
    return r;
}

int machine_from_conf(const struct conf *conf, struct sim_machine **ret_m, struct err *err)
{
    _cleanup_(machine_free) struct sim_machine *m = calloc(1, sizeof(*m));
    int r = m ? 0 : -ENOMEM;

    if (r < 0)
        return r;
    if (!conf_nodes(conf) || conf_nodes(conf) > MACHINE_MAX_NODES)
        return err_set(err, -EINVAL, "the configuration has no node, or more than %u",
                       MACHINE_MAX_NODES);
    if (!conf_parts(conf))
        return err_set(err, -EINVAL, "the configuration has no partition");
    m->nnodes = (uint32_t)conf_nodes(conf);
    m->nparts = (uint32_t)conf_parts(conf);
    m->nodes = calloc(m->nnodes, sizeof(*m->nodes));
    m->parts = calloc(m->nparts, sizeof(*m->parts));
    if (!m->nodes || !m->parts)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < m->nnodes; i++)
        r = fill_node(m, i, conf_node(conf, i));
    if (r == 0)
        r = fill_parts(m, conf);
    if (r == 0)
        *ret_m = TAKE_PTR(m);
    return r;
}

void machine_drop_topologies(struct sim_machine *m)
{
    for (size_t i = 0; i < m->ntopos; i++)
        topo_free(m->topos[i]);
    free(m->topos);
    m->topos = NULL;
    m->ntopos = 0;
}

int machine_set_topologies(struct sim_machine *m, const struct topo_spec *specs, size_t n,
                           struct err *err)
{
    int r = 0;

    machine_drop_topologies(m);
    m->topos = calloc(n + 1, sizeof(*m->topos));
    if (!m->topos)
        return err_nomem(err);
    for (; r == 0 && m->ntopos < n; m->ntopos += r == 0) {
        r = topo_new(&specs[m->ntopos], &m->topos[m->ntopos], err);
        if (r < 0)
            err_prefix(err, "topology %s", specs[m->ntopos].name);
    }
    return r;
}

const struct topo *machine_topology(const struct sim_machine *m)
{
    return m->ntopos ? m->topos[0] : NULL;
}

int machine_set_blocks(struct sim_machine *m, uint32_t block_nodes, const uint32_t *sizes,
                       size_t nsizes, struct err *err)
{
    size_t n = (m->nnodes + block_nodes - 1) / block_nodes;
    _cleanup_free_ struct topo_unit_spec *units = calloc(n, sizeof(*units));
    _cleanup_free_ uint32_t *ids = calloc(m->nnodes, sizeof(*ids));
    _cleanup_free_ char *names = calloc(n, 16);
    struct topo_spec spec = { .name = "default",
                              .kind = TOPO_BLOCK,
                              .units = units,
                              .nunits = n,
                              .block_sizes = sizes,
                              .nblock_sizes = nsizes };

    if (!units || !ids || !names)
        return err_nomem(err);
    for (uint32_t i = 0; i < m->nnodes; i++)
        ids[i] = i;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(names + 16 * i, 16, "b%zu", i + 1);
        units[i] = (struct topo_unit_spec){ .name = names + 16 * i,
                                            .nodes = ids + i * block_nodes,
                                            .nnodes = MIN((size_t)block_nodes,
                                                          m->nnodes - i * block_nodes) };
    }
    return machine_set_topologies(m, &spec, 1, err);
}

uint32_t machine_partition(const struct sim_machine *m, const char *name)
{
    for (uint32_t i = 0; name && i < m->nparts; i++)
        if (strcmp(m->parts[i].name, name) == 0)
            return i;
    return 0;
}
