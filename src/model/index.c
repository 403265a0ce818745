/* index.c - jobs and kept records by their ids, jobs by other names, and what the jobs of an array,
 * and those of one user and name, add up to
 *
 * Sums and other names are derived from the records alone and follow every change of one
 * (apply.c), so that a question about a whole array, or about a user's jobs of one name, costs the
 * same however many jobs there are.  A chain is put in order when its first job is asked for: a
 * snapshot brings jobs in any order, and a place for each of a million would be sought among all
 * before it.
 * A hash finds a chain; user and name are compared (docs/design/0002-identity.md). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <xxhash.h>

#include "base/cleanup.h"
#include "base/sluid.h"
#include "model/array.h"
#include "model/cluster_private.h"
#include "model/job.h"
#include "model/kept.h"

struct job_chain { /* jobs of one user and name that have not ended */
    uint64_t key;
    struct job_chain *next_of_key; /* of another user or name, with the same hash */
    uint32_t uid;
    struct job *first, *last; /* pending, by id up to `fresh` */
    struct job *fresh;        /* from here on in the order of coming; NULL = all are by id */
    uint32_t active;          /* started */
    uint32_t n;
    char name[];
};

/* ---- by id ----------------------------------------------------------------------------------- */

struct job *cluster_job(const struct cluster *c, uint32_t job_id)
{
    return job_id ? idmap_get(&c->jobs, job_id) : NULL;
}

struct kept *cluster_kept(const struct cluster *c, enum kept_kind kind, uint32_t id)
{
    return idmap_get(&c->kept[kind], kept_key(id));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void count_job(uint32_t *n, bool hit, bool add)
{
    if (hit)
        *n += add ? 1u : -1u;
}

static uint32_t code_of(int status)
{
    return WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 1;
}

void model_tally(struct cluster *c, const Pst__JobRecord *r, bool add)
{
    struct idset *set = r->has_array_job_id ? idmap_get(&c->arrays, r->array_job_id) : NULL;
    bool ended = job_is_ended(r), back = ended && job_has_flag(r, JOB_FLAG(REQUEUED));
    bool well = job_state(r) == JOB_STATE(COMPLETED);

    if (!set)
        return;
    count_job(&set->tally.running, !ended && !job_is_pending(r), add);
    count_job(&set->tally.living, !ended, add);
    count_job(&set->tally.open, !ended || back || job_has_flag(r, JOB_FLAG(COMPLETING)), add);
    count_job(&set->tally.failed, ended && !back && !well, add);
    count_job(&set->tally.started, !job_is_pending(r), add);
    if (add && !job_is_pending(r) && r->has_start_us)
        set->tally.last_start_us = MAX(set->tally.last_start_us, r->start_us);
    if (add && ended && !back && r->has_exit_status)
        set->tally.worst = MAX(set->tally.worst, code_of((int)r->exit_status));
}

struct array_tally cluster_array_tally(const struct cluster *c, uint32_t array_job_id)
{
    const struct idset *set = array_job_id ? idmap_get(&c->arrays, array_job_id) : NULL;

