/* resvpick.c - the nodes of a reservation: what the cluster looks like at its time, for
 * sched/rules/resv_choice.c
 *
 * Core thread; runs when a user makes or changes a reservation and when nodes are replaced. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gres/licensetext.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/must.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "ctld/schedlink/licenses.h"
#include "ctld/job/nodefeatures.h"
#include "ctld/resv/resv_impl.h"
#include "ctld/topology/topoexpand.h"
#include "base/gres/grestext.h"
#include "feed/records.h"
#include "sched/base/constraint.h"
#include "sched/rules/resv_choice.h"

struct tres_want { /* of a TRES= text, or of the single keys */
    uint32_t nodes, cores;
    uint64_t cpus;
    char gres[128], gres_type[64]; /* "" = none */
    uint64_t gres_count;
};

_Static_assert(RESV_PARTS_MAX >= CONSTRAINT_COUNTS_MAX, "every count of an expression is a part");

struct ground {
    struct ctld *ctld;
    const Pst__ReservationRecord *rec;
    struct resv_ground g;
    struct bitmap *from, *up, *online, *busy, *hard, *soft;
    struct bitmap **taken; /* by node id: cores that are not to be had; NULL = none */
    const struct tres_want *tres;
    struct resv_part parts[RESV_PARTS_MAX]; /* of the features */
    size_t nparts;
};

static struct bitmap *set_new(const struct ctld *ctld)
{
    struct bitmap *bm = NULL;

    if (bitmap_new(ctld->cluster->nnodes ? ctld->cluster->nnodes : 1, &bm) < 0)
        must(NULL);
    return bm;
}

static void ground_done(struct ground *w)
{
    for (uint32_t i = 0; w->taken && i < w->from->nbits; i++)
        bitmap_free(w->taken[i]);
    free(w->taken);
    bitmap_free(w->from);
    bitmap_free(w->up);
    bitmap_free(w->online);
    bitmap_free(w->busy);
    bitmap_free(w->hard);
    bitmap_free(w->soft);
    for (size_t i = 0; i < w->nparts; i++)
        bitmap_free(w->parts[i].nodes);
}

static uint32_t cores_of(const struct node *n)
{
    uint32_t threads = n->rec->threads_per_core ? n->rec->threads_per_core : 1;

    return n->rec->cpus / threads;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* "cpu=4,node=2,gres/gpu:a100=2"; licences and burst buffers were taken out of it before. */
static bool parse_tres(const Pst__ReservationRecord *rec, struct tres_want *ret)
{
    _cleanup_free_ char *copy = rec->want_tres ? must(strdup(rec->want_tres)) : NULL;
    char *save = NULL;

    *ret = (struct tres_want){ .nodes = rec->has_want_nodes ? rec->want_nodes : 0,
                               .cores = rec->has_want_cores ? rec->want_cores : 0 };
    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        char *value = strchr(w, '=');
        uint64_t n;

        if (!value || size_count_parse(value + 1, &n, NULL) < 0 || n > UINT32_MAX)
            return false;
        *value = '\0';
        if (strcmp(w, "cpu") == 0) {
            ret->cpus = n;
        } else if (strcmp(w, "node") == 0) {
            ret->nodes = (uint32_t)n;
        } else if (strncmp(w, "gres/", 5) == 0 && !ret->gres[0]) {
            char *type = strchr(w + 5, ':');

            if (type)
                *type++ = '\0';
            if (snprintf(ret->gres, sizeof(ret->gres), "%s", w + 5) >= (int)sizeof(ret->gres) ||
                snprintf(ret->gres_type, sizeof(ret->gres_type), "%s", type ? type : "") >=
                    (int)sizeof(ret->gres_type))
                return false;
            ret->gres_count = n;
        } else {
            return false;
        }
    }
    return true;
}

static int named_nodes(struct ctld *ctld, const char *list, struct bitmap *set)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_free_ char *expanded = NULL;

    if (topology_expand(ctld, list, &expanded) < 0 ||
        hostlist_parse_most(expanded, HOSTLIST_MAX_NODES, &hl, NULL) < 0 || !hostlist_count(hl))
        return ESLURM_INVALID_NODE_NAME;
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (!n)
            return ESLURM_INVALID_NODE_NAME;
        bitmap_set(set, n->rec->node_id);
    }
    return 0;
}

