/* userstat.c - see userstat.h */
#include "ctld/front/userstat.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "model/tables/idmap.h"
#include "model/tx.h"

struct counted {
    uid_t uid;
    uint64_t count, total_us;
};

struct userstat {
    pthread_mutex_t lock;
    struct idmap users; /* struct counted, owned, by uid + 1: 0 is no key */
};

int userstat_new(struct userstat **ret)
{
    struct userstat *us = calloc(1, sizeof(*us));

    if (!us)
        return -ENOMEM;
    pthread_mutex_init(&us->lock, NULL);
    *ret = us;
    return 0;
}

static void forget_all(struct userstat *us)
{
    struct counted *u;

    for (size_t pos = 0; (u = idmap_next(&us->users, &pos));)
        free(u);
    idmap_done(&us->users);
    us->users = (struct idmap){ 0 };
}

struct userstat *userstat_free(struct userstat *us)
{
    if (!us)
        return NULL;
    forget_all(us);
    pthread_mutex_destroy(&us->lock);
    free(us);
    return NULL;
}

/* NULL: out of memory, or too many users. */
static struct counted *counted_of(struct userstat *us, uid_t uid)
{
    struct counted *u = idmap_get(&us->users, (uint64_t)uid + 1);

    if (u || us->users.count >= USERSTAT_MAX)
        return u;
    u = calloc(1, sizeof(*u));
    if (!u)
        return NULL;
    u->uid = uid;
    if (idmap_put(&us->users, (uint64_t)uid + 1, u) < 0) {
        free(u);
        return NULL;
    }
    return u;
}

void userstat_count(struct userstat *us, uid_t uid, int64_t elapsed_us)
{
    struct counted *u;

    pthread_mutex_lock(&us->lock);
    u = counted_of(us, uid);
    if (u) {
        u->count++;
        u->total_us += (uint64_t)elapsed_us;
    }
    pthread_mutex_unlock(&us->lock);
}

static Pst__UserStat **list_users(const struct userstat *us)
{
    size_t n = us->users.count, pos = 0;
    Pst__UserStat **list = malloc(n * (sizeof(*list) + sizeof(**list)));
    Pst__UserStat *records = (Pst__UserStat *)(list + n);
    const struct counted *u;

    for (size_t i = 0; list && (u = idmap_next(&us->users, &pos)); i++) {
        list[i] = &records[i];
        pst__user_stat__init(list[i]);
        SET(list[i], uid, u->uid);
        SET(list[i], count, u->count);
        SET(list[i], total_us, u->total_us);
    }
    return list;
}

ssize_t userstat_fill(struct userstat *us, Pst__UserStat ***ret_list, bool reset)
{
    ssize_t n;

    *ret_list = NULL;
    pthread_mutex_lock(&us->lock);
    n = (ssize_t)us->users.count;
    if (n)
        *ret_list = list_users(us);
    if (n && !*ret_list)
        n = -ENOMEM;
    else if (reset)
        forget_all(us);
    pthread_mutex_unlock(&us->lock);
    return n;
}
