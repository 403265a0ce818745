/* label.c - output of many tasks onto one stream; see label.h.
 *
 * Only the unfinished line of a task is kept, so memory is bounded by tasks times LABEL_LINE_MAX
 * and in practice by what tasks leave unfinished. */
#include "cli/job/label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/base/cli.h"

struct part { /* an unfinished line */
    char *data;
    size_t len, cap;
    bool begun; /* its label and first bytes went out already */
};

struct label {
    enum label_mode mode;
    uint32_t tasks;
    int width;
    label_emit_fn *emit;
    void *ctx;
    struct part *parts; /* per task */
};

struct label *label_new(enum label_mode mode, uint32_t tasks, label_emit_fn *emit, void *ctx)
{
    struct label *l = xmalloc_or_die(sizeof(*l));

    *l = (struct label){ .mode = mode, .tasks = tasks, .emit = emit, .ctx = ctx };
    l->width = snprintf(NULL, 0, "%u", tasks ? tasks - 1 : 0);
    if (mode != LABEL_RAW)
        l->parts = xmalloc_or_die(((size_t)tasks + 1) * sizeof(*l->parts));
    return l;
}

struct label *label_free(struct label *l)
{
    if (!l)
        return NULL;
    for (uint32_t i = 0; l->parts && i < l->tasks; i++)
        free(l->parts[i].data);
    free(l->parts);
    free(l);
    return NULL;
}

static void put_label(struct label *l, uint32_t task)
{
    char text[24];

    if (l->mode == LABEL_TASKS)
        l->emit(l->ctx, text, (size_t)snprintf(text, sizeof(text), "%*u: ", l->width, task));
}

/* What is kept of the task's line, and its label if not yet out. */
static void put_kept(struct label *l, uint32_t task)
{
    struct part *p = &l->parts[task];

    if (!p->begun)
        put_label(l, task);
    if (p->len)
        l->emit(l->ctx, p->data, p->len);
    p->len = 0;
    p->begun = true;
}

static void keep_bytes(struct label *l, uint32_t task, const char *data, size_t n)
{
    struct part *p = &l->parts[task];

    if (p->len + n > LABEL_LINE_MAX) {
        put_kept(l, task);
        if (n > LABEL_LINE_MAX) {
            l->emit(l->ctx, data, n);
            return;
        }
    }
    if (p->len + n > p->cap) {
        p->cap = MAX(p->cap * 2, p->len + n);
        p->data = xrealloc_or_die(p->data, p->cap, 1);
    }
    memcpy(p->data + p->len, data, n);
    p->len += n;
}

/* Emit data up to the last newline: as one piece when no label is wanted. */
static void put_lines(struct label *l, uint32_t task, const char *data, size_t n)
{
    const char *end = data + n;

    put_kept(l, task);
    if (l->mode == LABEL_LINES) {
        l->emit(l->ctx, data, n);
    } else {
        for (bool first = true; data < end; first = false) {
            size_t line =
                (size_t)((const char *)memchr(data, '\n', (size_t)(end - data)) - data) + 1;

            if (!first)
                put_label(l, task);
            l->emit(l->ctx, data, line);
            data += line;
        }
    }
    l->parts[task].begun = false;
}

void label_data(struct label *l, uint32_t task, const char *data, size_t n)
{
    const char *last;
    size_t whole;

    if (task >= l->tasks || n == 0)
        return;
    if (l->mode == LABEL_RAW) {
        l->emit(l->ctx, data, n);
        return;
    }
    last = memrchr(data, '\n', n);
    whole = last ? (size_t)(last - data) + 1 : 0;
    if (whole)
        put_lines(l, task, data, whole);
    if (whole < n)
        keep_bytes(l, task, data + whole, n - whole);
}

void label_eof(struct label *l, uint32_t task)
{
    struct part *p;

    if (l->mode == LABEL_RAW || task >= l->tasks)
        return;
    p = &l->parts[task];
    if (p->len || p->begun) {
        put_kept(l, task);
        if (l->mode == LABEL_TASKS)
            l->emit(l->ctx, "\n", 1); /* the next label starts its own line */
    }
    free(p->data);
    *p = (struct part){ 0 };
}

void label_eof_all(struct label *l)
{
    for (uint32_t i = 0; i < l->tasks; i++)
        label_eof(l, i);
}
