/* asking.c - questions under way, by user; see asking.h. */
#include "ctld/core/asking.h"
#include "ctld/core/service.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/tables/idmap.h"

struct asking {
    pthread_mutex_t lock;
    struct idmap users;   /* uid -> questions under way, as a number */
    struct idmap tickets; /* ticket -> lane of the user, plus one: put, not answered; core thread */
};

int asking_new(struct asking **ret)
{
    struct asking *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    *ret = a;
    return 0;
}

struct asking *asking_free(struct asking *a)
{
    if (!a)
        return NULL;
    pthread_mutex_destroy(&a->lock);
    idmap_done(&a->users);
    idmap_done(&a->tickets);
    free(a);
    return NULL;
}

bool asking_begin(struct asking *a, uid_t lane)
{
    uintptr_t n;
    bool may;

    if (!lane)
        return true;
    pthread_mutex_lock(&a->lock);
    n = (uintptr_t)idmap_get(&a->users, lane);
    may = n < ASKING_MAX && idmap_put(&a->users, lane, (void *)(n + 1)) == 0;
    pthread_mutex_unlock(&a->lock);
    return may;
}

void asking_end(struct asking *a, uid_t lane)
{
    uintptr_t n;

    if (!lane)
        return;
    pthread_mutex_lock(&a->lock);
    n = (uintptr_t)idmap_get(&a->users, lane);
    if (n > 1)
        (void)idmap_put(&a->users, lane, (void *)(n - 1)); /* cannot fail: it replaces */
    else
        (void)idmap_remove(&a->users, lane);
    pthread_mutex_unlock(&a->lock);
}

bool asking_admit(struct ctld *ctld, const struct cmd *cmd)
{
    if (asking_begin(ctld->asking, cmd->lane))
        return true;
    core_error(ctld, cmd, SLURMCTLD_COMMUNICATIONS_BACKOFF, NULL);
    return false;
}

int asking_note(struct asking *a, uint64_t ticket, uid_t lane)
{
    return idmap_put(&a->tickets, ticket, (void *)((uintptr_t)lane + 1));
}

void asking_answered(struct asking *a, uint64_t ticket)
{
    uintptr_t lane = (uintptr_t)idmap_remove(&a->tickets, ticket);

    if (lane)
        asking_end(a, (uid_t)(lane - 1));
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_asking(struct ctld *ctld, struct err *err)
{
    (void)err;
    return asking_new(&ctld->asking);
}

static void free_asking(struct ctld *ctld)
{
    ctld->asking = asking_free(ctld->asking);
}

const struct ctld_service asking_service = {
    .name = "asking",
    .start = start_asking,
    .free = free_asking,
};
