/* bench_hostlist.c - cost per node of reading, folding and sorting a list of 100,000 nodes
 *
 * One JSON object a line; `memcpy_ratio` compares with copying the same names once. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"

enum { NODES = 100000, ROUNDS = 9 };

struct work {
    struct hostlist *in_order, *shuffled;
    char *folded, *plain; /* with brackets, without */
    char *scratch;
    size_t plain_len;
};

static int run_copy(struct work *w)
{
    memcpy(w->scratch, w->plain, w->plain_len);
    __asm__ volatile("" : : "r"(w->scratch) : "memory"); /* the copy is wanted */
    return 0;
}

static int read_text(const char *text)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    int r = hostlist_parse(text, &hl, NULL);

    return r < 0 || hostlist_count(hl) != NODES ? -1 : 0;
}

static int run_parse_folded(struct work *w)
{
    return read_text(w->folded);
}

static int run_parse_plain(struct work *w)
{
    return read_text(w->plain);
}

static int run_fold(struct work *w)
{
    _cleanup_free_ char *text = NULL;

    return hostlist_fold(w->in_order, &text);
}

static int run_fold_shuffled(struct work *w)
{
    _cleanup_free_ char *text = NULL;

    return hostlist_fold(w->shuffled, &text);
}

static int run_sort(struct work *w)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (hostlist_new(&hl) < 0)
        return -1;
    for (size_t i = 0; i < NODES; i++) {
        if (hostlist_push(hl, hostlist_nth(w->shuffled, i)) < 0)
            return -1;
    }
    hostlist_sort(hl);
    return strcmp(hostlist_nth(hl, 0), hostlist_nth(w->in_order, 0));
}

static const struct {
    const char *name;
    int (*fn)(struct work *w);
} rows[] = {
    { "memcpy", run_copy },
    { "parse_folded", run_parse_folded },
    { "parse_plain", run_parse_plain },
    { "fold", run_fold },
    { "fold_shuffled", run_fold_shuffled },
    { "push_and_sort_shuffled", run_sort },
};

static int prepare(struct work *w)
{
    uint32_t seed = 1;
    size_t used = 0;

    if (hostlist_parse("node[000001-050000],node[050001-100000]", &w->in_order, NULL) < 0 ||
        hostlist_new(&w->shuffled) < 0 || hostlist_fold(w->in_order, &w->folded) < 0)
        return -1;
    w->plain = malloc(NODES * 12);
    w->scratch = malloc(NODES * 12);
    if (!w->plain || !w->scratch)
        return -1;
    for (size_t i = 0; i < NODES; i++) {
        seed = seed * 1664525 + 1013904223;
        if (hostlist_push(w->shuffled, hostlist_nth(w->in_order, seed % NODES)) < 0)
            return -1;
        used += (size_t)snprintf(w->plain + used, 12, "%s,", hostlist_nth(w->in_order, i));
    }
    w->plain_len = used + 1;
    /* so that sorting can be checked: the first name occurs */
    return hostlist_push_list(w->shuffled, "node000001", NULL) ||
           !hostlist_remove(w->shuffled, hostlist_nth(w->shuffled, 0));
}

int main(void)
{
    struct work w = { 0 };
    double copy_ns = 0;

    if (prepare(&w))
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t best = INT64_MAX;
        double ns;

        for (int round = 0; round < ROUNDS; round++) {
            int64_t start = now_mono_us();

            for (int again = 0; again < (i == 0 ? 100 : 1); again++) {
                if (rows[i].fn(&w))
                    return 1;
            }
            best = MIN(best, now_mono_us() - start);
        }
        ns = (double)best * 1000 / NODES / (i == 0 ? 100 : 1);
        if (i == 0)
            copy_ns = MAX(ns, 0.001);
        printf("{\"bench\":\"hostlist\",\"what\":\"%s\",\"nodes\":%d,\"ns_per_node\":%.2f,"
               "\"memcpy_ratio\":%.1f}\n",
               rows[i].name, NODES, ns, ns / copy_ns);
    }
    hostlist_free(w.in_order);
    hostlist_free(w.shuffled);
    free(w.folded);
    free(w.plain);
    free(w.scratch);
    return 0;
}
