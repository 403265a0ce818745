/* watchfilter.c - batches of encoded changes, and what of them a watcher wants.  Pure; see
 * watch_impl.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/pb/pbvarint.h"
#include "ctld/watch/watch_impl.h"
#include "fields.h"

struct watch_filter {
    uint32_t entities, states; /* bits */
    struct idmap jobs, uids;
    struct wordset names, partitions, nodes, part_names;
    bool by_job, by_uid, by_name, by_partition, by_node, by_part_name;
};

bool watch_behind(struct watch_pos a, struct watch_pos b)
{
    return a.lsn != b.lsn ? a.lsn < b.lsn : a.index < b.index;
}

/* ---- filters --------------------------------------------------------------------------------- */

static int add_numbers(struct idmap *m, bool *by, const uint32_t *list, size_t n)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n; i++)
        r = idmap_put(m, (uint64_t)list[i] + 1, m);
    *by = n > 0;
    return r;
}

static int add_words(struct wordset *m, bool *by, char *const *list, size_t n)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n; i++)
        r = wordset_add(m, list[i]);
    *by = n > 0;
    return r;
}

static int add_nodes(struct watch_filter *f, const char *list, struct err *err)
{
    struct hostlist *hl = NULL;
    int r = hostlist_parse_most(list, HOSTLIST_MAX_NODES, &hl, err);

    for (size_t i = 0; r >= 0 && i < hostlist_count(hl); i++)
        r = wordset_add(&f->nodes, hostlist_nth(hl, i));
    f->by_node = true;
    (void)hostlist_free(hl); /* always NULL */
    return r;
}

struct watch_filter *watch_filter_free(struct watch_filter *f)
{
    if (!f)
        return NULL;
    idmap_done(&f->jobs);
    idmap_done(&f->uids);
    wordset_done(&f->names);
    wordset_done(&f->partitions);
    wordset_done(&f->nodes);
    wordset_done(&f->part_names);
    free(f);
    return NULL;
}

/* A state that we do not know is refused: without a bit all states would be told. */
static int fill_states(struct watch_filter *f, const Pst__JobFilter *j, struct err *err)
{
    for (size_t i = 0; i < j->n_states; i++) {
        if (j->states[i] >= 32)
            return err_set(err, -EINVAL, "watch: there is no state of jobs with number %u",
                           j->states[i]);
        f->states |= 1u << j->states[i];
    }
    return 0;
}

static int fill_jobs(struct watch_filter *f, const Pst__JobFilter *j, struct err *err)
{
    int r = add_numbers(&f->jobs, &f->by_job, j->job_ids, j->n_job_ids);

    if (r >= 0)
        r = add_numbers(&f->uids, &f->by_uid, j->uids, j->n_uids);
    if (r >= 0)
        r = add_words(&f->names, &f->by_name, j->names, j->n_names);
    if (r >= 0)
        r = add_words(&f->partitions, &f->by_partition, j->partitions, j->n_partitions);
    return r >= 0 ? fill_states(f, j, err) : r;
}

int watch_filter_new(const Pst__WatchRequest *req, struct watch_filter **ret, struct err *err)
{
    struct watch_filter *f = calloc(1, sizeof(*f));
    int r = f ? 0 : -ENOMEM;

    for (size_t i = 0; f && i < req->n_entities; i++) {
        if (req->entities[i] < PST__WATCH_ENTITY__WATCH_JOB ||
            req->entities[i] > PST__WATCH_ENTITY__WATCH_PARTITION)
            r = err_set(err, -EINVAL, "watch: there is no kind of record with number %u",
                        req->entities[i]);
        else
            f->entities |= 1u << req->entities[i];
    }
    if (f && !req->n_entities)
        f->entities = 1u << PST__WATCH_ENTITY__WATCH_JOB;
    if (r >= 0 && req->jobs)
        r = fill_jobs(f, req->jobs, err);
    if (r >= 0 && req->nodes)
        r = add_nodes(f, req->nodes, err);
    if (r >= 0)
        r = add_words(&f->part_names, &f->by_part_name, req->partitions, req->n_partitions);
    if (r < 0) {
        watch_filter_free(f);
        return r;
    }
    *ret = f;
    return 0;
}

bool watch_filter_all(const struct watch_filter *f)
{
    return f->entities ==
               (1u << PST__WATCH_ENTITY__WATCH_JOB | 1u << PST__WATCH_ENTITY__WATCH_NODE |
                1u << PST__WATCH_ENTITY__WATCH_PARTITION) &&
           !f->states && !f->by_job && !f->by_uid && !f->by_name && !f->by_partition &&
           !f->by_node && !f->by_part_name;
}

/* Is any word of a comma list wanted? */
static bool match_list(const struct wordset *m, const char *list)
{
    while (*list) {
        size_t len = strcspn(list, ",");

        if (wordset_has(m, list, len))
            return true;
        list += len + (list[len] == ',');
    }
    return false;
}

