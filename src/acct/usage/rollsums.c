/* rollsums.c - see rollsums.h */
#include "acct/usage/rollsums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define TRES_FIRST 1001 /* ids of what is not fixed */

/* ---- TRES and who ---------------------------------------------------------------------------- */

int roll_load_tres(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(w->db, "SELECT id, name FROM usage_tres ORDER BY id", &stmt);

    while (r == 0 && (r = sql_step(stmt)) == 1) {
        if (w->ntres < TRES_MAX) {
            (void)snprintf(w->tres_names[w->ntres], TRES_NAME_MAX, "%s",
                           sql_text(stmt, 1)); /* ours */
            w->tres_ids[w->ntres++] = sql_int(stmt, 0);
        }
        r = 0;
    }
    return r;
}

int roll_tres(struct roll *w, const char *name, unsigned *ret)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    unsigned i = 0;
    int r;

    while (i < w->ntres && strcmp(w->tres_names[i], name) != 0)
        i++;
    *ret = i;
    if (i < w->ntres || i == TRES_MAX)
        return 0;
    (void)snprintf(w->tres_names[i], TRES_NAME_MAX, "%s", name); /* not longer */
    w->tres_ids[i] = MAX(TRES_FIRST, w->tres_ids[i - 1] + 1);
    r = sql_prepare(w->db, "INSERT INTO usage_tres VALUES(?,?)", &stmt);
    if (r < 0)
        return r;
    sql_bind(stmt, 0, w->tres_ids[i]);
    sql_bind_text(stmt, 1, name);
    w->ntres++;
    return sql_run(stmt);
}

static int add_who(struct roll *w, int64_t id, const char *key)
{
    if (w->nwho == w->who_cap) {
        size_t cap = w->who_cap ? w->who_cap * 2 : 256;
        struct who *bigger = reallocarray(w->who, cap, sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        w->who = bigger;
        w->who_cap = cap;
    }
    w->who[w->nwho] = (struct who){ .id = id, .key = strdup(key) };
    if (!w->who[w->nwho].key)
        return -ENOMEM;
    w->nwho++;
    return namemap_put(&w->who_by_key, w->who[w->nwho - 1].key, (void *)(uintptr_t)w->nwho);
}

int roll_load_who(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(
        w->db, "SELECT id, account, uid, user, wckey, qos, assoc_id FROM usage_keys WHERE source=?",
        &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, w->source);
    while ((r = sql_step(stmt)) == 1) {
        char key[1024];

        (void)snprintf(key, sizeof(key), "%s\x1f%lld\x1f%s\x1f%s\x1f%s\x1f%lld", sql_text(stmt, 1),
                       (long long)sql_int(stmt, 2), sql_text(stmt, 3), sql_text(stmt, 4),
                       sql_text(stmt, 5), (long long)sql_int(stmt, 6)); /* as made */
        r = add_who(w, sql_int(stmt, 0), key);
        if (r < 0)
            return r;
    }
    return r;
}

static int insert_who(struct roll *w, const Pst__JobRecord *rec, int64_t assoc, const char *key)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int64_t id = 0;
    int r = sql_get(w->db, "SELECT max(id) + 1 FROM usage_keys", 1, &id);

    if (r == 0)
        r = sql_prepare(w->db, "INSERT INTO usage_keys VALUES(?,?,?,?,?,?,?,?)", &stmt);
    if (r < 0)
        return r;
    sql_bind(stmt, 0, id);
    sql_bind(stmt, 1, w->source);
    sql_bind_text(stmt, 2, rec->account ? rec->account : "");
    sql_bind(stmt, 3, rec->uid);
    sql_bind_text(stmt, 4, rec->user_name ? rec->user_name : "");
    sql_bind_text(stmt, 5, rec->wckey ? rec->wckey : "");
    sql_bind_text(stmt, 6, rec->qos ? rec->qos : "");
    sql_bind(stmt, 7, assoc);
    r = sql_run(stmt);
    return r < 0 ? r : add_who(w, id, key);
}

int roll_who(struct roll *w, const Pst__JobRecord *rec, size_t *ret)
{
    int64_t assoc = rec->has_assoc_id ? rec->assoc_id : 0;
    char key[1024];
    void *found;
    int r = 0;

    (void)snprintf(key, sizeof(key), "%s\x1f%u\x1f%s\x1f%s\x1f%s\x1f%lld",
                   rec->account ? rec->account : "", rec->uid, rec->user_name ? rec->user_name : "",
                   rec->wckey ? rec->wckey : "", rec->qos ? rec->qos : "",
                   (long long)assoc); /* cut alike each time */
    found = namemap_get(&w->who_by_key, key);
    if (!found) {
        r = insert_who(w, rec, assoc, key);
        found = namemap_get(&w->who_by_key, key);
    }
    if (r == 0)
        *ret = (size_t)(uintptr_t)found - 1;
    return r;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static uint64_t sum_key(unsigned hour, size_t who, unsigned tres)
{
    return ((uint64_t)hour + 1) << 48 | (uint64_t)who << 8 | tres;
}
_Static_assert(TRES_MAX <= 256, "fits its bits");

static struct sum *sum_slot(struct sum *sums, size_t cap, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (cap - 1);

    while (sums[at].key && sums[at].key != key)
        at = (at + 1) & (cap - 1);
    return &sums[at];
}

int roll_add(struct roll *w, unsigned hour, size_t who, unsigned tres, uint64_t secs)
{
    uint64_t key = sum_key(hour, who, tres);
    struct sum *slot;

    if (w->nsums * 2 >= w->sums_cap) {
        size_t cap = w->sums_cap ? w->sums_cap * 2 : 4096;
        struct sum *bigger = calloc(cap, sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        for (size_t i = 0; i < w->sums_cap; i++)
            if (w->sums[i].key)
                *sum_slot(bigger, cap, w->sums[i].key) = w->sums[i];
        free(w->sums);
        w->sums = bigger;
        w->sums_cap = cap;
    }
    slot = sum_slot(w->sums, w->sums_cap, key);
    w->nsums += !slot->key;
    slot->key = key;
    slot->secs += secs;
    return 0;
}
