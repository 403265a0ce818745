/* corequeue.c - commands on their way to the core; see corequeue.h.  Any thread puts, the core's
 * takes. */
#include "ctld/core/corequeue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define QUEUE_MAX 200000u /* requests that may wait for the core */

struct lane { /* what one user has asked for, oldest first */
    struct cmd *head, *tail;
    size_t n, bytes;
    struct lane *next; /* in the ring of those that wait */
};

struct core_queue {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct cmd *head, *tail; /* lane 0 */
    struct idmap lanes;      /* uid -> struct lane, kept once made */
    struct lane *last;       /* of the ring: its next is served next; NULL = no lane waits */
    size_t n, n_own;         /* commands in the lanes of users, and in lane 0 */
};

int core_queue_new(struct core_queue **ret)
{
    struct core_queue *q = calloc(1, sizeof(*q));
    pthread_condattr_t attr;

    if (!q)
        return -ENOMEM;
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->wake, &attr);
    pthread_condattr_destroy(&attr);
    *ret = q;
    return 0;
}

void cmd_free_list(struct cmd *head)
{
    while (head) {
        struct cmd *cmd = head;

        head = cmd->next;
        cmd_free(cmd);
    }
}

struct core_queue *core_queue_free(struct core_queue *q)
{
    struct lane *l;

    if (!q)
        return NULL;
    cmd_free_list(q->head);
    for (size_t pos = 0; (l = idmap_next(&q->lanes, &pos));) {
        cmd_free_list(l->head);
        free(l);
    }
    idmap_done(&q->lanes);
    pthread_cond_destroy(&q->wake);
    pthread_mutex_destroy(&q->lock);
    free(q);
    return NULL;
}

/* The lane of a user, made when it is new; NULL: out of memory, the command goes to lane 0. */
static struct lane *lane_of(struct core_queue *q, uid_t uid)
{
    struct lane *l = idmap_get(&q->lanes, (uint64_t)uid + 1);

    if (l)
        return l;
    l = calloc(1, sizeof(*l));
    if (!l || idmap_put(&q->lanes, (uint64_t)uid + 1, l) < 0) {
        free(l);
        return NULL;
    }
    return l;
}

static bool lane_full(const struct lane *l, const struct cmd *cmd)
{
    return l && (l->n >= LANE_MAX || (l->n && l->bytes + cmd->bytes > LANE_BYTES));
}

static void append_cmd(struct cmd **head, struct cmd **tail, struct cmd *cmd)
{
    if (*tail)
        (*tail)->next = cmd;
    else
        *head = cmd;
    *tail = cmd;
}

/* The lane gets in line behind the others. */
static void join_ring(struct core_queue *q, struct lane *l)
{
    l->next = q->last ? q->last->next : l;
    if (q->last)
        q->last->next = l;
    q->last = l;
}

/* The first in line, which is empty now. */
static void leave_ring(struct core_queue *q, struct lane *l)
{
    l->tail = NULL;
    if (l->next == l)
        q->last = NULL;
    else
        q->last->next = l->next;
}

static void queue_put(struct core_queue *q, struct lane *l, struct cmd *cmd)
{
    if (!l) {
        append_cmd(&q->head, &q->tail, cmd);
        q->n_own++;
        return;
    }
    if (!l->head)
        join_ring(q, l);
    append_cmd(&l->head, &l->tail, cmd);
    q->n++;
    l->n++;
    l->bytes += cmd->bytes;
}

bool core_queue_put(struct core_queue *q, struct cmd *cmd)
{
    struct lane *l;
    bool wake, full;

    cmd->next = NULL;
    pthread_mutex_lock(&q->lock);
    l = cmd->lane ? lane_of(q, cmd->lane) : NULL;
    full = cmd->kind == CMD_REQUEST && (q->n + q->n_own >= QUEUE_MAX || lane_full(l, cmd));
    wake = !q->head && !q->last;
    if (!full)
        queue_put(q, l, cmd);
    pthread_mutex_unlock(&q->lock);
    if (full) {
        cmd_free(cmd);
        return false;
    }
    if (wake)
        pthread_cond_signal(&q->wake);
    return true;
}

struct cmd *core_queue_next(struct core_queue *q)
{
    struct lane *l;
    struct cmd *cmd = NULL;

    pthread_mutex_lock(&q->lock);
    l = q->last ? q->last->next : NULL;
    if (l) {
        cmd = l->head;
        l->head = cmd->next;
        l->n--;
        l->bytes -= cmd->bytes;
        q->n--;
        if (l->head)
            q->last = l; /* the others come first */
        else
            leave_ring(q, l);
        cmd->next = NULL;
    }
    pthread_mutex_unlock(&q->lock);
    return cmd;
}

struct cmd *core_queue_take(struct core_queue *q, int64_t until_mono_us)
{
    struct timespec ts = { .tv_sec = until_mono_us / USEC_PER_SEC,
                           .tv_nsec = until_mono_us % USEC_PER_SEC * 1000 };
    struct cmd *own;

    pthread_mutex_lock(&q->lock);
    while (!q->head && !q->last)
        if (pthread_cond_timedwait(&q->wake, &q->lock, &ts) == ETIMEDOUT)
            break;
    own = q->head;
    q->head = q->tail = NULL;
    q->n_own = 0;
    pthread_mutex_unlock(&q->lock);
    return own;
}
