/* cpubind.c - see cpubind.h */
#include "base/bind/cpubind.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

static const struct {
    const char *word;
    enum cpubind_kind kind;
    size_t least; /* letters that an abbreviation needs; 0: in full */
} words[] = {
    { "none", CPUBIND_NONE, 1 },          { "threads", CPUBIND_THREADS, 1 },
    { "cores", CPUBIND_CORES, 1 },        { "sockets", CPUBIND_SOCKETS, 1 },
    { "ldoms", CPUBIND_LDOMS, 1 },        { "rank_ldom", CPUBIND_RANK_LDOM, 0 },
    { "map_cpu:", CPUBIND_MAP_CPU, 0 },   { "mask_cpu:", CPUBIND_MASK_CPU, 0 },
    { "map_ldom:", CPUBIND_MAP_LDOM, 0 }, { "mask_ldom:", CPUBIND_MASK_LDOM, 0 },
};

const char *cpubind_word(enum cpubind_kind kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (words[i].kind == kind)
            return words[i].word;
    return "";
}

const char *cpubind_of_key(const char *value)
{
    static const char *const keys[][2] = { { "none", "none" },
                                           { "core", "cores" },
                                           { "socket", "sockets" },
                                           { "ldom", "ldoms" },
                                           { "thread", "threads" } };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcasecmp(value, keys[i][0]) == 0 || strcasecmp(value, keys[i][1]) == 0)
            return keys[i][1];
    return NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

void cpubind_done(struct cpubind *b)
{
    bindlist_done(&b->list);
    *b = (struct cpubind){ 0 };
}

static bool is_mask(enum cpubind_kind kind)
{
    return kind == CPUBIND_MASK_CPU || kind == CPUBIND_MASK_LDOM;
}

/* Words that are no kind. */
static bool take_flag(struct cpubind *b, const char *word, size_t len)
{
    if (len && strncasecmp(word, "quiet", len) == 0)
        b->verbose = !(b->quiet = true);
    else if (len && strncasecmp(word, "verbose", len) == 0)
        b->quiet = !(b->verbose = true);
    else
        return false;
    return true;
}

static int take_word(void *ctx, const char *word, size_t len, const char **ret_list)
{
    struct cpubind *b = ctx;

    if (take_flag(b, word, len))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t full = strlen(words[i].word), least = words[i].least ? words[i].least : full;
        bool list = words[i].word[full - 1] == ':';

        if (list ? len < full || strncasecmp(word, words[i].word, full) != 0
                 : len < least || len > full || strncasecmp(word, words[i].word, len) != 0)
            continue;
        b->kind = words[i].kind;
        if (list)
            *ret_list = word + full;
        return 0;
    }
    /* what SLURM_CPU_BIND of a step without masks says */
    if (len == 8 && strncasecmp(word, "mask_cpu", len) == 0)
        return 0;
    return -EINVAL;
}

int cpubind_parse(const char *text, struct cpubind *ret, struct err *err)
{
    struct cpubind b = { 0 };
    const char *list;
    int r = bindlist_words(text, take_word, &b, &list);

    if (r == 0 && list)
        r = bindlist_parse(list, is_mask(b.kind), &b.list);
    if (r == 0) {
        *ret = b;
        return 0;
    }
    cpubind_done(&b);
    return err_set(err, r, "%s", r == -ENOMEM ? ERR_NOMEM : "Invalid --cpu-bind argument");
}

/* ---- masks ----------------------------------------------------------------------------------- */

enum order { ORDER_CYCLIC, ORDER_BLOCK, ORDER_FCYCLIC };

struct work {
    const struct cpubind_node *node;
    const struct cpubind_step *step;
    struct bitmap *usable; /* CPUs to deal out */
    struct bitmap *left;   /* not dealt out yet */
    enum order order;
    uint32_t socket; /* the one that gives the next CPU */
    uint32_t per_socket;
};

static uint32_t total_cpus(const struct cpubind_node *n)
{
    return n->sockets * n->cores * n->threads;
}

/* The second part of a distribution. */
static enum order order_of(const char *dist)
{
    const char *colon = dist ? strchr(dist, ':') : NULL;

    if (!colon)
        return ORDER_CYCLIC;
    if (strncasecmp(colon + 1, "block", 5) == 0)
        return ORDER_BLOCK;
    return strncasecmp(colon + 1, "fcyclic", 7) == 0 ? ORDER_FCYCLIC : ORDER_CYCLIC;
}

/* How many parts of `size` CPUs have one of the set. */
static uint32_t count_parts(const struct bitmap *set, uint32_t size)
{
    uint32_t n = 0;

    for (uint32_t i = bitmap_next(set, 0); i < set->nbits;
         i = bitmap_next(set, (i / size + 1) * size))
        n++;
    return n;
}

