/* label.h - output of many tasks onto one stream without tearing lines
 *
 * Data of tasks goes in by chunks; whole lines come out, with `N: ` before each when labelled.  A
 * line longer than LABEL_LINE_MAX is passed on in parts; a labelled one of more than LABEL_PIECE
 * bytes becomes several lines with labels.  Pure but for the emit callback. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABEL_LINE_MAX 65536u
#define LABEL_PIECE 1024u

struct label;

/* Take n bytes of finished output. */
typedef void label_emit_fn(void *ctx, const char *data, size_t n);

enum label_mode {
    LABEL_RAW,    /* as it comes */
    LABEL_LINES,  /* whole lines */
    LABEL_TASKS,  /* whole lines, each after its task's number */
    LABEL_PIECES, /* what has arrived at once, as lines with the task's number */
};

/* tasks: how many there are; numbers are right-aligned to the width of the largest. */
struct label *label_new(enum label_mode mode, uint32_t tasks, label_emit_fn *emit, void *ctx);
struct label *label_free(struct label *l); /* always NULL */

/* task < tasks (others are ignored: they come from outside). */
void label_data(struct label *l, uint32_t task, const char *data, size_t n);
/* The task's stream is over: what is left of a line goes out. */
void label_eof(struct label *l, uint32_t task);
void label_eof_all(struct label *l);
