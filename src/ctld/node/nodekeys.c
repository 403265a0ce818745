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
    bool has_secret;    /* else it is made when it is needed */
    uint8_t secret[32]; /* of key and the controllers', for launch keys */
};

struct nodekeys {
    pthread_mutex_t lock;
    struct slot *of; /* by node id */
    uint32_t n;
    struct idmap ids; /* the first bytes of a key -> 1 + the node's id */
    bool alike;       /* keys that `ids` cannot tell: all are looked through */
};

/* Keys are points of a curve: as good as random. */
static uint64_t first_bytes(const uint8_t key[IDKEY_SIZE])
{
    uint64_t first;

    memcpy(&first, key, sizeof(first));
    return first;
}

static bool has_key(const struct nodekeys *k, uint32_t id, const uint8_t key[IDKEY_SIZE])
{
    return id < k->n && k->of[id].used && memcmp(k->of[id].key, key, IDKEY_SIZE) == 0;
}

/* The node that has the key, or -1. */
static int64_t find_key(const struct nodekeys *k, const uint8_t key[IDKEY_SIZE])
{
    uintptr_t id = (uintptr_t)idmap_get(&k->ids, first_bytes(key));

    if (!k->alike)
        return id && has_key(k, (uint32_t)(id - 1), key) ? (int64_t)(id - 1) : -1;
    for (uint32_t i = 0; i < k->n; i++)
        if (has_key(k, i, key))
            return i;
    return -1;
}

/* The key of the node's slot comes (or goes).  Under the lock. */
static void index_key(struct nodekeys *k, uint32_t id, bool comes)
{
    uint64_t first = first_bytes(k->of[id].key);
    uintptr_t known = (uintptr_t)idmap_get(&k->ids, first);

    if (comes)
        k->alike = k->alike || (known && known != (uintptr_t)id + 1) ||
                   idmap_put(&k->ids, first, (void *)((uintptr_t)id + 1)) < 0;
    else if (known == (uintptr_t)id + 1)
        (void)idmap_remove(&k->ids, first);
}

/* Keep the secret of a key, unless the node has another key by now. */
static void keep_secret(struct nodekeys *k, uint32_t id, const uint8_t key[IDKEY_SIZE],
                        const uint8_t secret[32])
{
    pthread_mutex_lock(&k->lock);
    if (has_key(k, id, key)) {
        memcpy(k->of[id].secret, secret, sizeof(k->of[id].secret));
        k->of[id].has_secret = true;
    }
    pthread_mutex_unlock(&k->lock);
}

/* On an I/O thread.  The secret for launches is made here, so that the
 * core thread need not do it at the first launch. */
static bool knows_node(struct ctld *ctld, const uint8_t *key)
{
    struct nodekeys *k = ctld->nodekeys;
    uint8_t secret[32];
    bool has;
    int64_t id;

    pthread_mutex_lock(&k->lock);
    id = find_key(k, key);
    has = id < 0 || k->of[id].has_secret;
    pthread_mutex_unlock(&k->lock);
    if (!has && ctld->identity && idkey_secret(ctld->identity, key, IDKEY_FOR_LAUNCH, secret) == 0)
        keep_secret(k, (uint32_t)id, key, secret);
    explicit_bzero(secret, sizeof(secret));
    return id >= 0;
}

int64_t nodekeys_find(struct ctld *ctld, const uint8_t key[IDKEY_SIZE])
{
    struct nodekeys *k = ctld->nodekeys;
    int64_t id;

    pthread_mutex_lock(&k->lock);
    id = find_key(k, key);
    pthread_mutex_unlock(&k->lock);
    return id;
}

/* Made of n's own key and the controllers'.  Costs an HMAC; with a key that was bound since the
 * start an X25519 once. */
static int derive_launch_key(struct ctld *ctld, const struct node *n, const uint8_t *mac,
                             uint8_t *ret_key)
{
    struct nodekeys *k = ctld->nodekeys;
    struct slot slot = { 0 };
    uint32_t id = n->rec->node_id;
    int r = -ENOKEY;

    pthread_mutex_lock(&k->lock);
    if (id < k->n)
        slot = k->of[id];
    pthread_mutex_unlock(&k->lock);
    if (slot.used && n->rec->launch_keys && ctld->identity)
        r = slot.has_secret ? 0
                            : idkey_secret(ctld->identity, slot.key, IDKEY_FOR_LAUNCH, slot.secret);
    if (r == 0) {
        if (!slot.has_secret)
            keep_secret(k, id, slot.key, slot.secret);
        memcpy(ret_key, slot.secret, sizeof(slot.secret));
        idkey_mix(ret_key, mac);
    }
    explicit_bzero(&slot, sizeof(slot));
    return r;
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

int nodekeys_judge_new(struct ctld *ctld, const char *name, const struct peer *peer,
                       const Pst__NodeRegister *reg, char why[NODEKEYS_TEXT])
{
    bool own = peer->method == PST__AUTH_METHOD__AUTH_NODE;
    const uint8_t *key = own                               ? peer->node_key
                         : reg->node_key.len == IDKEY_SIZE ? reg->node_key.data
                                                           : NULL;
    int64_t id = key ? find_key(ctld->nodekeys, key) : -1;
    const struct node *other = id < 0 ? NULL : cluster_node(ctld->cluster, (uint32_t)id);

    if (other)
        (void)snprintf(why, NODEKEYS_TEXT, "this is the key of node %.60s, not of %.60s",
                       other->rec->name, name);
    else if (own && !peer->node_enrols)
        (void)snprintf(why, NODEKEYS_TEXT, "node %.60s is not there, and its key is nobody's",
                       name);
    else
        return 0;
    return -EACCES;
}

bool nodekeys_fits(struct ctld *ctld, const char *text, const char *node, size_t n)
{
    const struct node *at = cluster_node_named(ctld->cluster, node);
    uint8_t key[IDKEY_SIZE];

    return n == 1 && at && idkey_parse(text, key) == 0 && !find_other(ctld, at, key);
}

bool nodekeys_must_teach(const struct ctld *ctld, const Pst__NodeRegister *reg)
{
    const ProtobufCBinaryData *known = &reg->controller_key;

    return ctld->identity && reg->node_key.len == IDKEY_SIZE && reg->has_controller_key &&
           (known->len != IDKEY_SIZE ||
            memcmp(known->data, idkey_public(ctld->identity), IDKEY_SIZE) != 0);
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
    if (id < k->n && k->of[id].used == now.used &&
        memcmp(k->of[id].key, now.key, sizeof(now.key)) == 0)
        return;
    pthread_mutex_lock(&k->lock);
    if (id >= k->n) {
        while (more <= id)
            more = more ? more * 2 : 16;
        k->of = must(realloc(k->of, more * sizeof(*k->of)));
        memset(k->of + k->n, 0, (more - k->n) * sizeof(*k->of));
        k->n = more;
    }
    if (k->of[id].used)
        index_key(k, id, false);
    k->of[id] = now;
    if (now.used)
        index_key(k, id, true);
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
    idmap_done(&ctld->nodekeys->ids);
    free(ctld->nodekeys);
    ctld->nodekeys = NULL;
}

const struct ctld_service nodekeys_service = {
    .name = "nodekeys",
    .start = start_keys,
    .free = free_keys,
    .on_node = note_node,
    .knows_node = knows_node,
    .launch_key = derive_launch_key,
    .on_node_gone = forget_node,
};
