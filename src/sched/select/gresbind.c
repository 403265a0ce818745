/* gresbind.c - CPUs near the devices of a job.
 *
 * The devices of a node that are near the same CPUs make a site, mostly a socket.  A job gets
 * CPUs of one site if that holds all it needs, else of as many sites as it gets devices; when
 * that does not do either, of these and then of the whole node, or, where binding is enforced,
 * nothing there. */
#include "sched/select/gresbind.h"

#include <string.h>

#include "base/cleanup.h"
#include "sched/select/gresfree.h"
#include "sched/select/nodeview.h"
#include "sched/state/bounds.h"
#include "sched/state/fits.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

#define SITES_MAX 64u

struct site {
    const uint64_t *cpus; /* NULL: all */
    uint64_t devices;     /* free; of shares, of those that may serve together */
    uint32_t units;       /* free, and in no site before */
};

struct sites {
    struct site v[SITES_MAX];
    uint32_t n;
};

static const uint64_t *row_near(const struct node *n, const struct gres_row *row, uint32_t device)
{
    return row->near ? row->near + (size_t)device * n->nwords : NULL;
}

const uint64_t *gres_near(const struct node *n, const struct gres_row *row, uint32_t device)
{
    uint32_t at = device, seg = 0, gpu;

    if (!row->shares)
        return row_near(n, row, device);
    while (seg < row->nshares && at >= row->shares[seg].count)
        at -= row->shares[seg++].count;
    if (seg == row->nshares)
        return NULL;
    gpu = row->shares[seg].device;
    for (uint32_t i = 0; i < n->ngres; i++)
        if (n->gres[i].gpu && gpu - n->gres[i].first < n->gres[i].dev.n)
            return row_near(n, &n->gres[i], gpu - n->gres[i].first);
    return NULL;
}

static bool same_cpus(const struct node *n, const uint64_t *a, const uint64_t *b)
{
    return a == b || (a && b && memcmp(a, b, n->nwords * sizeof(*a)) == 0);
}

static void add_devices(struct sites *st, const struct node *n, const uint64_t *cpus,
                        uint64_t devices, bool together)
{
    uint32_t i = 0;

    while (i < st->n && !same_cpus(n, st->v[i].cpus, cpus))
        i++;
    if (i == SITES_MAX)
        return;
    if (i == st->n)
        st->v[st->n++] = (struct site){ .cpus = cpus };
    st->v[i].devices = together ? st->v[i].devices + devices : MAX(st->v[i].devices, devices);
}

/* Where free devices for the request are.  False: wherever they are, no CPU is nearer than
 * another. */
static bool collect_sites(const struct pick *p, uint32_t id, uint32_t req, struct sites *st)
{
    const struct node *n = &p->s->nodes[id];
    uint64_t words[SCHED_MAX_DEVICES / 64];
    bool any = false;

    st->n = 0;
    for (uint32_t k = 0; k < n->ngres; k++) {
        const struct gres_row *row = &n->gres[k];
        uint32_t first = 0;

        if (!row->indexed || !gres_row_matches(p, row, req))
            continue;
        (void)gres_free(p, id, k, words); /* for the devices it writes */
        for (uint32_t d = 0; !row->shares && d < row->dev.n; d++)
            if (gres_count(words, d, 1))
                add_devices(st, n, row_near(n, row, d), 1, true);
        for (uint32_t i = 0; i < row->nshares; first += row->shares[i++].count) {
            uint32_t here = gres_count(words, first, row->shares[i].count);

            if (here)
                add_devices(st, n, gres_near(n, row, first), here, p->s->params.several_shared);
        }
    }
    for (uint32_t i = 0; i < st->n; i++)
        any |= st->v[i].cpus != NULL;
    return any;
}

static bool unit_in(const struct site *site, uint32_t unit, uint32_t gran)
{
    return !site->cpus || unit_free(site->cpus, unit, gran);
}

