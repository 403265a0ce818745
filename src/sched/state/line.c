/* line.c - the running jobs in the order of their ends */
#include "sched/state/line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/sched_obj.h"

static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t kept_number(const struct job *j)
{
    return mix_bits((uint64_t)j->id << 32 | j->taken);
}

static int by_end(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    if (x->end_us != y->end_us)
        return x->end_us < y->end_us ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int line_reserve(struct sched *s, uint32_t n)
{
    struct job **grown;
    uint32_t cap = MAX(s->cap_line, 64u);

    if (n <= s->cap_line)
        return 0;
    while (cap < n)
        cap *= 2;
    grown = realloc(s->line, cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->line = grown;
    s->cap_line = cap;
    return 0;
}

int line_make(struct sched *s)
{
    struct holders_iter it = { 0 };
    int r = line_reserve(s, s->nholding);

    if (r < 0)
        return r;
    s->nline = s->line_at = 0;
    s->line_beyond = 0;
    for (struct job *j; (j = holders_next(s, &it));)
        if (j->end_us != INT64_MAX)
            s->line[s->nline++] = j;
        else
            s->line_beyond += kept_number(j);
    if (s->nline > 1)
        qsort(s->line, s->nline, sizeof(*s->line), by_end);
    s->line_made = true;
    return 0;
}

int line_room(struct sched *s)
{
    return s->line_made ? line_reserve(s, s->nline + 1) : 0;
}

void line_add(struct sched *s, struct job *j)
{
    uint32_t lo = 0, hi = s->nline;

    if (s->line_made && j->end_us == INT64_MAX)
        s->line_beyond += kept_number(j);
    if (!s->line_made || j->end_us == INT64_MAX)
        return;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (by_end(&s->line[mid], &j) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    memmove(s->line + lo + 1, s->line + lo, (s->nline - lo) * sizeof(*s->line));
    s->line[lo] = j;
    s->nline++;
}

void line_drop(struct sched *s)
{
    s->line_made = false;
    s->nline = 0;
}