bool watch_filter_match(const struct watch_filter *f, const struct watch_item *it, const char *text)
{
    const char *name = text + it->name;

    if (!(f->entities >> it->entity & 1))
        return false;
    if (it->entity == PST__WATCH_ENTITY__WATCH_NODE)
        return !f->by_node || wordset_has(&f->nodes, name, strlen(name));
    if (it->entity == PST__WATCH_ENTITY__WATCH_PARTITION)
        return !f->by_part_name || wordset_has(&f->part_names, name, strlen(name));
    return (!f->states || (f->states & it->states)) &&
           (!f->by_job || idmap_get(&f->jobs, (uint64_t)it->id + 1) ||
            (it->array_id && idmap_get(&f->jobs, (uint64_t)it->array_id + 1))) &&
           (!f->by_uid || idmap_get(&f->uids, (uint64_t)it->uid + 1)) &&
           (!f->by_name || wordset_has(&f->names, name, strlen(name))) &&
           (!f->by_partition || match_list(&f->partitions, text + it->partition));
}

/* ---- batches --------------------------------------------------------------------------------- */

struct watch_batch *watch_batch_new(uint64_t first)
{
    struct watch_batch *b = calloc(1, sizeof(*b));

    if (!b)
        return NULL;
    atomic_init(&b->refs, 1);
    b->first = first;
    return b;
}

void watch_batch_unref(struct watch_batch *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    shared_unref(b->body);
    free(b->items);
    free(b->text);
    free(b->bytes);
    free(b);
}

static bool grow_array(void **p, size_t *cap, size_t need, size_t size)
{
    size_t n = *cap ? *cap : 64;
    void *bigger;

    if (need <= *cap)
        return true;
    while (n < need)
        n *= 2;
    bigger = realloc(*p, n * size);
    if (!bigger)
        return false;
    *p = bigger;
    *cap = n;
    return true;
}

static int add_text(struct watch_batch *b, const char *text, uint32_t *ret_at)
{
    size_t len = text ? strlen(text) + 1 : 1;

    if (!grow_array((void **)&b->text, &b->text_cap, b->text_len + len, 1))
        return -ENOMEM;
    memcpy(b->text + b->text_len, text ? text : "", len);
    *ret_at = (uint32_t)b->text_len;
    b->text_len += len;
    return 0;
}

int watch_batch_add(struct watch_batch *b, const Pst__WatchChange *c, uint32_t states)
{
    size_t size = pst__watch_change__get_packed_size(c);
    struct watch_item it = { .pos = { c->lsn, c->index },
                             .entity = c->entity,
                             .id = c->id,
                             .array_id = c->array_job_id,
                             .uid = c->uid,
                             .states = states,
                             .at = b->len };

    if (!grow_array((void **)&b->items, &b->cap, b->n + 1, sizeof(*b->items)) ||
        !grow_array((void **)&b->bytes, &b->bytes_cap, b->len + size + 32, 1) ||
        add_text(b, c->name, &it.name) < 0 || add_text(b, c->partition, &it.partition) < 0)
        return -ENOMEM;
    b->bytes[b->len++] = WATCH_BATCH_F_CHANGES << 3 | 2;
    b->len += pb_put_varint(b->bytes + b->len, size);
    b->len += pst__watch_change__pack(c, b->bytes + b->len);
    it.len = b->len - it.at;
    b->items[b->n++] = it;
    return 0;
}

/* cursor_lsn behind the changes. */
static size_t put_cursor(uint8_t *to, uint64_t lsn)
{
    to[0] = WATCH_BATCH_F_CURSOR_LSN << 3;
    return 1 + pb_put_varint(to + 1, lsn);
}

/* What nobody will add to any more takes no more than it has: most batches are small. */
static void *shrink_array(void *p, size_t *cap, size_t need, size_t size)
{
    void *smaller = need < *cap ? realloc(p, MAX(need, (size_t)1) * size) : NULL;

    if (smaller)
        *cap = MAX(need, (size_t)1);
    return smaller ? smaller : p;
}

size_t watch_batch_size(const struct watch_batch *b)
{
    return sizeof(*b) + b->cap * sizeof(*b->items) + b->text_cap + b->body->len;
}

int watch_batch_seal(struct watch_batch *b, uint64_t last)
{
    b->last = last;
    b->body = shared_new(b->len + 16);
    if (!b->body)
        return -ENOMEM;
    if (b->len)
        memcpy(b->body->data, b->bytes, b->len);
    b->body->len = b->len + put_cursor(b->body->data + b->len, last);
    free(b->bytes);
    b->bytes = NULL;
    b->items = shrink_array(b->items, &b->cap, b->n, sizeof(*b->items));
    b->text = shrink_array(b->text, &b->text_cap, b->text_len, 1);
    return 0;
}

int watch_batch_cut(struct watch_batch *b, const struct watch_filter *f, struct watch_pos pos,
                    struct shared_bytes **ret)
{
    bool whole = watch_filter_all(f) && pos.lsn < b->first;
    struct shared_bytes *out;
    size_t len = 0;

    *ret = NULL;
    if (whole || !b->n) { /* an empty one says where we are, to everybody */
        *ret = shared_ref(b->body);
        return 0;
    }
    out = shared_new(b->body->len);
    if (!out)
        return -ENOMEM;
    for (size_t i = 0; i < b->n; i++) {
        const struct watch_item *it = &b->items[i];

        if (!watch_behind(pos, it->pos) || !watch_filter_match(f, it, b->text))
            continue;
        memcpy(out->data + len, b->body->data + it->at, it->len);
        len += it->len;
    }
    if (!len) {
        shared_unref(out);
        return 0;
    }
    out->len = len + put_cursor(out->data + len, b->last);
    *ret = out;
    return 0;
}