/* Units of each site that are free in words and in none of the sites before. */
static void count_units(struct sites *st, const struct geometry *g, const uint64_t *words)
{
    for (uint32_t i = 0; i < st->n; i++)
        st->v[i].units = 0;
    for (uint32_t u = 0; u < g->units; u++) {
        uint32_t i = 0;

        if (!unit_free(words, u, g->gran))
            continue;
        while (i < st->n && !unit_in(&st->v[i], u, g->gran))
            i++;
        if (i < st->n)
            st->v[i].units++;
    }
}

/* The site with most units first. */
static void by_units(struct sites *st)
{
    for (uint32_t i = 1; i < st->n; i++) {
        for (uint32_t k = i; k > 0 && st->v[k].units > st->v[k - 1].units; k--) {
            struct site swap = st->v[k];

            st->v[k] = st->v[k - 1];
            st->v[k - 1] = swap;
        }
    }
}

/* The one socket that the site's CPUs are of; UINT32_MAX: of several, or all. */
static uint32_t socket_of(const struct node *n, const struct site *site)
{
    uint32_t cpus = n->cores_per_socket * n->threads, socket = UINT32_MAX;

    for (uint32_t cpu = 0; site->cpus && cpus && cpu < n->sockets * cpus; cpu++) {
        if (!(site->cpus[cpu >> 6] >> (cpu & 63) & 1))
            continue;
        if (socket != UINT32_MAX && socket != cpu / cpus)
            return UINT32_MAX;
        socket = cpu / cpus;
    }
    return socket;
}

bool gres_fit_sockets(const struct pick *p, uint32_t id, uint32_t req)
{
    const struct node *n = &p->s->nodes[id];
    const struct shape_gres *g = &p->k->gres[req];
    uint64_t able = 0;
    struct sites st;

    if (!g->per_socket || !n->near || !collect_sites(p, id, req, &st))
        return true;
    for (uint32_t i = 0; i < st.n; i++) {
        uint32_t socket = socket_of(n, &st.v[i]);
        uint64_t devices = 0;

        if (socket == UINT32_MAX)
            return true; /* devices that are of no one socket may serve any */
        for (uint32_t k = 0; k < st.n; k++) {
            if (socket_of(n, &st.v[k]) != socket)
                continue;
            if (k < i) { /* the socket was looked at */
                devices = 0;
                break;
            }
            devices += st.v[k].devices;
        }
        able += devices >= g->per_socket;
    }
    return able >= g->per_node / g->per_socket;
}

/* ---- how much fits --------------------------------------------------------------------------- */

bool gres_fit_bound(const struct pick *p, uint32_t id, const struct geometry *g, struct fit *f)
{
    struct sites st;

    pick_free_cpus(p, id, p->s->cpu_words);
    for (uint32_t r = 0; r < p->k->ngres; r++) {
        const struct shape_gres *req = &p->k->gres[r];
        uint64_t left = req->per_job ? MIN(req->per_job, (uint64_t)f->gres[r]) : req->per_node;
        uint64_t tasks = 0;
        uint32_t units = 0;

        if (!collect_sites(p, id, r, &st))
            continue;
        count_units(&st, g, p->s->cpu_words);
        by_units(&st);
        for (uint32_t i = 0; i < st.n && (req->per_task || left); i++) {
            if (req->per_task)
                tasks += MIN(st.v[i].devices / req->per_task,
                             (uint64_t)geometry_tasks(p, g, st.v[i].units));
            units += st.v[i].units;
            left -= left != 0; /* a site for each device */
        }
        if (!req->per_task)
            tasks = geometry_tasks(p, g, units);
        if (!units || units * g->usable < p->k->pn_min_cpus)
            return false;
        if (!(p->k->flags & SHAPE_OVERCOMMIT))
            f->tasks = (uint32_t)MIN((uint64_t)f->tasks, tasks);
    }
    return true;
}

/* ---- which CPUs ------------------------------------------------------------------------------ */

