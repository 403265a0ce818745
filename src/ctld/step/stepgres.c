/* stepgres.c - see stepgres.h
 *
 * Device numbers are the node's.  Those near the step's cores first, of these the lowest free
 * numbers, as jobs get theirs. */
#include "ctld/step/stepgres.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "base/must.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/step/steps.h"
#include "model/tx.h"
#include "wire/errors.h"

#define DEVICES_MAX 4096u

/* One "gres/gpu:a100:2" or "gres/gpu=2" of a request. */
struct want {
    const char *name, *type;
    size_t name_len, type_len; /* type_len 0: of any type */
    uint64_t count;
};

/* False at the end of the list. */
static bool next_want(const char **text, struct want *w)
{
    while (*text && **text) {
        const char *p = *text;
        size_t len = strcspn(p, ","), name;
        char number[24];
        const char *last;

        *text += len + (p[len] == ',');
        if (len < 6 || strncmp(p, "gres/", 5) != 0)
            continue; /* cpu=2 */
        p += 5;
        len -= 5;
        name = strcspn(p, ":=,");
        last = p + len;
        while (last > p + name && last[-1] != ':' && last[-1] != '=')
            last--;
        *w = (struct want){ .name = p, .name_len = MIN(name, len), .count = 1 };
        (void)snprintf(number, sizeof(number), "%.*s", (int)(p + len - last), last);
        if (last > p + name && isdigit((unsigned char)*number) &&
            size_count_parse(number, &w->count, NULL) == 0)
            last--; /* the separator */
        else
            last = p + len; /* a type alone */
        if (last > p + name) {
            w->type = p + name + 1;
            w->type_len = (size_t)(last - w->type);
        }
        return true;
    }
    return false;
}

static bool fits_want(const struct want *w, const Pst__GresAlloc *g)
{
    return g->name && strlen(g->name) == w->name_len &&
           strncmp(g->name, w->name, w->name_len) == 0 &&
           (!w->type_len || (g->type && strlen(g->type) == w->type_len &&
                             strncmp(g->type, w->type, w->type_len) == 0));
}

/* ---- what a node has left -------------------------------------------------------------------- */

/* Of shares, which are taken; else the devices. */
static char **list_of(Pst__GresAlloc *g)
{
    return g->share_counts ? &g->shares : &g->devices;
}

static struct bitmap *bits_of(const char *text)
{
    struct bitmap *bm = NULL;

    if (bitmap_new(DEVICES_MAX, &bm) < 0)
        must(NULL);
    if (text)
        (void)bitmap_parse(bm, text, NULL); /* our own text */
    return bm;
}

static void set_list(char **text, const struct bitmap *bm)
{
    free(*text);
    *text = NULL;
    if (!bitmap_empty(bm) && bitmap_format(bm, text) < 0)
        must(NULL);
}

static Pst__GresAlloc *same_gres(Pst__GresAlloc *const *list, size_t n, const Pst__GresAlloc *g)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->name && strcmp(list[i]->name, g->name) == 0 &&
            strcmp(list[i]->type ? list[i]->type : "", g->type ? g->type : "") == 0)
            return list[i];
    return NULL;
}

/* Take away what a running step has on the node. */
static void subtract_held(Pst__GresAlloc **left, size_t n, const Pst__AllocGroup *held)
{
    for (size_t i = 0; i < n; i++) {
        const Pst__GresAlloc *h = same_gres(held->gres, held->n_gres, left[i]);
        struct bitmap *bm, *taken;

        if (!h)
            continue;
        left[i]->count -= MIN(left[i]->count, h->count);
        if (!*list_of(left[i]))
            continue;
        bm = bits_of(*list_of(left[i]));
        taken = bits_of(*list_of((Pst__GresAlloc *)h));
        bitmap_andnot(bm, taken);
        set_list(list_of(left[i]), bm);
        bitmap_free(bm);
        bitmap_free(taken);
    }
}

