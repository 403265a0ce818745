/* processonce.c - see processonce.h
 *
 * Owns the list of the process's objects.  An entry never changes once it is in the list, and is
 * never taken out: readers need no lock. */
#include "base/processonce.h"

#include <pthread.h>
#include <stdlib.h>

struct made {
    struct made *next;
    processonce_fn *make;
    const void *object;
};

static struct {
    pthread_mutex_t lock; /* held while an object is made, which may ask for another */
    struct made *_Atomic first;
} objects = { .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP };

static const struct made *find_made(processonce_fn *make)
{
    for (const struct made *m = objects.first; m; m = m->next)
        if (m->make == make)
            return m;
    return NULL;
}

static const struct made *make_object(processonce_fn *make)
{
    struct made *m = malloc(sizeof(*m));

    if (!m)
        return NULL; /* nothing was made: the next call tries again */
    m->make = make;
    m->object = make();
    m->next = objects.first; /* after make(), which may have added others */
    objects.first = m;
    return m;
}

const void *processonce(processonce_fn *make)
{
    const struct made *m = find_made(make);

    if (!m) {
        (void)pthread_mutex_lock(&objects.lock); /* fails for a broken mutex only, as the next */
        m = find_made(make);
        if (!m)
            m = make_object(make);
        (void)pthread_mutex_unlock(&objects.lock);
    }
    return m ? m->object : NULL;
}