/* How many of the first sites hold so many devices and units; 0: too many would be needed. */
static uint32_t have_enough_units(const struct sites *st, uint64_t devices, uint32_t need)
{
    uint64_t have = 0;
    uint32_t units = 0;

    for (uint32_t i = 0; i < st->n && i < devices; i++) {
        have += st->v[i].devices;
        units += st->v[i].units;
        if (have >= devices && units >= need)
            return i + 1;
    }
    return 0;
}

/* Bring one site that is enough to the front. */
static bool find_single_site(struct sites *st, uint64_t devices, uint32_t need)
{
    for (uint32_t i = 0; i < st->n; i++) {
        if (st->v[i].devices >= devices && st->v[i].units >= need) {
            st->v[0] = st->v[i];
            return true;
        }
    }
    return false;
}

static void keep_sites(const struct node *n, const struct sites *st, uint32_t first,
                       uint64_t *words)
{
    for (uint32_t w = 0; w < n->nwords; w++) {
        uint64_t near = 0;

        for (uint32_t i = 0; i < first; i++)
            near |= st->v[i].cpus ? st->v[i].cpus[w] : ~UINT64_C(0);
        words[w] &= near;
    }
}

static uint64_t devices_here(const struct pick *p, const struct fit *f, uint32_t r)
{
    const struct shape_gres *req = &p->k->gres[r];

    return req->per_job ? f->gres[r] : req->per_node + req->per_task * f->tasks;
}

/* Are devices told apart on the node that serve the request? */
static bool has_devices(const struct pick *p, uint32_t id, uint32_t req)
{
    const struct node *n = &p->s->nodes[id];

    for (uint32_t k = 0; k < n->ngres; k++)
        if (n->gres[k].indexed && gres_row_matches(p, &n->gres[k], req))
            return true;
    return false;
}

/* Sites that have so many devices come first, otherwise in the same order. */
static void able_first(struct sites *st, uint64_t devices)
{
    uint32_t able = 0;

    for (uint32_t i = 0; i < st->n; i++) {
        struct site site = st->v[i];

        if (site.devices < devices)
            continue;
        memmove(st->v + able + 1, st->v + able, (i - able) * sizeof(*st->v));
        st->v[able++] = site;
    }
}

/* Sites of the devices: one that is enough, else as few as are; 0: none are enough. */
static uint32_t choose_sites(const struct shape_gres *req, struct sites *st, uint64_t devices,
                             uint32_t need)
{
    uint32_t first;

    if (req->per_socket) { /* so many on each of several */
        able_first(st, req->per_socket);
        return (uint32_t)MIN((uint64_t)st->n, (devices + req->per_socket - 1) / req->per_socket);
    }
    if (find_single_site(st, devices, need))
        return 1;
    first = have_enough_units(st, devices, need);
    if (first)
        return first;
    by_units(st);
    return have_enough_units(st, devices, need);
}

bool gres_bind(const struct pick *p, const struct fit *f, const struct geometry *g, uint32_t need,
               uint64_t *words)
{
    const struct node *n = &p->s->nodes[f->id];
    struct sites st;

    for (uint32_t r = 0; r < p->k->ngres; r++) {
        uint64_t devices = devices_here(p, f, r);
        uint32_t first;

        if (!devices || !collect_sites(p, f->id, r, &st))
            continue;
        count_units(&st, g, words);
        first = choose_sites(&p->k->gres[r], &st, devices, need);
        keep_sites(n, &st, first ? first : (uint32_t)MIN((uint64_t)st.n, devices), words);
        return first > 0;
    }
    return true;
}

bool gres_near_last(const struct pick *p, const struct fit *f)
{
    const struct shape_key *k = p->k;

    if (k->flags & SHAPE_NO_BIND || p->whole)
        return false;
    for (uint32_t r = 0; r < k->ngres; r++) {
        const struct shape_gres *req = &k->gres[r];
        bool by_gpu = r == p->gpu && (k->tasks_per_gpu || k->cpus_per_gpu);

        if (devices_here(p, f, r) && has_devices(p, f->id, r) &&
            (by_gpu || req->per_task || (req->per_socket && k->num_tasks) || k->flags & SHAPE_BIND))
            return true;
    }
    return false;
}