    return set ? set->tally : (struct array_tally){ 0 };
}

/* The records that hold tasks are few beside the tasks that are jobs. */
static int add_part(struct idset *set, uint32_t job_id)
{
    if (set->n_parts == set->cap_parts) {
        size_t cap = set->cap_parts ? set->cap_parts * 2 : 2;
        uint32_t *bigger = realloc(set->parts, cap * sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        set->parts = bigger;
        set->cap_parts = cap;
    }
    set->parts[set->n_parts++] = job_id;
    return 0;
}

static void drop_part(struct cluster *c, struct job *j)
{
    struct idset *set = j->part_of ? idmap_get(&c->arrays, j->part_of) : NULL;

    for (size_t i = 0; set && i < set->n_parts; i++)
        if (set->parts[i] == j->rec->job_id) {
            set->parts[i] = set->parts[--set->n_parts];
            break;
        }
    j->part_of = 0;
}

static int note_part(struct cluster *c, struct job *j)
{
    const Pst__JobRecord *r = j->rec;
    uint32_t array = job_is_array(r) && r->has_array_job_id ? r->array_job_id : 0;
    struct idset *set;
    int r2;

    if (array == j->part_of)
        return 0;
    drop_part(c, j);
    set = array ? idmap_get(&c->arrays, array) : NULL;
    if (!set)
        return 0;
    r2 = add_part(set, r->job_id);
    j->part_of = r2 < 0 ? 0 : array;
    return r2;
}

size_t cluster_array_parts(const struct cluster *c, uint32_t array_job_id, const uint32_t **ret_ids)
{
    const struct idset *set = array_job_id ? idmap_get(&c->arrays, array_job_id) : NULL;

    *ret_ids = set ? set->parts : NULL;
    return set ? set->n_parts : 0;
}

/* ---- jobs by other names --------------------------------------------------------------------- */

static uint64_t task_key(uint32_t array_job_id, uint32_t task)
{
    return (uint64_t)array_job_id << 32 | task;
}

/* *at follows `key`, under which the map has the job then. */
static int move_key(struct idmap *m, uint64_t *at, uint64_t key, struct job *j)
{
    int r;

    if (*at == key)
        return 0;
    if (*at && idmap_get(m, *at) == j)
        (void)idmap_remove(m, *at);
    *at = 0;
    r = key ? idmap_put(m, key, j) : 0;
    if (r == 0)
        *at = key;
    return r;
}

int model_find_put(struct cluster *c, struct job *j)
{
    const Pst__JobRecord *r = j->rec;
    uint64_t task = r->has_array_job_id && r->array_job_id && r->has_array_task_id
                        ? task_key(r->array_job_id, r->array_task_id)
                        : 0;
    int e = move_key(&c->sluids, &j->sluid_key, r->sluid ? sluid_parse(r->sluid) : 0, j);

    if (e == 0)
        e = move_key(&c->tasks, &j->task_key, task, j);
    return e == 0 ? note_part(c, j) : e;
}

void model_find_remove(struct cluster *c, struct job *j)
{
    (void)move_key(&c->sluids, &j->sluid_key, 0, j); /* cannot fail: nothing is added */
    (void)move_key(&c->tasks, &j->task_key, 0, j);
    drop_part(c, j);
}

struct job *cluster_job_by_sluid(const struct cluster *c, uint64_t sluid)
{
    return idmap_get(&c->sluids, sluid);
}

struct job *cluster_array_task(const struct cluster *c, uint32_t array_job_id, uint32_t task)
{
    struct job *j = array_job_id ? idmap_get(&c->tasks, task_key(array_job_id, task)) : NULL;
    const uint32_t *ids;
    size_t n = j ? 0 : cluster_array_parts(c, array_job_id, &ids);

    for (size_t i = 0; i < n; i++) {
        struct job *part = cluster_job(c, ids[i]);

        if (part && array_contains(part->rec->array_tasks, task))
            return part;
    }
    return j;
}

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t name_key(uint32_t uid, const char *name)
{
    uint64_t key = XXH3_64bits_withSeed(name, strlen(name), uid);

    return key == 0 || key == UINT64_MAX ? 1 : key;
}

static struct job_chain *find_chain(const struct cluster *c, uint64_t key, uint32_t uid,
                                    const char *name)
{
    struct job_chain *k = idmap_get(&c->named, key);

    while (k && (k->uid != uid || strcmp(k->name, name) != 0))
        k = k->next_of_key;
    return k;
}

static struct job_chain *add_chain(struct cluster *c, uint64_t key, uint32_t uid, const char *name)
{
    size_t size = strlen(name) + 1;
    struct job_chain *k = calloc(1, sizeof(*k) + size);

    if (!k)
        return NULL;
    k->key = key;
    k->uid = uid;
    memcpy(k->name, name, size);
    k->next_of_key = idmap_get(&c->named, key);
    if (idmap_put(&c->named, key, k) < 0) {
        free(k);
        return NULL;
    }
    return k;
}

static void drop_chain(struct cluster *c, struct job_chain *k)
{
    struct job_chain *first = idmap_get(&c->named, k->key);

    if (first != k) {
        while (first->next_of_key != k)
            first = first->next_of_key;
        first->next_of_key = k->next_of_key;
    } else if (k->next_of_key) {
        (void)idmap_put(&c->named, k->key, k->next_of_key); /* replaces: takes no memory */
    } else {
        (void)idmap_remove(&c->named, k->key);
    }
    free(k);
}

void model_names_free(struct cluster *c)
{
    struct job_chain *k;

    for (size_t pos = 0; (k = idmap_next(&c->named, &pos));) {
        while (k) {
            struct job_chain *next = k->next_of_key;

            free(k);
            k = next;
        }
    }
    idmap_done(&c->named);
}

/* A new job has the largest id. Any other waits at the end for order_chain(). */
static void append_pending(struct job_chain *k, struct job *j)
{
    if (!k->fresh && k->last && k->last->rec->job_id > j->rec->job_id)
        k->fresh = j;
    j->prev_named = k->last;
    j->next_named = NULL;
    *(k->last ? &k->last->next_named : &k->first) = j;
    k->last = j;
}

/* Two lists by id become one; only next_named counts. */
static struct job *merge_lists(struct job *a, struct job *b)
{
    struct job *first = NULL, **at = &first;

    while (a && b) {
        struct job **least = a->rec->job_id < b->rec->job_id ? &a : &b;

        *at = *least;
        at = &(*least)->next_named;
        *least = *at;
    }
    *at = a ? a : b;
    return first;
}

/* sorted[i] is a list of 2^i jobs, or empty. */
static struct job *sort_list(struct job *list)
{
    struct job *sorted[32] = { NULL }, *all = NULL;

    while (list) {
        struct job *run = list;
        size_t i = 0;

        list = list->next_named;
        run->next_named = NULL;
        for (; sorted[i]; i++) {
            run = merge_lists(sorted[i], run);
            sorted[i] = NULL;
        }
        sorted[i] = run;
    }
    for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
        all = merge_lists(sorted[i], all);
    return all;
}

/* O(jobs of the chain + m log m), where m came out of order since the last time. */
static void order_chain(struct job_chain *k)
{
    struct job *before = k->fresh ? k->fresh->prev_named : NULL, *fresh = k->fresh;

    if (!fresh)
        return;
    if (before)
        before->next_named = NULL;
    k->first = merge_lists(before ? k->first : NULL, sort_list(fresh));
    k->last = k->fresh = NULL;
    for (struct job *j = k->first; j; j = j->next_named) {
        j->prev_named = k->last;
        k->last = j;
    }
}

static int link_named(struct cluster *c, struct job *j, enum named_as as)
{
    uint64_t key = name_key(j->rec->uid, j->rec->name);
    struct job_chain *k = find_chain(c, key, j->rec->uid, j->rec->name);

    if (!k)
        k = add_chain(c, key, j->rec->uid, j->rec->name);
    if (!k)
        return -ENOMEM;
    k->n++;
    j->chain = k;
    j->named = (uint8_t)as;
    if (as == NAMED_ACTIVE) {
        k->active++;
        return 0;
    }
    append_pending(k, j);
    return 0;
}

void model_unname(struct cluster *c, struct job *j)
{
    struct job_chain *k = j->chain;

    if (!k)
        return;
    if (j->named == NAMED_ACTIVE) {
        k->active--;
    } else {
        if (k->fresh == j)
            k->fresh = j->next_named;
        *(j->prev_named ? &j->prev_named->next_named : &k->first) = j->next_named;
        *(j->next_named ? &j->next_named->prev_named : &k->last) = j->prev_named;
    }
    j->chain = NULL;
    j->named = NAMED_NOT;
    if (--k->n == 0)
        drop_chain(c, k);
}

static enum named_as named_now(const Pst__JobRecord *r)
{
    if (!r->name || job_is_ended(r))
        return NAMED_NOT;
    return job_is_pending(r) ? NAMED_PENDING : NAMED_ACTIVE;
}

void model_unname_moved(struct cluster *c, struct job *j)
{
    if (j->named == NAMED_PENDING && named_now(j->rec) != NAMED_PENDING)
        model_unname(c, j);
}

int model_name(struct cluster *c, struct job *j)
{
    enum named_as as = named_now(j->rec);

    if (as == j->named)
        return 0;
    model_unname(c, j);
    return as == NAMED_NOT ? 0 : link_named(c, j, as);
}

uint32_t cluster_named_active(const struct cluster *c, uint32_t uid, const char *name)
{
    const struct job_chain *k = find_chain(c, name_key(uid, name), uid, name);

    return k ? k->active : 0;
}

const struct job *cluster_named_first(const struct cluster *c, uint32_t uid, const char *name,
                                      uint32_t *ret_active)
{
    struct job_chain *k = find_chain(c, name_key(uid, name), uid, name);

    *ret_active = k ? k->active : 0;
    if (k)
        order_chain(k);
    return k ? k->first : NULL;
}
