/* charge.c - how many jobs wait or run under each association and QOS
 *
 * Derived from the job records alone: assoc_id, qos_id, part_qos_id, uid and account say what a job counts against, an
 * array counts its tasks.  Counts are kept where a job is charged; what that comes to for the accounts above is summed up
 * along the tree, anew when the tree has changed. */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/cleanup.h"
#include "model/array.h"
#include "model/cluster_private.h"
#include "model/job.h"

enum charge_kind { CHARGE_QOS = 1, CHARGE_QOS_USER, CHARGE_QOS_ACCOUNT };

static uint64_t key_of(enum charge_kind kind, uint32_t qos_id, uint64_t who)
{
    uint64_t parts[] = { kind, qos_id, who };
    uint64_t key = XXH3_64bits(parts, sizeof(parts));

    return key == 0 || key == UINT64_MAX ? 1 : key;
}

static uint64_t account_key(const char *account)
{
    return account ? XXH3_64bits(account, strlen(account)) : 0;
}

static uint32_t get(const struct idmap *m, uint64_t key)
{
    return (uint32_t)(uintptr_t)idmap_get(m, key); /* the count stands in place of a pointer */
}

static void change(struct idmap *m, uint64_t key, uint32_t n, bool add)
{
    uint32_t now = get(m, key), to = add ? now + n : now - MIN(n, now);

    if (!to)
        (void)idmap_remove(m, key);
    else if (idmap_put(m, key, (void *)(uintptr_t)to) < 0)
        abort(); /* within an apply: a count must not be wrong */
}

static void change_qos(struct cluster *c, const Pst__JobRecord *r, uint32_t qos_id, uint32_t n, bool add)
{
    change(&c->charged_qos, key_of(CHARGE_QOS, qos_id, 0), n, add);
    change(&c->charged_qos, key_of(CHARGE_QOS_USER, qos_id, r->uid), n, add);
    change(&c->charged_qos, key_of(CHARGE_QOS_ACCOUNT, qos_id, account_key(r->account)), n, add);
}

static void change_above(struct cluster *c, uint32_t assoc_id, uint32_t n, bool add)
{
    for (const struct assoc *a = am_assoc(c->am, assoc_id); a; a = a->parent)
        change(&c->charged_below, a->id, n, add);
}

void model_charge(struct cluster *c, struct job *j, bool add)
{
    const Pst__JobRecord *r = j->rec;
    uint32_t part_qos = r->has_part_qos_id ? r->part_qos_id : 0;

    if (add)
        j->charged = job_is_ended(r) || !(r->has_assoc_id || r->has_qos_id || part_qos)
                         ? 0
                         : job_is_array(r) && job_is_pending(r) ? array_count(r->array_tasks) : 1;
    if (!j->charged)
        return;
    if (r->has_assoc_id) {
        change(&c->charged_assoc, r->assoc_id, j->charged, add);
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
    idmap_done(&c->charged_assoc);
    idmap_done(&c->charged_below);
    idmap_done(&c->charged_qos);
}

static void sum_up(struct cluster *c)
{
    if (c->charged_gen == am_generation(c->am))
        return;
    c->charged_gen = am_generation(c->am);
    idmap_done(&c->charged_below);
    for (size_t i = 0; i < c->charged_assoc.cap; i++) {
        uint64_t key = c->charged_assoc.keys[i];
        uint32_t n = key && key < UINT64_MAX ? get(&c->charged_assoc, key) : 0;

        if (n)
            change_above(c, (uint32_t)key, n, true);
    }
}

uint32_t cluster_charged_assoc(const struct cluster *c, uint32_t assoc_id)
{
    return get(&c->charged_assoc, assoc_id);
}

uint32_t cluster_charged_below(struct cluster *c, uint32_t assoc_id)
{
    sum_up(c);
    return get(&c->charged_below, assoc_id);
}

uint32_t cluster_charged_qos(const struct cluster *c, uint32_t qos_id)
{
    return get(&c->charged_qos, key_of(CHARGE_QOS, qos_id, 0));
}

uint32_t cluster_charged_qos_user(const struct cluster *c, uint32_t qos_id, uint32_t uid)
{
    return get(&c->charged_qos, key_of(CHARGE_QOS_USER, qos_id, uid));
}

uint32_t cluster_charged_qos_account(const struct cluster *c, uint32_t qos_id, const char *account)
{
    return get(&c->charged_qos, key_of(CHARGE_QOS_ACCOUNT, qos_id, account_key(account)));
}
