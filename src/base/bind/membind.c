/* membind.c - see membind.h */
#include "base/bind/membind.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

static const struct {
    const char *word;
    enum membind_kind kind;
    size_t least; /* letters that an abbreviation needs */
} words[] = {
    { "none", MEMBIND_NONE, 2 },    { "rank", MEMBIND_RANK, 1 },      { "local", MEMBIND_LOCAL, 1 },
    { "map_mem:", MEMBIND_MAP, 8 }, { "mask_mem:", MEMBIND_MASK, 9 },
};

/* "map_mem:", "local" ...: as SLURM_MEM_BIND_TYPE names a kind; "none" when there is none. */
static const char *membind_word(enum membind_kind kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (words[i].kind == kind)
            return words[i].word;
    return "none";
}

void membind_done(struct membind *b)
{
    bindlist_done(&b->list);
    *b = (struct membind){ 0 };
}

static bool is_word(const char *text, size_t len, const char *word, size_t least)
{
    return len >= least && len <= strlen(word) && strncasecmp(text, word, len) == 0;
}

/* Words that are no kind. */
static bool take_flag(struct membind *b, const char *word, size_t len)
{
    if (is_word(word, len, "quiet", 1))
        b->verbose = !(b->quiet = true);
    else if (is_word(word, len, "verbose", 1))
        b->quiet = !(b->verbose = true);
    else if (is_word(word, len, "prefer", 1))
        b->prefer = true;
    else if (is_word(word, len, "sort", 1) || is_word(word, len, "nosort", 3))
        b->sort = (word[0] | 32) == 's';
    else
        return false;
    return true;
}

static int take_word(void *ctx, const char *word, size_t len, const char **ret_list)
{
    struct membind *b = ctx;

    if (take_flag(b, word, len))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t full = strlen(words[i].word);
        bool list = words[i].word[full - 1] == ':';

        if (list ? len < full || strncasecmp(word, words[i].word, full) != 0
                 : !is_word(word, len, words[i].word, words[i].least))
            continue;
        b->kind = words[i].kind;
        if (list)
            *ret_list = word + full;
        return 0;
    }
    return -EINVAL;
}

int membind_parse(const char *text, struct membind *ret, struct err *err)
{
    struct membind b = { 0 };
    const char *list;
    int r = bindlist_words(text, take_word, &b, &list);

    if (r == 0 && list)
        r = bindlist_parse(list, b.kind == MEMBIND_MASK, &b.list);
    if (r == 0) {
        *ret = b;
        return 0;
    }
    membind_done(&b);
    return err_set(err, r, "%s", r == -ENOMEM ? ERR_NOMEM : "Invalid --mem-bind argument");
}

int membind_vars(const struct membind *b, membind_var_fn *fn, void *ctx)
{
    _cleanup_val_(strbuf_done) struct strbuf list = STRBUF_INIT, all = STRBUF_INIT;
    const char *word = membind_word(b->kind), *how = b->verbose ? "verbose" : "quiet";

    for (size_t i = 0; i < b->list.n; i++)
        strbuf_addf(&list, "%s%s%s", i ? "," : "", b->list.masks ? "0x" : "", b->list.items[i]);
    strbuf_addf(&all, "%s%s%s,%s%s", how, b->sort ? ",sort" : "", b->prefer ? ",prefer" : "", word,
                strbuf_str(&list));
    if (list.failed || all.failed)
        return -ENOMEM;
    fn(ctx, "", strbuf_str(&all));
    fn(ctx, "_VERBOSE", how);
    fn(ctx, "_TYPE", word);
    fn(ctx, "_LIST", strbuf_str(&list));
    if (b->prefer)
        fn(ctx, "_PREFER", "prefer");
    if (b->sort)
        fn(ctx, "_SORT", "sort");
    return 0;
}

/* ---- domains --------------------------------------------------------------------------------- */

/* The domain of a task that is bound by its rank: they take turns. */
static int by_rank(const struct membind_node *node, uint32_t task, struct bitmap *ret)
{
    uint32_t have = 0, skip;

    for (uint32_t i = 0; i < node->n; i++)
        have += node->cpus[i] != NULL;
    if (have == 0)
        return -ENODEV;
    skip = task % have;
    for (uint32_t i = 0; i < node->n; i++) {
        if (node->cpus[i] && skip-- == 0) {
            bitmap_set(ret, i);
            break;
        }
    }
    return 0;
}

static void local_domains(const struct membind_node *node, const struct bitmap *task_cpus,
                          struct bitmap *ret)
{
    for (uint32_t i = 0; i < node->n; i++) {
        bool near = node->cpus[i] && !task_cpus;

        for (uint32_t cpu = 0;
             node->cpus[i] && !near && cpu < node->cpus[i]->nbits && cpu < task_cpus->nbits; cpu++)
            near = bitmap_test(node->cpus[i], cpu) && bitmap_test(task_cpus, cpu);
        if (near)
            bitmap_set(ret, i);
    }
}

static bool all_there(const struct membind_node *node, const struct bitmap *mask)
{
    BITMAP_FOREACH (mask, i)
        if (!node->cpus[i])
            return false;
    return true;
}

int membind_mask(const struct membind *b, const struct membind_node *node, uint32_t task,
                 const struct bitmap *task_cpus, struct bitmap *ret, struct err *err)
{
    switch (b->kind) {
    case MEMBIND_UNSET:
    case MEMBIND_NONE:
        return 0;
    case MEMBIND_RANK:
        return by_rank(node, task, ret) < 0 ? err_set(err, -ENODEV, "the node has no NUMA domains")
                                            : 0;
    case MEMBIND_LOCAL:
        local_domains(node, task_cpus, ret);
        return 0;
    case MEMBIND_MAP:
    case MEMBIND_MASK:
        break;
    }
    if (bindlist_mask(&b->list, task, 1, ret) < 0 || !all_there(node, ret))
        return err_set(err, -ERANGE, "--mem-bind names a NUMA domain that the node does not have");
    return 0;
}
