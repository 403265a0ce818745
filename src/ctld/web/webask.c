/* webask.c - questions of other threads to the core, answered while they wait
 *
 * A question belongs to two, the asker and the core's queue; who lets go last frees it. */
#include "ctld/web/webask.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "ctld/core/cmd.h"
#include "ctld/ctld.h"

#define STRANGERS 65534u /* have a turn of the core among the users, as nobody has */

struct question {
    struct ctld *ctld;
    void (*fn)(struct ctld *ctld, void *answer);
    void *answer; /* owned until the asker takes it */
    pthread_mutex_t lock;
    pthread_cond_t told;
    unsigned owners;
    bool over, answered;
};

/* Let go; with the lock held, which it releases. */
static void leave_question(struct question *q)
{
    bool last = --q->owners == 0;

    pthread_mutex_unlock(&q->lock);
    if (!last)
        return;
    pthread_cond_destroy(&q->told);
    pthread_mutex_destroy(&q->lock);
    free(q->answer);
    free(q);
}

static void end_question(struct question *q, bool answered)
{
    pthread_mutex_lock(&q->lock);
    q->over = true;
    q->answered = answered;
    pthread_cond_signal(&q->told);
    leave_question(q);
}

static void run_question(void *arg)
{
    struct question *q = arg;

    q->fn(q->ctld, q->answer);
    end_question(q, true);
}

static void drop_question(void *arg)
{
    end_question(arg, false);
}

static struct question *question_new(struct ctld *ctld, size_t size,
                                     void (*fn)(struct ctld *ctld, void *answer))
{
    struct question *q = calloc(1, sizeof(*q));
    pthread_condattr_t attr;

    if (q)
        q->answer = calloc(1, size);
    if (!q || !q->answer) {
        free(q);
        return NULL;
    }
    q->ctld = ctld;
    q->fn = fn;
    q->owners = 2;
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->told, &attr);
    pthread_condattr_destroy(&attr);
    return q;
}

static void *await_answer(struct question *q)
{
    void *answer = NULL;
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WEBASK_MS / 1000;
    pthread_mutex_lock(&q->lock);
    while (!q->over && pthread_cond_timedwait(&q->told, &q->lock, &until) == 0)
        ;
    if (q->answered)
        answer = TAKE_PTR(q->answer);
    leave_question(q);
    return answer;
}

void *webask(struct ctld *ctld, size_t size, void (*fn)(struct ctld *ctld, void *answer))
{
    struct question *q = atomic_load(&ctld->stopping) ? NULL : question_new(ctld, size, fn);
    struct cmd *cmd = q ? calloc(1, sizeof(*cmd)) : NULL;

    if (!cmd) {
        if (q) {
            q->owners = 1;
            pthread_mutex_lock(&q->lock);
            leave_question(q);
        }
        return NULL;
    }
    cmd->kind = CMD_CALL;
    cmd->lane = STRANGERS;
    cmd->fn = run_question;
    cmd->drop = drop_question;
    cmd->arg = q;
    (void)core_post(ctld, cmd); /* never refused: it is no request */
    return await_answer(q);
}