/* Keep the nodes that alternative `alt` admits in w->from, and what it counts; *ret_more: there
 * is another one. */
static int keep_features(struct ground *w, uint32_t alt, bool *ret_more)
{
    _cleanup_(constraint_free) struct constraint *f = NULL;
    struct node_features ask = { .cluster = w->ctld->cluster };
    const char *text = w->rec->features;
    int r;

    *ret_more = false;
    if (!text || !*text)
        return 0;
    if (constraint_parse(text, &f, NULL) < 0)
        return ESLURM_INVALID_FEATURE;
    ask.set = set_new(w->ctld);
    r = constraint_mask(f, alt, nodes_with_feature, &ask, w->from);
    for (uint32_t i = 0; r == 0 && i < constraint_counts(f, alt); i++) {
        struct resv_part *part = &w->parts[w->nparts++];

        part->nodes = set_new(w->ctld);
        r = constraint_count_mask(f, alt, i, nodes_with_feature, &ask, part->nodes, &part->count);
    }
    *ret_more = alt + 1 < constraint_alts(f);
    bitmap_free(ask.set);
    return r < 0 ? SLURM_ERROR : 0;
}

/* ---- what there is --------------------------------------------------------------------------- */

static void mark_jobs(struct ground *w, int64_t from_us)
{
    bool idle_wanted = resv_has(w->rec, RESV_FLAG(REPLACE)); /* its own jobs do not count as idle */

    for (const struct job *j = w->ctld->cluster->active; j; j = j->next_active) {
        const Pst__JobRecord *r = j->rec;

        if (!job_holds_resources(r) || job_is_ended(r) || (r->has_end_us && r->end_us <= from_us) ||
            (!idle_wanted && r->has_resv_id && r->resv_id == w->rec->resv_id))
            continue;
        for (size_t i = 0; i < r->alloc->n_node_ids; i++) {
            uint32_t id = r->alloc->node_ids[i];
            const struct node *n = cluster_node(w->ctld->cluster, id);
            struct bitmap *cpus = NULL;
            uint32_t threads = n && n->rec->threads_per_core ? n->rec->threads_per_core : 1;

            if (!n || id >= w->busy->nbits)
                continue;
            bitmap_set(w->busy, id);
            if (!w->taken || bitmap_new(n->rec->cpus + threads, &cpus) < 0)
                continue;
            if (!w->taken[id] && bitmap_new(cores_of(n) ? cores_of(n) : 1, &w->taken[id]) < 0)
                must(NULL);
            (void)bitmap_parse(cpus, alloc_group(r->alloc, i)->cpu_ids, NULL); /* our own text */
            BITMAP_FOREACH (cpus, cpu)
                if (cpu / threads < w->taken[id]->nbits)
                    bitmap_set(w->taken[id], cpu / threads);
            bitmap_free(cpus);
        }
    }
}

static void mark_cores(struct ground *w, const Pst__ReservationRecord *other)
{
    for (size_t i = 0; i < other->n_cores; i++) {
        const struct node *n = cluster_node_named(w->ctld->cluster, other->cores[i]->node);

        if (!n)
            continue;
        if (!w->taken[n->rec->node_id] &&
            bitmap_new(cores_of(n) ? cores_of(n) : 1, &w->taken[n->rec->node_id]) < 0)
            must(NULL);
        /* our own text */
        (void)bitmap_parse_within(w->taken[n->rec->node_id], other->cores[i]->cores);
    }
}

static void mark_reservations(struct ground *w, bool named, int64_t now_us)
{
    const Pst__ReservationRecord *other;

    for (size_t pos = 0; (other = cluster_next_resv(w->ctld->cluster, &pos));) {
        bool permits =
            resv_has(other, RESV_FLAG(OVERLAP)) || (named && resv_has(other, RESV_FLAG(MAINT)));

        if (other->resv_id == w->rec->resv_id || !other->nodes || !resv_meet(w->rec, other, now_us))
            continue;
        if (other->n_cores && w->taken && !permits)
            mark_cores(w, other);
        else
            bitmap_or(permits ? w->soft : w->hard, resv_nodes(w->ctld, other));
    }
}

