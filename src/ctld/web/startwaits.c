/* startwaits.c - how long jobs waited for their start, by partition */
#include "ctld/web/startwaits.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/tables/idmap.h"

struct wait_row {
    struct wait_row *next;
    char *partition;
    struct histogram waits;
};

struct startwaits {
    pthread_mutex_t lock; /* of what follows; a row stays where it is */
    struct namemap by_name;
    struct wait_row *first, **end;
};

int startwaits_new(struct startwaits **ret)
{
    struct startwaits *w = calloc(1, sizeof(*w));

    if (!w)
        return -ENOMEM;
    pthread_mutex_init(&w->lock, NULL);
    w->end = &w->first;
    *ret = w;
    return 0;
}

struct startwaits *startwaits_free(struct startwaits *w)
{
    if (!w)
        return NULL;
    while (w->first) {
        struct wait_row *row = w->first;

        w->first = row->next;
        free(row->partition);
        free(row);
    }
    namemap_done(&w->by_name);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

/* The row of a partition; NULL: there are too many, or no memory.  Under the lock. */
static struct wait_row *find_row(struct startwaits *w, const char *partition)
{
    struct wait_row *row = namemap_get(&w->by_name, partition);

    if (row || w->by_name.count >= STARTWAITS_MAX)
        return row;
    row = calloc(1, sizeof(*row));
    if (row)
        row->partition = strdup(partition);
    if (!row || !row->partition || namemap_put(&w->by_name, row->partition, row) < 0) {
        if (row)
            free(row->partition);
        free(row);
        return NULL;
    }
    *w->end = row;
    w->end = &row->next;
    return row;
}

void startwaits_note(struct startwaits *w, const char *partition, uint64_t wait_us)
{
    struct wait_row *row;

    pthread_mutex_lock(&w->lock);
    row = find_row(w, partition);
    if (row)
        histogram_add(&row->waits, wait_us);
    pthread_mutex_unlock(&w->lock);
}

void startwaits_each(struct startwaits *w,
                     void (*fn)(void *ctx, const char *partition, const struct histogram *h),
                     void *ctx)
{
    pthread_mutex_lock(&w->lock);
    for (const struct wait_row *row = w->first; row; row = row->next)
        fn(ctx, row->partition, &row->waits);
    pthread_mutex_unlock(&w->lock);
}
