/* simbar.c - see simbar.h */
#include "penstock/simbar.h"

#include <stdio.h>
#include <unistd.h>

#include "base/timefmt.h"

#define AFTER_US 500000
#define EVERY_US 100000
#define WIDTH 40

struct simbar simbar_begin(const char *label, const char *unit, bool quiet)
{
    return (struct simbar){
        .label = label, .unit = unit, .began_us = now_mono_us(), .wanted = !quiet && isatty(2)
    };
}

void simbar_progress(void *ctx, size_t done, size_t total)
{
    struct simbar *b = ctx;
    int64_t now = now_mono_us();
    size_t full = total ? done * WIDTH / total : WIDTH;

    if (!b->wanted || now - b->began_us < AFTER_US ||
        (now - b->drawn_us < EVERY_US && done < total))
        return;
    b->drawn_us = now;
    b->shown = true;
    (void)fprintf(stderr, "\r%-14s [", b->label);
    for (size_t i = 0; i < WIDTH; i++)
        (void)fputc(i < full ? '#' : '.', stderr);
    (void)fprintf(stderr, "] %3zu%% %zu of %zu %s", total ? done * 100 / total : 100, done, total,
                  b->unit);
    (void)fflush(stderr); /* a bar that does not show harms nothing */
}

void simbar_end(struct simbar *b)
{
    if (b->shown)
        (void)fputs("\n", stderr);
    b->shown = false;
}