/* Add the whole part of `size` CPUs around each CPU of mask, as far as it is the step's. */
static void widen_mask(struct bitmap *mask, uint32_t size, const struct bitmap *within)
{
    for (uint32_t i = bitmap_next(mask, 0); i < mask->nbits;
         i = bitmap_next(mask, (i / size + 1) * size))
        bitmap_set_range(mask, i / size * size, MIN(size, mask->nbits - i / size * size));
    bitmap_and(mask, within);
}

/* The next CPU that is left in a socket, nbits when none. */
static uint32_t next_in(const struct work *w, uint32_t socket)
{
    uint32_t first = socket * w->per_socket, i = bitmap_next(w->left, first);

    return i < first + w->per_socket ? i : w->left->nbits;
}

/* Everything is dealt out: from the beginning again, with the next socket. */
static void refill_work(struct work *w)
{
    bitmap_copy(w->left, w->usable);
    w->socket = (w->socket + 1) % w->node->sockets;
}

/* Take a CPU: from the socket whose turn it is, or one behind it; block: the first there is. */
static uint32_t take_cpu(struct work *w)
{
    uint32_t cpu = w->left->nbits;

    if (bitmap_empty(w->left))
        refill_work(w);
    if (w->order == ORDER_BLOCK)
        cpu = bitmap_next(w->left, 0);
    for (uint32_t k = 0; cpu == w->left->nbits && k < w->node->sockets; k++) {
        uint32_t socket = (w->socket + k) % w->node->sockets;

        cpu = next_in(w, socket);
        if (cpu < w->left->nbits)
            w->socket = socket;
    }
    bitmap_clear(w->left, cpu);
    return cpu;
}

/* One task's CPUs: neighbours in a socket, or each from the next one. */
static void deal_cpus(struct work *w, struct bitmap *mask)
{
    for (uint32_t i = 0; i < w->step->cpus_per_task; i++) {
        bitmap_set(mask, take_cpu(w));
        if (w->order == ORDER_FCYCLIC)
            w->socket = (w->socket + 1) % w->node->sockets;
    }
    if (w->order == ORDER_CYCLIC)
        w->socket = (w->socket + 1) % w->node->sockets;
}

/* A core that has served one task serves another only when all have: the rest of the core is put
 * off. */
static void put_off(struct work *w, const struct bitmap *mask, struct bitmap *later)
{
    uint32_t t = w->node->threads;

    BITMAP_FOREACH (mask, cpu) {
        for (uint32_t i = cpu / t * t; i < cpu / t * t + t; i++) {
            if (bitmap_test(w->left, i))
                bitmap_set(later, i);
            bitmap_clear(w->left, i);
        }
    }
}

static void by_cores(struct work *w, struct bitmap **masks, struct bitmap *later)
{
    for (uint32_t i = 0; i < w->step->n_tasks; i++) {
        if (bitmap_empty(w->left) && !bitmap_empty(later)) {
            bitmap_copy(w->left, later);
            bitmap_zero(later);
            w->socket = (w->socket + 1) % w->node->sockets;
        }
        deal_cpus(w, masks[i]);
        put_off(w, masks[i], later);
    }
}

static int by_level(const struct cpubind_node *node, const struct cpubind_step *step,
                    enum cpubind_kind kind, struct bitmap **masks)
{
    _cleanup_(bitmap_free) struct bitmap *usable = NULL, *left = NULL, *later = NULL;
    struct work w = { .node = node,
                      .step = step,
                      .order = order_of(step->distribution),
                      .per_socket = node->cores * node->threads };
    uint32_t size = kind == CPUBIND_SOCKETS ? w.per_socket
                    : kind == CPUBIND_CORES ? node->threads
                    : kind == CPUBIND_LDOMS ? total_cpus(node) / MAX(node->n_ldoms, 1u)
                                            : 1;

    if (bitmap_dup(step->cpus, &usable) < 0 || bitmap_new(step->cpus->nbits, &later) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; step->one_thread && kind == CPUBIND_THREADS && i < usable->nbits; i++)
        if (i % node->threads)
            bitmap_clear(usable, i);
    if (bitmap_dup(usable, &left) < 0)
        return -ENOMEM;
    w.usable = usable;
    w.left = left;
    if (kind == CPUBIND_CORES) {
        by_cores(&w, masks, later);
    } else {
        for (uint32_t i = 0; i < step->n_tasks; i++)
            deal_cpus(&w, masks[i]);
    }
    for (uint32_t i = 0; size > 1 && i < step->n_tasks; i++)
        widen_mask(masks[i], size, step->cpus);
    return 0;
}

/* The level of which the step has as many as its tasks need. */
static enum cpubind_kind level_that_fits(const struct cpubind_node *node,
                                         const struct cpubind_step *step)
{
    uint64_t need = (uint64_t)step->n_tasks * step->cpus_per_task;

    if (step->one_thread)
        return count_parts(step->cpus, node->threads) == need ? CPUBIND_THREADS : CPUBIND_AUTO;
    if (count_parts(step->cpus, node->cores * node->threads) == need)
        return CPUBIND_SOCKETS;
    if (count_parts(step->cpus, node->threads) == need)
        return CPUBIND_CORES;
    return bitmap_count(step->cpus) == need ? CPUBIND_THREADS : CPUBIND_AUTO;
}

