/* failpoint.c - named fault injection points; see failpoint.h.
 *
 * Owns one process-wide table, guarded by `lock`.  `armed` lets the unarmed case leave without it.
 */
#include "base/process/failpoint.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_LEN 63

struct point {
    char name[NAME_MAX_LEN + 1];
    uint64_t nth;    /* strikes at this pass, from 1 */
    uint64_t passes; /* so far */
    bool onwards;    /* and at every later one */
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    atomic_bool armed;
    struct point points[FAILPOINT_MAX];
    size_t n_points;
} table = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

/* Read one `name:N[+]` of len bytes; a malformed one is ignored: only tests write them. */
static void add_point(const char *text, size_t len)
{
    const char *colon = memchr(text, ':', len);
    struct point *p = &table.points[table.n_points];
    char *end;

    if (!colon || colon == text || (size_t)(colon - text) > NAME_MAX_LEN ||
        table.n_points == FAILPOINT_MAX)
        return;
    *p = (struct point){ .nth = strtoull(colon + 1, &end, 10) };
    p->onwards = *end == '+';
    memcpy(p->name, text, (size_t)(colon - text));
    if (p->nth > 0)
        table.n_points++;
}

static void load_points(const char *spec)
{
    (void)pthread_mutex_lock(&table.lock);
    table.n_points = 0;
    while (spec && *spec) {
        size_t len = strcspn(spec, ",");

        add_point(spec, len);
        spec += len + (spec[len] == ',');
    }
    atomic_store(&table.armed, table.n_points > 0);
    (void)pthread_mutex_unlock(&table.lock);
}

static void load_environment(void)
{
    load_points(secure_getenv(FAILPOINT_ENV));
}

void failpoint_arm(const char *spec)
{
    (void)pthread_once(&table.once, load_environment);
    load_points(spec);
}

bool failpoint(const char *name)
{
    bool strikes = false;

    (void)pthread_once(&table.once, load_environment);
    if (!atomic_load_explicit(&table.armed, memory_order_relaxed))
        return false;
    (void)pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.n_points; i++) {
        struct point *p = &table.points[i];

        if (strcmp(p->name, name) != 0)
            continue;
        p->passes++;
        if (p->passes == p->nth || (p->onwards && p->passes > p->nth))
            strikes = true;
    }
    (void)pthread_mutex_unlock(&table.lock);
    return strikes;
}

void failpoint_crash(const char *name)
{
    if (failpoint(name))
        _exit(FAILPOINT_EXIT);
}
