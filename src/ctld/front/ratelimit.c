/* ratelimit.c - tokens for requests; see ratelimit.h.
 *
 * A user's bucket is looked for in PROBES places from his number's hash on.  When all are
 * others', the bucket that was used least lately is taken: it is as good as full, unless more
 * users than the table holds ask at once. */
#include "ctld/front/ratelimit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define PROBES 16u
#define TABLE_MAX (1u << 20)

struct rules {
    uint64_t size, rate, period_s, table;
    int64_t log_s; /* -1: nothing is logged, 0: everything */
    bool on;
};

struct bucket {
    uid_t uid;
    bool used;
    uint32_t tokens;
    int64_t filled_us; /* when tokens were last added, a whole number of periods at a time */
    int64_t logged_us;
};

struct ratelimit {
    atomic_bool on; /* read without the lock: a site without limits pays nothing */
    pthread_mutex_t lock;
    struct rules rules;
    struct bucket *table;
};

int ratelimit_new(struct ratelimit **ret)
{
    struct ratelimit *rl = calloc(1, sizeof(*rl));

    if (!rl)
        return -ENOMEM;
    pthread_mutex_init(&rl->lock, NULL);
    *ret = rl;
    return 0;
}

struct ratelimit *ratelimit_free(struct ratelimit *rl)
{
    if (!rl)
        return NULL;
    pthread_mutex_destroy(&rl->lock);
    free(rl->table);
    free(rl);
    return NULL;
}

static uint64_t read_option(const struct conf *conf, const char *name, uint64_t otherwise,
                            uint64_t least, uint64_t most)
{
    uint64_t v = otherwise;

    if (!conf_option_u64(conf, CONF_SLURMCTLD_PARAMETERS, name, &v))
        return otherwise;
    return MIN(MAX(v, least), most);
}

static struct rules read_rules(const struct conf *conf)
{
    struct rules r = { .size = read_option(conf, "rl_bucket_size", 30, 1, UINT32_MAX),
                       .rate = read_option(conf, "rl_refill_rate", 2, 1, UINT32_MAX),
                       .period_s = read_option(conf, "rl_refill_period", 1, 1, UINT32_MAX),
                       .table = read_option(conf, "rl_table_size", 8192, 1, TABLE_MAX) };

    r.on = conf_option(conf, CONF_SLURMCTLD_PARAMETERS, "rl_enable", NULL, NULL);
    (void)conf_option_i64(conf, CONF_SLURMCTLD_PARAMETERS, "rl_log_freq", &r.log_s); /* absent: 0 */
    return r;
}

static bool same_rules(const struct rules *a, const struct rules *b)
{
    return a->size == b->size && a->rate == b->rate && a->period_s == b->period_s &&
           a->table == b->table && a->log_s == b->log_s && a->on == b->on;
}

void ratelimit_configure(struct ratelimit *rl, const struct conf *conf)
{
    struct rules r = read_rules(conf);
    struct bucket *table;

    if (same_rules(&r, &rl->rules))
        return;
    table = r.on ? calloc(r.table, sizeof(*table)) : NULL;
    pthread_mutex_lock(&rl->lock);
    free(rl->table);
    rl->table = table;
    rl->rules = r;
    atomic_store(&rl->on, table != NULL); /* out of memory: no limits */
    pthread_mutex_unlock(&rl->lock);
}

/* His bucket, or the one that he gets. */
static struct bucket *bucket_of(struct ratelimit *rl, uid_t uid, int64_t now)
{
    uint64_t at = (uint64_t)uid * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    struct bucket *b, *oldest = NULL;

    for (uint64_t i = 0; i < PROBES && i < rl->rules.table; i++) {
        b = &rl->table[(at + i) % rl->rules.table];
        if (b->used && b->uid == uid)
            return b;
        if (!oldest || (oldest->used && (!b->used || b->filled_us < oldest->filled_us)))
            oldest = b;
    }
    *oldest = (struct bucket){ .uid = uid,
                               .used = true,
                               .tokens = (uint32_t)rl->rules.size,
                               .filled_us = now,
                               .logged_us = INT64_MIN };
    return oldest;
}

static void refill_bucket(const struct rules *r, struct bucket *b, int64_t now)
{
    int64_t period_us = (int64_t)r->period_s * USEC_PER_SEC;
    uint64_t periods = now > b->filled_us ? (uint64_t)((now - b->filled_us) / period_us) : 0;

    if (!periods)
        return;
    b->filled_us += (int64_t)periods * period_us;
    b->tokens = (uint32_t)MIN(r->size, b->tokens + MIN(periods, r->size) * r->rate);
}

static bool log_due(const struct rules *r, struct bucket *b, int64_t now)
{
    if (r->log_s < 0 || (b->logged_us != INT64_MIN && now - b->logged_us < r->log_s * USEC_PER_SEC))
        return false;
    b->logged_us = now;
    return true;
}

bool ratelimit_admit(struct ratelimit *rl, uid_t uid, int64_t now_mono_us, bool *ret_log)
{
    struct bucket *b;
    bool may = true;

    *ret_log = false;
    if (!atomic_load_explicit(&rl->on, memory_order_relaxed))
        return true;
    pthread_mutex_lock(&rl->lock);
    if (rl->table) {
        b = bucket_of(rl, uid, now_mono_us);
        refill_bucket(&rl->rules, b, now_mono_us);
        may = b->tokens > 0;
        if (may)
            b->tokens--;
        else
            *ret_log = log_due(&rl->rules, b, now_mono_us);
    }
    pthread_mutex_unlock(&rl->lock);
    return may;
}