static Pst__GresAlloc *copy_of(const Pst__GresAlloc *from)
{
    Pst__GresAlloc *to = must(malloc(sizeof(*to)));

    pst__gres_alloc__init(to);
    to->name = tx_strdup(from->name);
    to->type = tx_strdup(from->type);
    to->devices = tx_strdup(from->devices);
    to->shares = tx_strdup(from->shares);
    to->share_counts = tx_strdup(from->share_counts);
    to->has_count = true;
    to->count = from->count;
    return to;
}

struct place { /* one node of the step */
    Pst__AllocGroup *to;
    const Pst__AllocGroup *job;
    const Pst__NodeRecord *node; /* NULL: it has gone */
    struct bitmap *cores;        /* the step's */
    Pst__GresAlloc **left;       /* free, one for each of the job's */
};

/* CPUs come core by core, so a core's number is that of its CPUs by the threads of each. */
static struct bitmap *cores_of(const Pst__AllocGroup *g, const Pst__NodeRecord *n)
{
    _cleanup_(bitmap_free) struct bitmap *cpus = NULL;
    uint32_t threads = MAX(n->threads_per_core, 1u);
    struct bitmap *cores = NULL;

    if (bitmap_new(n->cpus, &cpus) < 0 || bitmap_new(n->cpus / threads + 1, &cores) < 0)
        must(NULL);
    if (g->cpu_ids)
        (void)bitmap_parse(cpus, g->cpu_ids, NULL); /* our own text */
    BITMAP_FOREACH (cpus, i)
        bitmap_set(cores, i / threads);
    return cores;
}

static bool is_near(const struct place *p, const Pst__GresTopo *t)
{
    _cleanup_(bitmap_free) struct bitmap *cores = NULL;

    if (bitmap_new(p->cores->nbits, &cores) < 0)
        must(NULL);
    if (bitmap_parse(cores, t->cores, NULL) < 0)
        return true;
    bitmap_and(cores, p->cores);
    return !bitmap_empty(cores);
}

/* Devices of this kind whose cores gres.conf names, and none of them is the step's. */
static struct bitmap *far_devices(const struct place *p, const Pst__GresAlloc *g)
{
    struct bitmap *far = bits_of(NULL);

    for (size_t i = 0; p->node && i < p->node->n_gres_topo; i++) {
        const Pst__GresTopo *t = p->node->gres_topo[i];
        struct bitmap *devices;

        if (!t->name || strcmp(t->name, g->name) != 0 || !t->cores || !t->devices || is_near(p, t))
            continue;
        devices = bits_of(t->devices);
        bitmap_or(far, devices);
        bitmap_free(devices);
    }
    return far;
}

static void place_init(struct place *p, const struct cluster *c, const struct job *j,
                       uint32_t node_id, bool overlap)
{
    long at = alloc_position(j->rec->alloc, node_id);
    const struct node *n = cluster_node(c, node_id);

    p->node = n ? n->rec : NULL;
    if (n)
        p->cores = cores_of(p->to, n->rec);
    p->job = alloc_group(j->rec->alloc, (size_t)at);
    p->left = must(calloc(p->job->n_gres + 1, sizeof(Pst__GresAlloc *)));
    for (size_t i = 0; i < p->job->n_gres; i++)
        p->left[i] = copy_of(p->job->gres[i]);
    for (const struct step *s = j->steps; s && !overlap; s = s->next) {
        long pos = s->waiting ? alloc_position(s->rec->alloc, node_id) : -1;

        if (pos >= 0 && bitmap_test(s->waiting, (uint32_t)pos) && s->rec->own_gres &&
            !(s->rec->has_overlap && s->rec->overlap))
            subtract_held(p->left, p->job->n_gres, alloc_group(s->rec->alloc, (size_t)pos));
    }
}

static void place_done(struct place *p)
{
    for (size_t i = 0; p->left && i < p->job->n_gres; i++)
        pst__gres_alloc__free_unpacked(p->left[i], NULL);
    free(p->left);
    bitmap_free(p->cores);
}

/* Of what never runs out (no_consume) the job holds none, and each step may have all there is. */
static uint64_t inexhaustible_count(const struct place *p, const Pst__GresAlloc *g)
{
    return g->count || !p->node ? 0 : gres_text_count(p->node->gres, g->name, g->type, NULL);
}

