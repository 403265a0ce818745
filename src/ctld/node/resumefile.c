/* resumefile.c - see resumefile.h */
#include "ctld/node/resumefile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "ctld/policy/bootwait.h"
#include "model/job.h"

static void put_text(FILE *f, const char *key, const char *text)
{
    (void)fprintf(f, ",\"%s\":", key);
    if (text)
        pb_json_string(f, text);
    else
        (void)fputs("null", f);
}

/* The nodes of the job that are in the set, folded; NULL: none. */
static char *nodes_within(const struct cluster *c, const Pst__Alloc *a, const struct bitmap *set)
{
    _cleanup_free_ const char **names = calloc(a->n_node_ids + 1, sizeof(*names));
    char *text = NULL;
    size_t n = 0;

    for (size_t i = 0; names && i < a->n_node_ids; i++)
        if (a->node_ids[i] < set->nbits && bitmap_test(set, a->node_ids[i]) &&
            cluster_node(c, a->node_ids[i]))
            names[n++] = cluster_node(c, a->node_ids[i])->rec->name;
    if (!n || hostlist_fold_names(names, n, &text) < 0)
        return NULL;
    return text;
}

static const char *exclusive_word(const Pst__JobRecord *r)
{
    static const char *const words[] = { "NO", "NODE", "USER", "MCS", "TOPO" };

    return words[r->has_exclusive && r->exclusive < ARRAY_SIZE(words) ? r->exclusive : 0];
}

static bool put_job(FILE *f, const Pst__JobRecord *r, const char *resume, bool first)
{
    (void)fprintf(f, "%s{\"job_id\":%u", first ? "" : ",", r->job_id);
    put_text(f, "extra", r->extra);
    put_text(f, "features", r->features);
    put_text(f, "nodes_alloc", r->alloc->nodes);
    put_text(f, "nodes_resume", resume);
    put_text(f, "oversubscribe", r->has_oversubscribe && r->oversubscribe ? "YES" : "OK");
    put_text(f, "exclusive", exclusive_word(r));
    put_text(f, "partition", r->partition);
    put_text(f, "reservation", r->reservation);
    (void)fputc('}', f);
    return true;
}

int resumefile_text(const struct cluster *c, const char *all, const struct bitmap *set, char **ret)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    bool some = false, failed;

    if (!f)
        return -ENOMEM;
    (void)fputs("{\"all_nodes_resume\":", f);
    pb_json_string(f, all);
    (void)fputs(",\"jobs\":[", f);
    for (const struct job *j = c->active; j; j = j->next_active) {
        _cleanup_free_ char *resume = job_waits_for_boot(j->rec) && j->rec->alloc
                                          ? nodes_within(c, j->rec->alloc, set)
                                          : NULL;

        if (resume)
            some = put_job(f, j->rec, resume, !some);
    }
    (void)fputs("]}\n", f);
    failed = ferror(f);
    if (fclose(f) != 0 || failed) {
        free(text);
        return -ENOMEM;
    }
    *ret = text;
    return 0;
}
