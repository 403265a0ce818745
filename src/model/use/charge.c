/* charge.c - how many jobs wait or run under each association and QOS
 *
 * Derived from the job records alone: assoc_id, qos_id, part_qos_id, uid and account say what a
 * job counts against, an array counts its tasks.  Counts are kept where a job is charged; what
 * that comes to for the accounts above is summed up along the tree, anew when the tree has
 * changed. */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/cleanup.h"
#include "model/array.h"
#include "model/cluster_private.h"
#include "model/job.h"

struct charged {          /* jobs of one account in a QOS */
    struct charged *next; /* with the same hash */
    uint32_t qos_id, n;
    char account[];
};

/* A QOS and a user, exactly; the last two of the last QOS, which no user has, share a key that is
 * one. */
static uint64_t user_key(uint32_t qos_id, uint32_t uid)
{
    uint64_t both = (uint64_t)qos_id << 32 | uid;

    return MIN(both, UINT64_MAX - 2) + 1;
}

static uint64_t account_key(uint32_t qos_id, const char *account)
{
    uint64_t key = XXH3_64bits(account, strlen(account)) + qos_id * UINT64_C(0x9e3779b97f4a7c15);

    return key == 0 || key == UINT64_MAX ? 1 : key;
}

/* Where the pointer to it stands, in the chain that `first` begins. */
static struct charged **find_account(struct charged **first, uint32_t qos_id, const char *account)
{
    while (*first && ((*first)->qos_id != qos_id || strcmp((*first)->account, account) != 0))
        first = &(*first)->next;
    return first;
}

static uint32_t get_count(const struct idmap *m, uint64_t key)
{
    return (uint32_t)(uintptr_t)idmap_get(m, key); /* the count stands in place of a pointer */
}

static void change_count(struct idmap *m, uint64_t key, uint32_t n, bool add)
{
    uint32_t now = get_count(m, key), to = add ? now + n : now - MIN(n, now);

    if (!to)
        (void)idmap_remove(m, key);
    else if (idmap_put(m, key, (void *)(uintptr_t)to) < 0)
        abort(); /* within an apply: a count must not be wrong */
}

static struct charged *charged_new(uint32_t qos_id, const char *account)
{
    size_t size = strlen(account) + 1;
    struct charged *k = calloc(1, sizeof(*k) + size);

    if (!k)
        abort(); /* within an apply: a count must not be wrong */
    k->qos_id = qos_id;
    memcpy(k->account, account, size);
    return k;
}

/* The map holds the first of a hash; a hash finds, QOS and name are compared
 * (docs/design/0002-identity.md). */
static void change_account(struct idmap *m, uint32_t qos_id, const char *account, uint32_t n,
                           bool add)
{
    uint64_t key = account_key(qos_id, account);
    struct charged *first = idmap_get(m, key), *was = first,
                   **at = find_account(&first, qos_id, account), *k = *at;

    if (!k && !add)
        return;
    if (!k)
        k = *at = charged_new(qos_id, account);
    k->n = add ? k->n + n : k->n - MIN(n, k->n);
    if (!k->n) {
        *at = k->next;
        free(k);
    }
    if (!first)
        (void)idmap_remove(m, key);
    else if (first != was && idmap_put(m, key, first) < 0)
        abort(); /* likewise */
}

static void change_qos(struct cluster *c, const Pst__JobRecord *r, uint32_t qos_id, uint32_t n,
                       bool add)
{
    change_count(&c->charged_qos, (uint64_t)qos_id + 1, n, add);
    change_count(&c->charged_user, user_key(qos_id, r->uid), n, add);
    change_account(&c->charged_account, qos_id, r->account ? r->account : "", n, add);
}

static void change_above(struct cluster *c, uint32_t assoc_id, uint32_t n, bool add)
{
    for (const struct assoc *a = am_assoc(c->am, assoc_id); a; a = a->parent)
        change_count(&c->charged_below, a->id, n, add);
}

void model_charge(struct cluster *c, struct job *j, bool add)
{
    const Pst__JobRecord *r = j->rec;
    uint32_t part_qos = r->has_part_qos_id ? r->part_qos_id : 0;

    if (add)
        j->charged = job_is_ended(r) || !(r->has_assoc_id || r->has_qos_id || part_qos) ? 0
                     : job_is_array(r) && job_is_pending(r) ? array_count(r->array_tasks)
                                                            : 1;
    if (!j->charged)
        return;
    if (r->has_assoc_id) {
        change_count(&c->charged_assoc, r->assoc_id, j->charged, add);
        if (c->charged_gen == am_generation(c->am))
            change_above(c, r->assoc_id, j->charged, add);
    }
    if (r->has_qos_id)
        change_qos(c, r, r->qos_id, j->charged, add);
    if (part_qos && !(r->has_qos_id && r->qos_id == part_qos))
        change_qos(c, r, part_qos, j->charged, add);
}

void model_charge_free(struct cluster *c)
{
    struct charged *k;

    idmap_done(&c->charged_assoc);
    idmap_done(&c->charged_below);
    idmap_done(&c->charged_qos);
    idmap_done(&c->charged_user);
    for (size_t pos = 0; (k = idmap_next(&c->charged_account, &pos));) {
        while (k) {
            struct charged *next = k->next;

            free(k);
            k = next;
        }
    }
    idmap_done(&c->charged_account);
}

static void sum_up(struct cluster *c)
{
    if (c->charged_gen == am_generation(c->am))
        return;
    c->charged_gen = am_generation(c->am);
    idmap_done(&c->charged_below);
    for (size_t i = 0; i < c->charged_assoc.cap; i++) {
        uint64_t key = c->charged_assoc.keys[i];
        uint32_t n = key && key < UINT64_MAX ? get_count(&c->charged_assoc, key) : 0;

        if (n)
            change_above(c, (uint32_t)key, n, true);
    }
}

uint32_t cluster_charged_assoc(const struct cluster *c, uint32_t assoc_id)
{
    return get_count(&c->charged_assoc, assoc_id);
}

uint32_t cluster_charged_below(struct cluster *c, uint32_t assoc_id)
{
    sum_up(c);
    return get_count(&c->charged_below, assoc_id);
}

uint32_t cluster_charged_qos(const struct cluster *c, uint32_t qos_id)
{
    return get_count(&c->charged_qos, (uint64_t)qos_id + 1);
}

uint32_t cluster_charged_qos_user(const struct cluster *c, uint32_t qos_id, uint32_t uid)
{
    return get_count(&c->charged_user, user_key(qos_id, uid));
}

void cluster_charged_parts(const struct cluster *c, uint32_t qos_id, charged_part_fn *fn, void *ctx)
{
    const struct charged *k;

    for (size_t i = 0; i < c->charged_user.cap; i++) {
        uint64_t key = c->charged_user.keys[i];
        uint32_t n = key && key < UINT64_MAX ? get_count(&c->charged_user, key) : 0;

        if (n && (key - 1) >> 32 == qos_id)
            fn(ctx, (uint32_t)(key - 1), NULL, n);
    }
    for (size_t pos = 0; (k = idmap_next(&c->charged_account, &pos));)
        for (; k; k = k->next)
            if (k->qos_id == qos_id && *k->account)
                fn(ctx, 0, k->account, k->n);
}

uint32_t cluster_charged_qos_account(const struct cluster *c, uint32_t qos_id, const char *account)
{
    const char *name = account ? account : "";
    struct charged *first = idmap_get(&c->charged_account, account_key(qos_id, name));
    const struct charged *k = *find_account(&first, qos_id, name);

    return k ? k->n : 0;
}
