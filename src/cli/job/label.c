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
    bool begun; /* first bytes of the line went out already */
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

    l->emit(l->ctx, text, (size_t)snprintf(text, sizeof(text), "%*u: ", l->width, task));
}

/* A line, or a piece of one, with a label and an end of its own. */
static void put_piece(struct label *l, uint32_t task, const char *data, size_t n)
{
    put_label(l, task);
    l->emit(l->ctx, data, n);
    l->emit(l->ctx, "\n", 1);
}

/* Labels: a long line comes in pieces, each with its label; without buffering so does whatever has
 * arrived. */
static void label_pieces(struct label *l, uint32_t task, const char *data, size_t n)
{
    struct part *p = &l->parts[task];

    if (p->begun && *data == '\n') { /* the end of a line that was as long as its piece */
        data++;
        n--;
    }
    p->begun = false;
    while (n > 0) {
        size_t room = LABEL_PIECE - p->len, line = MIN(n, room);
        const char *eol = memchr(data, '\n', line);
        bool end = eol || line == room;

        if (eol)
            line = (size_t)(eol - data);
        if (p->len + line > p->cap) {
            p->cap = MAX(p->cap * 2, p->len + line);
            p->data = xrealloc_or_die(p->data, p->cap, 1);
        }
        if (line)
            memcpy(p->data + p->len, data, line);
        p->len += line;
        data += line + (eol != NULL);
        n -= line + (eol != NULL);
        p->begun = false;
        if (!end && l->mode != LABEL_PIECES)
            continue; /* the rest of the line is to come */
        put_piece(l, task, p->data ? p->data : "", p->len);
        p->len = 0;
        p->begun = !eol && end;
        if (p->begun && n > 0 && *data == '\n') {
            data++;
            n--;
            p->begun = false;
        }
    }
}

/* What is kept of the task's line. */
static void put_kept(struct label *l, uint32_t task)
{
    struct part *p = &l->parts[task];

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

/* Emit data up to the last newline as one piece: no label is wanted. */
static void put_lines(struct label *l, uint32_t task, const char *data, size_t n)
{
    put_kept(l, task);
    l->emit(l->ctx, data, n);
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
    if (l->mode != LABEL_LINES) {
        label_pieces(l, task, data, n);
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
    if (l->mode != LABEL_LINES && p->len)
        put_piece(l, task, p->data, p->len); /* the next label starts its own line */
    else if (l->mode == LABEL_LINES && (p->len || p->begun))
        put_kept(l, task);
    free(p->data);
    *p = (struct part){ 0 };
}

void label_eof_all(struct label *l)
{
    for (uint32_t i = 0; i < l->tasks; i++)
        label_eof(l, i);
}