static int refuse_step(const struct cpubind_step *step, struct err *err)
{
    _cleanup_free_ char *text = NULL;

    if (cpubind_hex(step->cpus, &text) < 0)
        return -ENOMEM;
    return err_set(err, -EPERM,
                   "CPU binding outside of job step allocation, allocated CPUs are: %s.", text);
}

static int by_list(const struct cpubind *b, const struct cpubind_node *node,
                   const struct cpubind_step *step, struct bitmap **masks, struct err *err)
{
    bool ldoms = b->kind == CPUBIND_MAP_LDOM || b->kind == CPUBIND_MASK_LDOM;
    uint32_t each = ldoms ? total_cpus(node) / MAX(node->n_ldoms, 1u) : 1;

    for (uint32_t i = 0; i < step->n_tasks; i++) {
        if (bindlist_mask(&b->list, i, each, masks[i]) < 0)
            return ldoms ? err_set(err, -EPERM, "the node has %u locality domains",
                                   MAX(node->n_ldoms, 1u))
                         : refuse_step(step, err);
        if (!bitmap_subset(masks[i], step->cpus))
            return refuse_step(step, err);
    }
    return 0;
}

static int by_rank_ldom(const struct cpubind_node *node, const struct cpubind_step *step,
                        struct bitmap **masks)
{
    uint32_t n = MAX(node->n_ldoms, 1u), each = total_cpus(node) / n;

    for (uint32_t i = 0; i < step->n_tasks; i++)
        bitmap_set_range(masks[i], i % n * each, each);
    return 0;
}

static bool needs_whole_node(enum cpubind_kind kind)
{
    return kind == CPUBIND_RANK_LDOM || kind == CPUBIND_MAP_LDOM || kind == CPUBIND_MASK_LDOM;
}

static int fill_mask(const struct cpubind *b, enum cpubind_kind kind,
                     const struct cpubind_node *node, const struct cpubind_step *step,
                     struct bitmap **masks, struct err *err)
{
    bool whole = bitmap_count(step->cpus) == step->cpus->nbits;

    if (needs_whole_node(kind) && !whole)
        return err_set(err, -EPERM, "Entire node must be allocated for %s%.*s",
                       b->verbose ? "verbose," : "", (int)strcspn(cpubind_word(kind), ":"),
                       cpubind_word(kind));
    switch (kind) {
    case CPUBIND_THREADS:
    case CPUBIND_CORES:
    case CPUBIND_SOCKETS:
    case CPUBIND_LDOMS:
        return by_level(node, step, kind, masks);
    case CPUBIND_RANK_LDOM:
        return by_rank_ldom(node, step, masks);
    case CPUBIND_MAP_CPU:
    case CPUBIND_MASK_CPU:
    case CPUBIND_MAP_LDOM:
    case CPUBIND_MASK_LDOM:
        return by_list(b, node, step, masks, err);
    case CPUBIND_NONE:
        if (whole)
            return 0;
        break;
    case CPUBIND_AUTO:
        break;
    }
    for (uint32_t i = 0; i < step->n_tasks; i++)
        bitmap_copy(masks[i], step->cpus);
    return 0;
}

int cpubind_masks(const struct cpubind *b, const struct cpubind_node *node,
                  const struct cpubind_step *step, struct bitmap **masks,
                  enum cpubind_kind *ret_kind, struct err *err)
{
    enum cpubind_kind kind = b->kind;
    int r = bitmap_empty(step->cpus) || step->cpus->nbits != total_cpus(node) ? -EINVAL : 0;

    if (r < 0)
        return err_set(err, r, "the step's CPUs do not fit the node's geometry");
    if (kind == CPUBIND_AUTO)
        kind = level_that_fits(node, step);
    if (kind == CPUBIND_AUTO)
        kind = step->dflt;
    for (uint32_t i = 0; i < step->n_tasks; i++)
        masks[i] = NULL;
    for (uint32_t i = 0; r == 0 && i < step->n_tasks; i++)
        r = bitmap_new(step->cpus->nbits, &masks[i]);
    if (r == 0)
        r = fill_mask(b, kind, node, step, masks, err);
    for (uint32_t i = 0; r < 0 && i < step->n_tasks; i++)
        masks[i] = bitmap_free(masks[i]);
    if (r == 0)
        *ret_kind = kind;
    return r;
}

int cpubind_hex(const struct bitmap *mask, char **ret_text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    uint32_t digits = (mask->nbits + 3) / 4;

    strbuf_add(&sb, "0x");
    for (uint32_t i = digits; i > 0; i--)
        strbuf_addc(&sb, "0123456789ABCDEF"[mask->words[(i - 1) / 16] >> ((i - 1) % 16 * 4) & 15]);
    return strbuf_detach(&sb, ret_text);
}
