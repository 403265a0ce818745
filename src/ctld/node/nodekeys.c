/* nodekeys.c - see nodekeys.h
 *
 * The table repeats what the nodes' records say, for the threads that let connections in.  The core
 * thread changes it, under the lock, whenever a record changes; it reads it without. */
#include "ctld/node/nodekeys.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "ctld/core/service.h"

struct slot {
    bool used;
    uint8_t key[IDKEY_SIZE];
};

struct nodekeys {
    pthread_mutex_t lock;
    struct slot *of; /* by node id */
    uint32_t n;
};

/* The node that has the key, or -1. */
static int64_t find_key(const struct nodekeys *k, const uint8_t key[IDKEY_SIZE])
{
    for (uint32_t i = 0; i < k->n; i++)
        if (k->of[i].used && memcmp(k->of[i].key, key, IDKEY_SIZE) == 0)
            return i;
    return -1;
}

/* On an I/O thread: a comparison for each node. */
static bool knows_node(struct ctld *ctld, const uint8_t *key)
{
    struct nodekeys *k = ctld->nodekeys;
    bool known;

    pthread_mutex_lock(&k->lock);
    known = find_key(k, key) >= 0;
    pthread_mutex_unlock(&k->lock);
    return known;
}

/* Another node that has the key, or NULL. */
static const struct node *find_other(struct ctld *ctld, const struct node *n,
                                     const uint8_t key[IDKEY_SIZE])
{
    int64_t id = find_key(ctld->nodekeys, key);

    return id < 0 || id == n->rec->node_id ? NULL : cluster_node(ctld->cluster, (uint32_t)id);
}

int nodekeys_judge(struct ctld *ctld, const struct node *n, const struct peer *peer,
                   const Pst__NodeRegister *reg, const uint8_t **ret_bind, char why[NODEKEYS_TEXT])
{
    bool own = peer->method == PST__AUTH_METHOD__AUTH_NODE;
    const uint8_t *key = own                               ? peer->node_key
                         : reg->node_key.len == IDKEY_SIZE ? reg->node_key.data
                                                           : NULL;
    const struct node *other = key ? find_other(ctld, n, key) : NULL;
    const char *name = n->rec->name;
    uint8_t bound[IDKEY_SIZE];
    bool is_bound = n->rec->node_key && idkey_parse(n->rec->node_key, bound) == 0;
    bool pinned = conf_bool(ctld->conf, CONF_PIN_NODE_KEYS);

    *ret_bind = NULL;
    if (other)
        (void)snprintf(why, NODEKEYS_TEXT, "this is the key of node %.60s, not of %.60s",
                       other->rec->name, name);
    else if (is_bound && !own && pinned)
        (void)snprintf(why, NODEKEYS_TEXT,
                       "node %.60s has a key of its own, which this connection does not prove "
                       "(scontrol update NodeName=%.60s NodeKey= forgets it)",
                       name, name);
    else if (is_bound && own && memcmp(bound, key, IDKEY_SIZE) != 0 &&
             (pinned || !peer->node_enrols))
        (void)snprintf(why, NODEKEYS_TEXT,
                       "node %.60s has another key (scontrol update NodeName=%.60s NodeKey= "
                       "forgets it)",
                       name, name);
    else if (!is_bound && own && !peer->node_enrols)
        (void)snprintf(why, NODEKEYS_TEXT,
                       "node %.60s has no key yet (scontrol update NodeName=%.60s NodeKey=...)",
                       name, name);
    else {
        if (key && (!is_bound || memcmp(bound, key, IDKEY_SIZE) != 0))
            *ret_bind = key;
        return 0;
    }
    return -EACCES;
}

bool nodekeys_fits(struct ctld *ctld, const char *text, const char *node, size_t n)
{
    const struct node *at = cluster_node_named(ctld->cluster, node);
    uint8_t key[IDKEY_SIZE];

    return n == 1 && at && idkey_parse(text, key) == 0 && !find_other(ctld, at, key);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void set_slot(struct ctld *ctld, const struct node *n, const char *text)
{
    struct nodekeys *k = ctld->nodekeys;
    uint32_t id = n->rec->node_id, more = k->n;
    struct slot now = { 0 };

    now.used = text && idkey_parse(text, now.key) == 0;
    if (id >= k->n && !now.used)
        return;
    if (id < k->n && memcmp(&k->of[id], &now, sizeof(now)) == 0)
        return;
    pthread_mutex_lock(&k->lock);
    if (id >= k->n) {
        while (more <= id)
            more = more ? more * 2 : 16;
        k->of = must(realloc(k->of, more * sizeof(*k->of)));
        memset(k->of + k->n, 0, (more - k->n) * sizeof(*k->of));
        k->n = more;
    }
    k->of[id] = now;
    pthread_mutex_unlock(&k->lock);
}

static void note_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    (void)kind;
    set_slot(ctld, n, n->rec->node_key);
}

static void forget_node(struct ctld *ctld, struct node *n)
{
    set_slot(ctld, n, NULL);
}

static int start_keys(struct ctld *ctld, struct err *err)
{
    struct nodekeys *k = calloc(1, sizeof(*k));

    if (!k || pthread_mutex_init(&k->lock, NULL) != 0) {
        free(k);
        return err_nomem(err);
    }
    ctld->nodekeys = k;
    return 0;
}

static void free_keys(struct ctld *ctld)
{
    if (!ctld->nodekeys)
        return;
    pthread_mutex_destroy(&ctld->nodekeys->lock);
    free(ctld->nodekeys->of);
    free(ctld->nodekeys);
    ctld->nodekeys = NULL;
}

const struct ctld_service nodekeys_service = {
    .name = "nodekeys",
    .start = start_keys,
    .free = free_keys,
    .on_node = note_node,
    .knows_node = knows_node,
    .on_node_gone = forget_node,
};