static uint32_t node_cores(void *ctx, uint32_t id, const uint64_t **ret_taken, uint32_t *ret_nwords)
{
    const struct ground *w = ctx;
    const struct node *n = cluster_node(w->ctld->cluster, id);

    *ret_taken = w->taken && w->taken[id] ? w->taken[id]->words : NULL;
    *ret_nwords = *ret_taken ? w->taken[id]->nwords : 0;
    return n ? cores_of(n) : 0;
}

static uint32_t socket_cores(void *ctx, uint32_t id)
{
    const struct ground *w = ctx;
    const struct node *n = cluster_node(w->ctld->cluster, id);

    return n ? cores_of(n) / MAX(n->rec->sockets, 1u) : 0;
}

/* Devices of the kind asked for, or CPUs. */
static uint64_t node_counts(void *ctx, uint32_t id)
{
    const struct ground *w = ctx;
    const struct node *n = cluster_node(w->ctld->cluster, id);
    _cleanup_free_ char *copy = n && n->rec->gres ? must(strdup(n->rec->gres)) : NULL;
    char *save = NULL;
    uint64_t sum = 0;

    if (!w->tres->gres[0])
        return n ? n->rec->cpus : 0;
    for (char *s = copy ? strtok_r(copy, ",", &save) : NULL; s; s = strtok_r(NULL, ",", &save)) {
        struct gres_text g;

        if (gres_text_parse(s, &g) && strcmp(g.name, w->tres->gres) == 0 &&
            (!w->tres->gres_type[0] || (g.type && strcmp(g.type, w->tres->gres_type) == 0)))
            sum += g.count;
    }
    return sum;
}

static void ground_init(struct ground *w, bool by_cores, bool named, int64_t now_us)
{
    const struct cluster *c = w->ctld->cluster;
    struct resv_period first;

    w->up = set_new(w->ctld);
    w->online = set_new(w->ctld);
    w->busy = set_new(w->ctld);
    w->hard = set_new(w->ctld);
    w->soft = set_new(w->ctld);
    if (by_cores)
        w->taken = must(calloc(w->up->nbits, sizeof(*w->taken)));
    for (uint32_t i = 0; i < c->nnodes; i++) {
        if (!c->nodes[i])
            continue;
        if (c->nodes[i]->rec->state == PST__NODE_STATE__NODE_IDLE ||
            (named && c->nodes[i]->rec->state == PST__NODE_STATE__NODE_FUTURE))
            bitmap_set(w->online, i); /* who names a node that is to come means it */
        if (c->nodes[i]->rec->state == PST__NODE_STATE__NODE_IDLE &&
            feed_node_usable(c->nodes[i]->rec))
            bitmap_set(w->up, i);
    }
    if (resv_periods(w->rec, now_us, &first, 1) == 1 &&
        !resv_has(w->rec, RESV_FLAG(IGNORE_JOBS) | RESV_FLAG(TIME_FLOAT)))
        mark_jobs(w, first.start_us);
    mark_reservations(w, named, now_us);
    w->g = (struct resv_ground){ .from = w->from,
                                 .up = w->up,
                                 .online = w->online,
                                 .busy = w->busy,
                                 .hard = w->hard,
                                 .soft = w->soft,
                                 .cores = node_cores,
                                 .per_socket = socket_cores,
                                 .ctx = w };
}

/* ---- the result ------------------------------------------------------------------------------ */

static void drop_cores(Pst__ReservationRecord *rec)
{
    for (size_t i = 0; i < rec->n_cores; i++)
        pst__resv_cores__free_unpacked(rec->cores[i], NULL);
    free(rec->cores);
    rec->cores = NULL;
    rec->n_cores = 0;
}

static void put_cores(const struct ctld *ctld, Pst__ReservationRecord *rec,
                      const struct resv_choice *c)
{
    drop_cores(rec);
    if (!c->ncores)
        return;
    rec->cores = must(calloc(c->ncores, sizeof(*rec->cores)));
    for (size_t i = 0; i < c->ncores; i++) {
        const struct resv_cores_of *of = &c->cores[i];
        Pst__ResvCores *to = must(malloc(sizeof(*to)));
        struct bitmap *bm = NULL;

        pst__resv_cores__init(to);
        to->node = tx_strdup(cluster_node(ctld->cluster, of->node_id)->rec->name);
        if (bitmap_new(of->nwords * 64, &bm) < 0)
            must(NULL);
        memcpy(bm->words, of->bits, of->nwords * sizeof(*of->bits));
        if (bitmap_format(bm, &to->cores) < 0)
            must(NULL);
        bitmap_free(bm);
        rec->cores[rec->n_cores++] = to;
    }
}