static uint64_t sum_gres(const struct place *p, const struct want *w, bool free_only)
{
    uint64_t n = 0;

    for (size_t i = 0; i < p->job->n_gres; i++) {
        const Pst__GresAlloc *g = p->job->gres[i];

        if (fits_want(w, g))
            n += inexhaustible_count(p, g) + (free_only ? p->left[i]->count : g->count);
    }
    return n;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static Pst__GresAlloc *entry_like(struct place *p, const Pst__GresAlloc *like)
{
    Pst__AllocGroup *g = p->to;
    Pst__GresAlloc *have = same_gres(g->gres, g->n_gres, like);

    if (have)
        return have;
    g->gres = must(realloc(g->gres, (g->n_gres + 1) * sizeof(Pst__GresAlloc *)));
    have = copy_of(like);
    have->count = 0;
    free(*list_of(have));
    *list_of(have) = NULL;
    g->gres[g->n_gres++] = have;
    return have;
}

/* Move n of `from` to `to`: those that are not far first. */
static void move_gres(Pst__GresAlloc *from, Pst__GresAlloc *to, uint64_t n,
                      const struct bitmap *far)
{
    struct bitmap *have = bits_of(*list_of(from)), *got = bits_of(*list_of(to));
    uint64_t left = n;

    for (int pass = 0; pass < 2; pass++)
        BITMAP_FOREACH (have, i) {
            if (!left)
                break;
            if (bitmap_test(far, i) != (pass == 1))
                continue;
            bitmap_set(got, i);
            left--;
        }
    bitmap_andnot(have, got);
    set_list(list_of(to), got);
    set_list(list_of(from), have);
    from->count -= n;
    to->count += n;
    bitmap_free(have);
    bitmap_free(got);
}

static void take_gres(struct place *p, const struct want *w, uint64_t n)
{
    for (size_t i = 0; n && i < p->job->n_gres; i++) {
        uint64_t some = MIN(n, p->left[i]->count);
        struct bitmap *far;

        if (!some || !fits_want(w, p->job->gres[i]))
            continue;
        far = p->left[i]->share_counts ? bits_of(NULL) : far_devices(p, p->job->gres[i]);
        move_gres(p->left[i], entry_like(p, p->job->gres[i]), some, far);
        bitmap_free(far);
        n -= some;
    }
}

/* ---- on sockets ------------------------------------------------------------------------------ */

static struct bitmap *socket_cores(const struct place *p, uint32_t socket)
{
    struct bitmap *cores = NULL;
    uint32_t n = p->cores->nbits, first = MIN(socket * p->node->cores_per_socket, n);

    if (bitmap_new(n, &cores) < 0)
        must(NULL);
    bitmap_set_range(cores, first, MIN(p->node->cores_per_socket, n - first));
    return cores;
}

/* Move w->count devices near a socket out of `from`, of whose kinds the job has n: into the step's
 * part, or (without keep) nowhere.  False, and nothing is moved: there are fewer. */
static bool take_on_socket(struct place *p, Pst__GresAlloc **from, const struct want *w,
                           uint32_t socket, bool keep)
{
    struct place there = *p;
    size_t n = p->job->n_gres;
    struct bitmap **far = must(calloc(n + 1, sizeof(*far)));
    uint64_t *near = must(calloc(n + 1, sizeof(*near)));
    uint64_t sum = 0, left = w->count;

    there.cores = socket_cores(p, socket);
    for (size_t i = 0; i < n; i++) {
        struct bitmap *have = bits_of(*list_of(from[i]));

        far[i] = from[i]->share_counts ? bits_of(NULL) : far_devices(&there, from[i]);
        near[i] = from[i]->count;
        if (*list_of(from[i])) {
            bitmap_andnot(have, far[i]);
            near[i] = MIN(near[i], bitmap_count(have));
        }
        sum += fits_want(w, from[i]) ? near[i] : 0;
        bitmap_free(have);
    }
    for (size_t i = 0; i < n && sum >= w->count; i++) {
        uint64_t some = fits_want(w, from[i]) ? MIN(left, near[i]) : 0;
        Pst__GresAlloc *scratch = some && !keep ? copy_of(from[i]) : NULL;

        if (some)
            move_gres(from[i], keep ? entry_like(p, from[i]) : scratch, some, far[i]);
        if (scratch)
            pst__gres_alloc__free_unpacked(scratch, NULL);
        left -= some;
    }
    for (size_t i = 0; i < n; i++)
        bitmap_free(far[i]);
    bitmap_free(there.cores);
    free(far);
    free(near);
    return sum >= w->count;
}

static bool has_cores_on(const struct place *p, uint32_t socket)
{
    _cleanup_(bitmap_free) struct bitmap *cores = socket_cores(p, socket);

    bitmap_and(cores, p->cores);
    return !bitmap_empty(cores);
}

/* How many sockets, `most` at most, gave w->count each: those of the step's cores first. */
static uint32_t take_on_sockets(struct place *p, Pst__GresAlloc **from, const struct want *w,
                                uint32_t most, bool keep)
{
    uint32_t got = 0;

    for (int pass = 0; p->node && pass < 2; pass++)
        for (uint32_t k = 0; k < p->node->sockets && got < most; k++)
            if (has_cores_on(p, k) == (pass == 0) && take_on_socket(p, from, w, k, keep))
                got++;
    return got;
}

/* Would it work with these?  They are left as they are. */
static bool sockets_suffice(struct place *p, Pst__GresAlloc *const *with, const struct want *w,
                            uint32_t sockets)
{
    size_t n = p->job->n_gres;
    Pst__GresAlloc **copies = must(calloc(n + 1, sizeof(*copies)));
    bool enough;

    for (size_t i = 0; i < n; i++)
        copies[i] = copy_of(with[i]);
    enough = take_on_sockets(p, copies, w, sockets, false) == sockets;
    for (size_t i = 0; i < n; i++)
        pst__gres_alloc__free_unpacked(copies[i], NULL);
    free(copies);
    return enough;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* What a node's part of the step asks for. */
static uint64_t wanted_there(const struct want *w, const struct place *p, bool each_task)
{
    uint64_t times = each_task ? MAX(p->to->tasks, 1u) : 1;

    return w->count > UINT64_MAX / times ? UINT64_MAX : w->count * times;
}

/* The same number on every node (each = 1), or for each task. */
static int for_each_node(struct place *places, size_t n, const char *text, bool each_task)
{
    struct want w;

    while (next_want(&text, &w)) {
        bool busy = false;

        for (size_t i = 0; i < n; i++) {
            uint64_t count = wanted_there(&w, &places[i], each_task);

            if (count > sum_gres(&places[i], &w, false))
                return ESLURM_INVALID_GRES;
            busy = busy || count > sum_gres(&places[i], &w, true);
        }
        if (busy)
            return ESLURM_NODES_BUSY;
        for (size_t i = 0; i < n; i++)
            take_gres(&places[i], &w, wanted_there(&w, &places[i], each_task));
    }
    return 0;
}

/* So many together: one for each node as long as there are enough, then as they come. */
static int for_all(struct place *places, size_t n, const char *text)
{
    struct want w;

    while (next_want(&text, &w)) {
        uint64_t all = 0, free_now = 0, left = w.count;

        for (size_t i = 0; i < n; i++) {
            all += sum_gres(&places[i], &w, false);
            free_now += sum_gres(&places[i], &w, true);
        }
        if (w.count > all)
            return ESLURM_INVALID_GRES;
        if (w.count > free_now)
            return ESLURM_NODES_BUSY;
        for (size_t i = 0; i < n && left; i++) {
            uint64_t here = sum_gres(&places[i], &w, true), keep = MIN(n - i - 1, left - 1);

            here = MIN(here, left - keep);
            take_gres(&places[i], &w, here);
            left -= here;
        }
        for (size_t i = 0; i < n && left; i++) {
            uint64_t here = MIN(sum_gres(&places[i], &w, true), left);

            take_gres(&places[i], &w, here);
            left -= here;
        }
    }
    return 0;
}

/* So many on each of several sockets of every node. */
static int for_each_socket(struct place *places, size_t n, const char *text, uint32_t sockets)
{
    struct want w;

    while (next_want(&text, &w)) {
        bool busy = false;

        for (size_t i = 0; i < n; i++) {
            if (!sockets_suffice(&places[i], places[i].job->gres, &w, sockets))
                return ESLURM_INVALID_GRES;
            busy = busy || !sockets_suffice(&places[i], places[i].left, &w, sockets);
        }
        if (busy)
            return ESLURM_NODES_BUSY;
        for (size_t i = 0; i < n; i++)
            (void)take_on_sockets(&places[i], places[i].left, &w, sockets, true); /* as tried */
    }
    return 0;
}

static bool asks_any(const char *text)
{
    struct want w;

    return text && next_want(&text, &w);
}

static void take_all(struct place *p)
{
    for (size_t i = 0; i < p->job->n_gres; i++) {
        p->to->gres = must(realloc(p->to->gres, (p->to->n_gres + 1) * sizeof(Pst__GresAlloc *)));
        p->to->gres[p->to->n_gres++] = copy_of(p->job->gres[i]);
    }
}

bool stepgres_asks(const Pst__StepSpec *spec)
{
    return asks_any(spec->tres_per_task) || asks_any(spec->tres_per_node) ||
           asks_any(spec->tres_per_socket) || asks_any(spec->tres_per_step);
}

char *stepgres_request(const Pst__StepSpec *spec, uint32_t cpus)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    if (!asks_any(spec->tres_per_step))
        return NULL;
    if (spec->has_exact && spec->exact)
        strbuf_addf(&sb, "cpu:%u,", cpus);
    strbuf_add(&sb, spec->tres_per_step);
    return strbuf_detach(&sb, &text) < 0 ? must(NULL) : text;
}

uint64_t stepgres_gpus(const struct job *j, const Pst__StepSpec *spec, uint64_t nodes,
                       uint64_t tasks)
{
    uint64_t held = 0;

    if (asks_any(spec->tres_per_task))
        return tasks * gres_text_count(spec->tres_per_task, "gpu", NULL, NULL);
    if (asks_any(spec->tres_per_node))
        return nodes * gres_text_count(spec->tres_per_node, "gpu", NULL, NULL);
    if (asks_any(spec->tres_per_socket))
        return nodes * MAX(spec->sockets_per_node, 1u) *
               gres_text_count(spec->tres_per_socket, "gpu", NULL, NULL);
    if (asks_any(spec->tres_per_step))
        return gres_text_count(spec->tres_per_step, "gpu", NULL, NULL);
    for (size_t i = 0; i < j->rec->alloc->n_groups; i++) {
        const Pst__AllocGroup *g = j->rec->alloc->groups[i];

        for (size_t k = 0; k < g->n_gres; k++)
            held += strcmp(g->gres[k]->name, "gpu") == 0 ? g->gres[k]->count * g->nodes : 0;
    }
    return held;
}

static int fill_places(struct place *places, size_t n, const Pst__StepSpec *spec)
{
    if (asks_any(spec->tres_per_task)) /* says it of every task, so the rest only repeats it */
        return for_each_node(places, n, spec->tres_per_task, true);
    if (asks_any(spec->tres_per_node))
        return for_each_node(places, n, spec->tres_per_node, false);
    if (asks_any(spec->tres_per_socket))
        return for_each_socket(places, n, spec->tres_per_socket, MAX(spec->sockets_per_node, 1u));
    if (asks_any(spec->tres_per_step))
        return for_all(places, n, spec->tres_per_step);
    if (spec->tres_per_node && strcmp(spec->tres_per_node, "none") == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        take_all(&places[i]);
    return 0;
}

int stepgres_fill(const struct cluster *c, const struct job *j, const Pst__StepSpec *spec,
                  Pst__Alloc *alloc, bool overlap)
{
    size_t n = alloc->n_groups;
    struct place *places = must(calloc(n + 1, sizeof(*places)));
    int r;

    for (size_t i = 0; i < n; i++) {
        places[i].to = alloc->groups[i];
        place_init(&places[i], c, j, alloc->node_ids[i], overlap);
    }
    r = fill_places(places, n, spec);
    for (size_t i = 0; i < n; i++)
        place_done(&places[i]);
    free(places);
    return r;
}
