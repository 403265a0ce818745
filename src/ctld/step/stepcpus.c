/* stepcpus.c - see stepcpus.h
 *
 * The order of cores was recorded from Debian's Slurm. */
#include "ctld/step/stepcpus.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

enum over_sockets { BLOCK, CYCLIC, FCYCLIC };

struct pick {
    const struct stepcpus_node *node;
    const struct bitmap *left_in; /* what may be taken */
    struct bitmap *taken;
    uint32_t socket; /* whose turn it is */
    uint32_t count;  /* CPUs still wanted */
};

static enum over_sockets second_level(const char *dist)
{
    const char *p = dist ? strchr(dist, ':') : NULL;
    size_t n = p ? strcspn(++p, ":,") : 0;

    if (n == 5 && strncasecmp(p, "block", n) == 0)
        return BLOCK;
    return n == 7 && strncasecmp(p, "fcyclic", n) == 0 ? FCYCLIC : CYCLIC;
}

static bool is_free(const struct pick *p, uint32_t cpu)
{
    return bitmap_test(p->left_in, cpu) && !bitmap_test(p->taken, cpu);
}

/* The next core of a socket with something free, by its first CPU; UINT32_MAX none. */
static uint32_t core_of(const struct pick *p, uint32_t socket)
{
    uint32_t first = socket * p->node->cores * p->node->threads;

    for (uint32_t core = 0; core < p->node->cores; core++)
        for (uint32_t t = 0; t < p->node->threads; t++)
            if (is_free(p, first + core * p->node->threads + t))
                return first + core * p->node->threads;
    return UINT32_MAX;
}

/* A core of the socket whose turn it is, or of the next that has one. */
static uint32_t next_core(struct pick *p)
{
    for (uint32_t i = 0; i < p->node->sockets; i++) {
        uint32_t socket = (p->socket + i) % p->node->sockets, cpu = core_of(p, socket);

        if (cpu != UINT32_MAX) {
            p->socket = socket;
            return cpu;
        }
    }
    return UINT32_MAX;
}

/* Up to `want` CPUs of a core; how many there were. */
static uint32_t take_cpus(struct pick *p, uint32_t cpu, uint32_t want)
{
    uint32_t got = 0;

    for (uint32_t t = 0; t < p->node->threads && got < want && p->count; t++) {
        if (!is_free(p, cpu + t))
            continue;
        bitmap_set(p->taken, cpu + t);
        p->count--;
        got++;
    }
    return got;
}

/* Tasks that share one core, or one task on as many as it needs. */
static void take_cores(struct pick *p, uint32_t cpus, enum over_sockets over)
{
    while (cpus && p->count) {
        uint32_t cpu = next_core(p);

        if (cpu == UINT32_MAX)
            return;
        cpus -= take_cpus(p, cpu, cpus);
        if (over == FCYCLIC)
            p->socket = (p->socket + 1) % p->node->sockets;
    }
}

static void take_lowest(struct pick *p)
{
    BITMAP_FOREACH (p->left_in, i) {
        if (!p->count)
            return;
        if (bitmap_test(p->taken, i))
            continue;
        bitmap_set(p->taken, i);
        p->count--;
    }
}

static bool has_geometry(const struct stepcpus_node *node, const struct bitmap *cpus)
{
    return cpus->nbits > 0 && (uint64_t)node->sockets * node->cores * node->threads == cpus->nbits;
}

int stepcpus_pick(const struct bitmap *free_cpus, const struct stepcpus_node *node,
                  const char *dist, uint32_t cpt, uint32_t count, struct bitmap **ret)
{
    struct pick p = { .node = node, .left_in = free_cpus, .count = count };
    enum over_sockets over = second_level(dist);
    uint32_t shared = cpt && cpt < node->threads ? node->threads / cpt : 1, turns = shared;
    bool fits = has_geometry(node, free_cpus);

    if (bitmap_new(free_cpus->nbits, &p.taken) < 0)
        return -ENOMEM;
    while (fits && p.count) {
        uint32_t before = p.count, socket = p.socket;

        take_cores(&p, MAX(cpt, 1u) * shared, over);
        if (p.count == before)
            break;
        if (over == CYCLIC) /* each task had its turn, those too that share a core */
            p.socket = (socket + turns) % node->sockets;
    }
    take_lowest(&p);
    *ret = p.taken;
    return 0;
}

int stepcpus_widen(const struct bitmap *free_cpus, const struct stepcpus_node *node,
                   struct bitmap *taken)
{
    _cleanup_(bitmap_free) struct bitmap *counted = NULL;

    if (bitmap_dup(taken, &counted) < 0)
        return -ENOMEM;
    if (!has_geometry(node, free_cpus))
        return 0;
    BITMAP_FOREACH (counted, i) {
        uint32_t first = i - i % node->threads;

        for (uint32_t t = first; t < first + node->threads; t++)
            if (bitmap_test(free_cpus, t))
                bitmap_set(taken, t);
    }
    return 0;
}