/* "cpu=64,license/matlab=5": of licences those that AccountingStorageTRES names. */
static void put_tres(const struct ctld *ctld, Pst__ReservationRecord *rec, uint64_t cpus,
                     const struct tres_want *want)
{
    const char *tracked = conf_str(ctld->conf, CONF_ACCOUNTING_STORAGE_TRES);
    struct strbuf sb = STRBUF_INIT;
    struct license_text l;
    char *text = NULL;

    if (cpus)
        strbuf_addf(&sb, "cpu=%llu", (unsigned long long)cpus);
    if (want->gres[0])
        strbuf_addf(&sb, "%sgres/%s%s%s=%llu", sb.len ? "," : "", want->gres,
                    want->gres_type[0] ? ":" : "", want->gres_type,
                    (unsigned long long)want->gres_count);
    for (const char *p = rec->licenses; p && license_text_next(&p, &l);) {
        char name[128];

        (void)snprintf(name, sizeof(name), "license/%.*s", (int)l.name_len, l.name);
        if (wordlist_has(tracked, name))
            strbuf_addf(&sb, "%s%s=%llu", sb.len ? "," : "", name,
                        (unsigned long long)license_text_count(&l));
    }
    if (sb.len && strbuf_detach(&sb, &text) < 0)
        must(NULL);
    strbuf_done(&sb);
    free(rec->tres);
    rec->tres = text;
}

