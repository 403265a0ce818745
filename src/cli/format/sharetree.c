/* sharetree.c - the shares of associations as a tree; see sharetree.h */
#include "cli/format/sharetree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pb/pbutil.h"
#include "cli/query/out_query.h"
#include "wire/ops.h"

#define DEPTH_MAX 256u

const Pst__ShareTres *share_tres(const struct share *w, uint32_t id)
{
    for (size_t i = 0; i < w->rec->n_tres; i++)
        if (w->rec->tres[i]->tres_id == id)
            return w->rec->tres[i];
    return NULL;
}

static int by_id(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    return (x->rec->assoc_id > y->rec->assoc_id) - (x->rec->assoc_id < y->rec->assoc_id);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Users before accounts, then by name. */
static bool goes_before(const struct share *a, const struct share *b)
{
    int r;

    if (!a->rec->user != !b->rec->user)
        return a->rec->user != NULL;
    r = strcmp(or_empty(a->rec->user ? a->rec->user : a->rec->account),
               or_empty(b->rec->user ? b->rec->user : b->rec->account));
    return r ? r < 0 : strcmp(or_empty(a->rec->partition), or_empty(b->rec->partition)) < 0;
}

static int by_name(const void *a, const void *b)
{
    const struct share *x = *(struct share *const *)a, *y = *(struct share *const *)b;

    return goes_before(x, y) ? -1 : goes_before(y, x);
}

/* Errors: -ENOMEM. */
static int make_tree(struct sharetree *t)
{
    struct share **sorted = calloc(t->n + 1, sizeof(struct share *));

    if (!sorted)
        return -ENOMEM;
    if (t->n)
        qsort(t->list, t->n, sizeof(*t->list), by_id);
    for (size_t i = 0; i < t->n; i++) {
        sorted[i] = &t->list[i];
        if (t->list[i].root)
            t->root = &t->list[i];
    }
    qsort(sorted, t->n, sizeof(struct share *), by_name);
    for (size_t i = t->n; i-- > 0;) { /* from the back: each goes first */
        Pst__ShareRecord key = { .assoc_id = sorted[i]->rec->parent_id };
        const struct share want = { .rec = &key };

        if (sorted[i]->root)
            continue;
        sorted[i]->parent = sorted[i]->rec->has_parent_id
                                ? bsearch(&want, t->list, t->n, sizeof(*t->list), by_id)
                                : t->root;
        if (!sorted[i]->parent)
            continue;
        sorted[i]->sibling = sorted[i]->parent->child;
        sorted[i]->parent->child = sorted[i];
    }
    free(sorted);
    return 0;
}

static int on_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct sharetree *t = ctx;
    ProtobufCMessage *copy = NULL;
    struct share *more;
    int r = pb_dup(record, &copy);

    (void)info;
    if (r < 0)
        return r;
    if (!t->names) {
        t->names = (Pst__ShareRecord *)copy;
        return 0;
    }
    if (t->n == t->cap) {
        more = reallocarray(t->list, t->cap ? t->cap * 2 : 64, sizeof(*more));
        if (!more) {
            protobuf_c_message_free_unpacked(copy, NULL);
            return -ENOMEM;
        }
        t->list = more;
        t->cap = t->cap ? t->cap * 2 : 64;
    }
    t->list[t->n] = (struct share){ .rec = (Pst__ShareRecord *)copy };
    t->list[t->n].root = !t->list[t->n].rec->has_shares;
    t->n++;
    return 0;
}

int sharetree_load(struct client *c, bool tres, struct sharetree *ret)
{
    Pst__SharesRequest request = PST__SHARES_REQUEST__INIT;
    int r;

    request.has_tres = true;
    request.tres = tres;
    r = query_run(c, OP_QUERY_SHARES, &request.base, &pst__share_record__descriptor, on_record, ret,
                  NULL);
    return r < 0 ? r : make_tree(ret);
}

void sharetree_done(struct sharetree *t)
{
    for (size_t i = 0; i < t->n; i++)
        pst__share_record__free_unpacked(t->list[i].rec, NULL);
    free(t->list);
    if (t->names)
        pst__share_record__free_unpacked(t->names, NULL);
    *t = (struct sharetree){ 0 };
}

struct walk {
    share_shown_fn *shown;
    share_visit_fn *visit;
    void *ctx;
};

static void walk_branch(const struct walk *walk, const struct share *w, unsigned depth,
                        unsigned level)
{
    bool shown = walk->shown(walk->ctx, w);

    if (shown)
        walk->visit(walk->ctx, w, depth);
    for (const struct share *k = w->child; k && level < DEPTH_MAX; k = k->sibling)
        walk_branch(walk, k, depth + shown, level + 1);
}

void sharetree_walk(const struct sharetree *t, share_shown_fn *shown, share_visit_fn *visit,
                    void *ctx)
{
    const struct walk walk = { shown, visit, ctx };

    if (t->root)
        walk_branch(&walk, t->root, 0, 0);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_tres(const struct sharetree *s, const struct share *w, struct json *js)
{
    json_map(js, "tres");
    for (int list = 0; list < 3; list++) {
        static const char *const names[] = { "run_seconds", "group_minutes", "usage" };

        json_list(js, names[list]);
        for (size_t i = 0; i < s->names->n_tres; i++) {
            const Pst__ShareTres *t = share_tres(w, s->names->tres[i]->tres_id);
            bool limited = t && t->has_grp_mins;

            json_map(js, NULL);
            json_str(js, "name", s->names->tres[i]->name);
            if (list == 0)
                json_set(js, "value", t ? t->run_s : 0);
            else if (list == 1)
                json_number(js, "value", limited, !limited, limited ? (uint64_t)t->grp_mins : 0);
            else
                json_double(js, "value", t ? t->used_s : 0);
            json_map_end(js);
        }
        json_list_end(js);
    }
    json_map_end(js);
}

void share_json(struct json *js, const struct sharetree *t, const struct share *w,
                const char *cluster)
{
    const Pst__ShareRecord *r = w->rec;

    json_map(js, NULL);
    json_int(js, "id", r->assoc_id);
    json_str(js, "cluster", cluster);
    json_str(js, "name", r->user ? r->user : r->account);
    json_str(js, "parent", r->user ? r->account : w->parent ? w->parent->rec->account : "");
    json_str(js, "partition", r->partition);
    json_fraction(js, "shares_normalized", true, r->norm_shares);
    json_number(js, "shares", r->has_shares && !r->shares_parent, r->shares_parent,
                r->shares_parent ? 0 : r->shares);
    json_tres(t, w, js);
    json_fraction(js, "effective_usage", true, r->effective_usage);
    json_fraction(js, "usage_normalized", r->has_norm_usage, r->norm_usage);
    json_int(js, "usage", (int64_t)r->raw_usage);
    json_map(js, "fairshare");
    json_fraction(js, "factor", true, r->factor);
    json_fraction(js, "level", r->has_level, r->level);
    json_map_end(js);
    json_one(js, "type", r->user ? "USER" : "ASSOCIATION");
    json_map_end(js);
}
