/* h5samples.c - see h5samples.h */
#include "h5/h5samples.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define LINE_MAX_BYTES 1024u
#define TIMES                                                                                      \
    { "ElapsedTime", false },                                                                      \
    {                                                                                              \
        "EpochTime", false                                                                         \
    }

const struct h5_table h5_tables[H5_KINDS] = {
    [H5_TASK] = { "Task",
                  { TIMES,
                    { "CPUFrequency", false },
                    { "CPUTime", true },
                    { "CPUUtilization", true },
                    { "RSS", false },
                    { "VMSize", false },
                    { "Pages", false },
                    { "ReadMB", true },
                    { "WriteMB", true } },
                  10 },
    [H5_ENERGY] = { "Energy", { TIMES, { "Power", false } }, 3 },
    [H5_FILESYSTEM] = { "Filesystem",
                        { TIMES,
                          { "Reads", false },
                          { "ReadMB", true },
                          { "Writes", false },
                          { "WriteMB", true } },
                        6 },
    [H5_NETWORK] = { "Network",
                     { TIMES,
                       { "PacketsIn", false },
                       { "PacketsOut", false },
                       { "InMB", true },
                       { "OutMB", true } },
                     6 },
};

/* ---- a line ---------------------------------------------------------------------------------- */

struct sample {
    char name[24];
    enum h5_kind kind;
    uint32_t task;
    double value;
    int64_t ms;
};

static bool read_task(const char *text, struct sample *to)
{
    uint64_t rank;

    for (unsigned k = H5_ENERGY; k < H5_KINDS; k++)
        if (strcmp(text, h5_tables[k].name) == 0) {
            to->kind = k;
            return true;
        }
    to->kind = H5_TASK;
    if (parse_u64(text, 0, UINT32_MAX, &rank) < 0)
        return false;
    to->task = (uint32_t)rank;
    return true;
}

/* "CPUTime,job=7,step=0,task=1,host=n1 value=0.98 1700000000123" */
static bool read_line(const char *text, size_t len, struct sample *ret)
{
    char line[LINE_MAX_BYTES], task[16];
    const char *tag, *rest;
    struct sample s = { 0 };
    int used = -1;
    long long ms;

    if (len >= sizeof(line))
        return false;
    memcpy(line, text, len);
    line[len] = '\0';
    tag = strstr(line, ",task=");
    rest = strchr(line, ' ');
    if (strlen(line) != len || !tag || !rest || rest < tag ||
        sscanf(line, "%23[A-Za-z],", s.name) != 1 ||
        sscanf(tag, ",task=%15[A-Za-z0-9]", task) != 1 ||
        sscanf(rest, " value=%lf %18lld%n", &s.value, &ms, &used) != 2 || used < 0 || rest[used] ||
        !isfinite(s.value) || ms < 0 || !read_task(task, &s))
        return false;
    s.ms = ms;
    *ret = s;
    return true;
}

/* ---- series ---------------------------------------------------------------------------------- */

static struct h5_series *add_series(struct h5_samples *s, enum h5_kind kind, uint32_t task)
{
    if (s->n == s->room) {
        size_t room = s->room ? s->room * 2 : 8;
        struct h5_series *more = reallocarray(s->series, room, sizeof(*more));

        if (!more) {
            s->failed = true;
            return NULL;
        }
        s->series = more;
        s->room = room;
    }
    s->last = s->n++;
    s->series[s->last] = (struct h5_series){ .kind = kind, .task = task };
    return &s->series[s->last];
}

/* Lines of a series stand together, and series come in the same order in each sample. */
static struct h5_series *find_series(struct h5_samples *s, enum h5_kind kind, uint32_t task)
{
    for (size_t i = 0; i < s->n; i++) {
        size_t at = (s->last + i) % s->n;

        if (s->series[at].kind == kind && (kind != H5_TASK || s->series[at].task == task)) {
            s->last = at;
            return &s->series[at];
        }
    }
    return s->n < H5_SERIES_MAX ? add_series(s, kind, task) : NULL;
}

static void end_row(struct h5_samples *s, struct h5_series *x)
{
    size_t n = h5_tables[x->kind].n;

    if (!x->seen)
        return;
    if (x->rows == x->room) {
        size_t room = x->room ? x->room + x->room / 2 : 16;
        union h5_cell *more = reallocarray(x->cells, room, n * sizeof(*more));

        if (!more) {
            s->failed = true;
            return;
        }
        x->cells = more;
        x->room = room;
    }
    x->now[H5_COLUMN_ELAPSED].count = (uint64_t)(MAX(x->ms - s->first_ms, 0) / 1000);
    x->now[H5_COLUMN_EPOCH].count = (uint64_t)(x->ms / 1000);
    memcpy(x->cells + x->rows++ * n, x->now, n * sizeof(*x->now));
    memset(x->now, 0, sizeof(x->now));
    x->seen = 0;
}

static int find_column(enum h5_kind kind, const char *name)
{
    const struct h5_table *t = &h5_tables[kind];

    for (size_t i = H5_COLUMN_EPOCH + 1; i < t->n; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

static uint64_t whole_number(double value)
{
    return value <= 0 ? 0 : value >= 9e18 ? (uint64_t)9e18 : (uint64_t)(value + 0.5);
}

static void add_sample(struct h5_samples *s, const struct sample *x)
{
    int column = find_column(x->kind, x->name);
    struct h5_series *to = column < 0 ? NULL : find_series(s, x->kind, x->task);

    if (!to)
        return;
    if (!s->begun) {
        s->begun = true;
        s->first_ms = x->ms;
    }
    if (to->ms != x->ms || (to->seen & 1u << column))
        end_row(s, to);
    to->ms = x->ms;
    to->seen |= 1u << column;
    if (h5_tables[x->kind].columns[column].real)
        to->now[column].real = x->value;
    else
        to->now[column].count = whole_number(x->value);
}

int h5samples_add(struct h5_samples *s, const char *text, size_t len)
{
    const char *end = text + len, *stop;
    struct sample x;

    for (; !s->failed && (stop = memchr(text, '\n', (size_t)(end - text))); text = stop + 1)
        if (read_line(text, (size_t)(stop - text), &x))
            add_sample(s, &x);
    return s->failed ? -ENOMEM : 0;
}

int h5samples_end(struct h5_samples *s)
{
    for (size_t i = 0; i < s->n; i++)
        end_row(s, &s->series[i]);
    return s->failed ? -ENOMEM : 0;
}

void h5samples_done(struct h5_samples *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->series[i].cells);
    free(s->series);
    *s = (struct h5_samples){ 0 };
}