static void put_choice(struct ctld *ctld, Pst__ReservationRecord *rec, const struct resv_choice *c,
                       const struct tres_want *want)
{
    const char **names = must(calloc(ctld->cluster->nnodes + 1, sizeof(*names)));
    uint64_t cpus = 0;
    uint32_t cores = 0;
    size_t n = 0, k = 0;

    BITMAP_FOREACH (c->nodes, id) {
        const struct node *node = cluster_node(ctld->cluster, id);
        uint32_t threads = node->rec->threads_per_core ? node->rec->threads_per_core : 1,
                 part = cores_of(node);

        names[n++] = node->rec->name;
        if (c->ncores) {
            part = 0;
            for (uint32_t i = 0; i < c->cores[k].nwords; i++)
                part += (uint32_t)__builtin_popcountll(c->cores[k].bits[i]);
            k++;
        }
        cores += part;
        cpus += c->ncores ? part * threads : node->rec->cpus;
    }
    free(rec->nodes);
    rec->nodes = NULL;
    if (n && hostlist_fold_names(names, n, &rec->nodes) < 0)
        must(NULL);
    free(names);
    SET(rec, node_cnt, (uint32_t)n);
    SET(rec, core_cnt, cores);
    put_cores(ctld, rec, c);
    put_tres(ctld, rec, cpus, want);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* The partition nodes are taken from: as asked, or the first allowed one, or the cluster's
 * default. */
static struct partition *source_of(struct ctld *ctld, const Pst__ReservationRecord *rec)
{
    char name[256];

    if (rec->partition)
        return cluster_partition(ctld->cluster, rec->partition);
    if (rec->allowed_partitions && !resv_list_denies(rec->allowed_partitions)) {
        size_t n = strcspn(rec->allowed_partitions, ",");

        if (n < sizeof(name)) {
            memcpy(name, rec->allowed_partitions, n);
            name[n] = '\0';
            return cluster_partition(ctld->cluster, name);
        }
    }
    return cluster_default_partition(ctld->cluster);
}

/* The nodes that count at all, for alternative `alt` of the features, into the empty w->from. */
static int make_from(struct ground *w, Pst__ReservationRecord *rec, uint32_t alt, bool *ret_more)
{
    bool named = resv_has(rec, RESV_FLAG(SPEC_NODES));
    struct ctld *ctld = w->ctld;
    struct bitmap *from = w->from;
    struct partition *p;

    *ret_more = false;
    if (resv_has(rec, RESV_FLAG(ALL_NODES)) && !resv_has(rec, RESV_FLAG(PART_NODES))) {
        for (uint32_t i = 0; i < ctld->cluster->nnodes; i++)
            if (ctld->cluster->nodes[i])
                bitmap_set(from, i);
        return 0;
    }
    p = source_of(ctld, rec);
    if (named && p && !rec->partition && w->tres->cores)
        rec->partition = tx_strdup(p->rec->name);
    if (named && !resv_has(rec, RESV_FLAG(PART_NODES)))
        return named_nodes(ctld, rec->nodes, from);
    if (!p)
        return rec->partition ? ESLURM_INVALID_PARTITION_NAME : ESLURM_DEFAULT_PARTITION_NOT_SET;
    if (!rec->partition)
        rec->partition = tx_strdup(p->rec->name);
    bitmap_or(from, p->nodes);
    return keep_features(w, alt, ret_more);
}

static int choose_nodes(struct ctld *ctld, Pst__ReservationRecord *rec,
                        const struct tres_want *want, const struct bitmap *keep, uint32_t alt,
                        int64_t now_us, struct resv_choice *ret, bool *ret_more)
{
    bool named = resv_has(rec, RESV_FLAG(SPEC_NODES) | RESV_FLAG(PART_NODES));
    bool by_cores = want->cores > 0;
    struct ground w = { .ctld = ctld, .rec = rec, .tres = want };
    struct resv_want rw = { .nodes = named ? 0 : want->nodes,
                            .cores = want->cores,
                            .overlap = resv_has(rec, RESV_FLAG(OVERLAP)),
                            .maint = resv_has(rec, RESV_FLAG(MAINT)),
                            .ignore_jobs = resv_has(rec, RESV_FLAG(IGNORE_JOBS)),
                            .named = named,
                            .replace = keep != NULL };
    enum resv_refusal why = RESV_BUSY;
    int code;

    w.from = set_new(ctld);
    code = make_from(&w, rec, alt, ret_more);
    if (code == 0) {
        uint32_t counted = 0;

        ground_init(&w, by_cores, named, now_us);
        for (size_t i = 0; i < w.nparts; i++)
            counted += w.parts[i].count;
        w.g.parts = w.parts;
        w.g.nparts = named ? 0 : w.nparts;
        rw.nodes = named ? 0 : MAX(rw.nodes, counted);
        if (want->gres[0] || (want->cpus && !by_cores)) {
            w.g.counts = node_counts;
            w.g.goal = want->gres[0] ? want->gres_count : want->cpus;
        }
        if (resv_choose(&rw, &w.g, keep, ret, &why) < 0)
            must(NULL);
        code = why == RESV_CHOSEN     ? 0
               : why == RESV_OVERLAPS ? ESLURM_RESERVATION_OVERLAP
                                      : ESLURM_NODES_BUSY;
    }
    ground_done(&w);
    return code;
}

int resv_pick(struct ctld *ctld, Pst__ReservationRecord *rec, bool keep, int64_t now_us)
{
    struct tres_want want;
    struct resv_choice c = { 0 };
    struct bitmap *kept = NULL;
    bool more = true;
    int code = ESLURM_NODES_BUSY;

    if (!parse_tres(rec, &want))
        return ESLURM_INVALID_TRES;
    if (!want.cores && want.cpus) { /* TRES=cpu= is a number of cores */
        want.cores = (uint32_t)want.cpus;
        want.cpus = 0;
    }
    if (resv_has(rec, RESV_FLAG(ANY_NODES)) && !rec->nodes && !want.nodes && !want.cores &&
        !want.gres[0] && !resv_has(rec, RESV_FLAG(ALL_NODES) | RESV_FLAG(PART_NODES))) {
        SET(rec, node_cnt, 0);
        SET(rec, core_cnt, 0);
        drop_cores(rec);
        put_tres(ctld, rec, 0, &want);
        return 0;
    }
    if (keep && rec->nodes) {
        kept = set_new(ctld);
        (void)named_nodes(ctld, rec->nodes, kept); /* nodes that are gone are no loss */
    }
    for (uint32_t alt = 0; code != 0 && more; alt++)
        code = choose_nodes(ctld, rec, &want, kept, alt, now_us, &c, &more);
    bitmap_free(kept);
    if (code != 0)
        return code;
    put_choice(ctld, rec, &c, &want);
    if (!rec->has_want_nodes && !resv_has(rec, RESV_FLAG(SPEC_NODES) | RESV_FLAG(PART_NODES)) &&
        !want.cores && !want.gres[0])
        SET(rec, want_nodes, rec->node_cnt);
    resv_choice_done(&c);
    return 0;
}

/* ---- licences -------------------------------------------------------------------------------- */

/* What the list keeps of a licence, or of a layer.  The default layer is named by its resource. */
static uint64_t kept_of(const struct ctld *ctld, const char *list, const char *name)
{
    uint64_t sum = 0;
    struct license_text l;

    while (list && license_text_next(&list, &l)) {
        _cleanup_free_ char *own = licenses_layer(ctld, &l);

        if (strcmp(own, name) == 0)
            sum += license_text_count(&l);
    }
    return sum;
}

int resv_licenses_fit(struct ctld *ctld, const Pst__ReservationRecord *rec, int64_t now_us)
{
    const char *list = rec->licenses && *rec->licenses ? rec->licenses : NULL;
    const Pst__ReservationRecord *other;
    struct license_text l;

    if (list && !licenses_exist_resv(ctld, list))
        return ESLURM_INVALID_LICENSES;
    while (list && license_text_next(&list, &l)) {
        _cleanup_free_ char *name = licenses_layer(ctld, &l);
        uint64_t sum = license_text_count(&l);

        for (size_t pos = 0; (other = cluster_next_resv(ctld->cluster, &pos));)
            if (other->resv_id != rec->resv_id && other->licenses &&
                resv_meet(rec, other, now_us) &&
                !resv_has(rec, RESV_FLAG(OVERLAP) | RESV_FLAG(MAINT)))
                sum += kept_of(ctld, other->licenses, name);
        if (sum > licenses_total(ctld, name))
            return ESLURM_RESERVATION_OVERLAP;
    }
    return 0;
}

/* ---- users ----------------------------------------------------------------------------------- */

static void add_uid(Pst__ReservationRecord *rec, uint32_t uid)
{
    rec->uids = must(realloc(rec->uids, (rec->n_uids + 1) * sizeof(*rec->uids)));
    rec->uids[rec->n_uids++] = uid;
}

static bool add_user(Pst__ReservationRecord *rec, const char *name)
{
    struct passwd pw, *found = NULL;
    char buf[16384];
    uint64_t uid;

    if (getpwnam_r(name, &pw, buf, sizeof(buf), &found) == 0 && found)
        add_uid(rec, pw.pw_uid);
    else if (parse_u64(name, 0, UINT32_MAX - 1, &uid) == 0)
        add_uid(rec, (uint32_t)uid);
    else
        add_uid(rec, UINT32_MAX);
    return rec->uids[rec->n_uids - 1] != UINT32_MAX;
}

/* Members by the group's own list, and those whose primary group it is. */
static bool add_group(Pst__ReservationRecord *rec, const char *name)
{
    struct group gr, *found = NULL;
    _cleanup_free_ char *buf = must(malloc(1u << 20));
    struct passwd *pw;

    if (getgrnam_r(name, &gr, buf, 1u << 20, &found) != 0 || !found)
        return false;
    for (char **m = gr.gr_mem; *m; m++)
        (void)add_user(rec, *m); /* a member that is no known user is left out */
    setpwent();
    while ((pw = getpwent()))
        if (pw->pw_gid == gr.gr_gid)
            add_uid(rec, pw->pw_uid);
    endpwent();
    return true;
}

bool resv_resolve(Pst__ReservationRecord *rec)
{
    const char *list = rec->users ? rec->users : rec->groups;
    _cleanup_free_ char *copy = list ? must(strdup(list)) : NULL;
    char *save = NULL;
    bool known = true;

    free(rec->uids);
    rec->uids = NULL;
    rec->n_uids = 0;
    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        const char *name = w + (*w == '-');

        known = (rec->users ? add_user(rec, name) : add_group(rec, name)) && known;
    }
    return known;
}
