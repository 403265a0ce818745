/* books.c - see books.h
 *
 * Number 1 is root's association; those of accounts follow, then those of users. */
#include "sim/books.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "feed/limitrecords.h"
#include "model/tx.h"

#define DEFAULT_ACCOUNT "default"
#define FIRST_ACCOUNT 2u /* the default one */
#define TRES_GPU AM_TRES_DYNAMIC

DEFINE_CLEANUP(struct cluster *, cluster_free)

static const char *account_name(const struct workload *w, uint32_t i)
{
    return i ? w->accounts.names[i - 1] : DEFAULT_ACCOUNT;
}

static void put_assoc(Pst__Transaction *tx, uint32_t id, uint32_t parent, const char *account,
                      const char *user)
{
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
    Pst__AssocRecord a = PST__ASSOC_RECORD__INIT;

    SET(&a, assoc_id, id);
    if (parent)
        SET(&a, parent_id, parent);
    a.cluster = (char *)BOOKS_CLUSTER; /* copied, as all of it */
    a.account = (char *)account;
    a.user = (char *)user;
    put.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
    put.assoc = &a;
    tx_acct_change(tx, &put);
}

static void put_qos(Pst__Transaction *tx, uint32_t id, const char *name)
{
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
    Pst__QosRecord q = PST__QOS_RECORD__INIT;

    SET(&q, qos_id, id);
    q.name = (char *)name;
    put.body_case = PST__ACCT_CHANGE__BODY_QOS;
    put.qos = &q;
    tx_acct_change(tx, &put);
}

static void put_gpu(Pst__Transaction *tx)
{
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
    Pst__TresRecord t = PST__TRES_RECORD__INIT;

    SET(&t, tres_id, TRES_GPU);
    t.type = (char *)"gres";
    t.name = (char *)"gpu";
    put.body_case = PST__ACCT_CHANGE__BODY_TRES;
    put.tres = &t;
    tx_acct_change(tx, &put);
}

/* ---- who is in which account ----------------------------------------------------------------- */

static uint64_t pair_of(const struct sim_job *j)
{
    return (uint64_t)j->user << 32 | j->account;
}

static int by_pair(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* All pairs of user and account, once each, in order. */
static size_t list_pairs(const struct workload *w, uint64_t *list)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        list[i] = pair_of(&w->jobs[i]);
    if (w->n > 1)
        qsort(list, w->n, sizeof(*list), by_pair);
    for (size_t i = 0; i < w->n; i++)
        if (!n || list[n - 1] != list[i])
            list[n++] = list[i];
    return n;
}

static void number_jobs(struct workload *w, const uint64_t *list, size_t n, uint32_t first)
{
    for (size_t i = 0; i < w->n; i++) {
        uint64_t key = pair_of(&w->jobs[i]);
        const uint64_t *at = bsearch(&key, list, n, sizeof(*list), by_pair); /* it is there */

        w->jobs[i].assoc_id = first + (uint32_t)(at - list);
        w->jobs[i].qos_id = AM_QOS_NORMAL + w->jobs[i].qos;
    }
}

int books_make(struct workload *w, struct cluster **ret_books, struct err *err)
{
    _cleanup_(cluster_free) struct cluster *c = NULL;
    _cleanup_free_ uint64_t *list = calloc(w->n + 1, sizeof(*list));
    uint32_t first_user = FIRST_ACCOUNT + w->accounts.n + 1;
    Pst__Transaction *tx;
    size_t n;
    int r = list ? cluster_new(&c) : -ENOMEM;

    if (r < 0)
        return r;
    n = list_pairs(w, list);
    tx = tx_new(0);
    tx->has_time_us = false;
    r = pb_set_str(&tx_cluster(tx)->name, BOOKS_CLUSTER);
    put_gpu(tx);
    put_qos(tx, AM_QOS_NORMAL, "normal");
    for (uint32_t i = 0; i < w->qos.n; i++)
        put_qos(tx, AM_QOS_NORMAL + 1 + i, w->qos.names[i]);
    put_assoc(tx, 1, 0, AM_ROOT, NULL);
    for (uint32_t i = 0; i <= w->accounts.n; i++)
        put_assoc(tx, FIRST_ACCOUNT + i, 1, account_name(w, i), NULL);
    for (size_t i = 0; i < n; i++) {
        uint32_t account = (uint32_t)list[i];

        put_assoc(tx, first_user + (uint32_t)i, FIRST_ACCOUNT + account, account_name(w, account),
                  name_nth(&w->users, (uint32_t)(list[i] >> 32)));
    }
    if (r == 0)
        r = cluster_apply(c, tx, err);
    (void)tx_free(tx);
    if (r < 0)
        return r;
    number_jobs(w, list, n, first_user);
    *ret_books = TAKE_PTR(c);
    return 0;
}

/* ---- into the scheduler ---------------------------------------------------------------------- */

static int hand_over(struct sched *s, struct feed *f)
{
    int r = feed_apply(s, f);

    feed_release(f);
    return r;
}

int books_prime(void *ctx, struct sched *s)
{
    struct assoc_mgr *am = ((struct cluster *)ctx)->am;
    const ProtobufCMessage *rec;
    const struct assoc *a;
    struct feed *f;
    int r = 0;

    for (size_t i = 0; r == 0 && (f = feed_of_fixed_tres(i)); i++)
        r = hand_over(s, f);
    for (size_t pos = 0; r == 0 && (rec = am_next(am, AM_TRES, &pos));)
        r = hand_over(s, feed_of_tres((const Pst__TresRecord *)rec));
    for (size_t pos = 0; r == 0 && (rec = am_next(am, AM_QOS, &pos));) {
        const Pst__QosRecord *q = (const Pst__QosRecord *)rec;

        r = hand_over(s, feed_of_qos_limits(q));
        if (r == 0)
            r = sched_qos_put(s, q->name, q->has_priority ? q->priority : 0);
    }
    for (size_t pos = 0; r == 0 && (a = am_next_assoc(am, &pos));)
        r = hand_over(s, feed_of_assoc_limits(am, a));
    sched_limit_enforce(s, true, false);
    return r;
}
