/* conf_problem.c - the list of the mistakes in a configuration.
 *
 * Problems are noted in the order they are found.  The list belongs to the caller of conf_load();
 * file names and texts in it are copies.  Text from the files is shown without control characters.
 */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void make_printable(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
    }
}

static void append_problem(struct conf_problems *list, const char *file, unsigned line, bool error,
                           bool wrong, const char *text)
{
    _cleanup_free_ char *file_copy = strdup(file), *text_copy = strdup(text);
    struct conf_problem *items;

    if (!file_copy || !text_copy)
        return;
    items = reallocarray(list->items, list->n + 1, sizeof(*items));
    if (!items)
        return;
    list->items = items;
    items[list->n++] = (struct conf_problem){ .file = TAKE_PTR(file_copy),
                                              .line = line,
                                              .error = error,
                                              .wrong = wrong,
                                              .text = TAKE_PTR(text_copy) };
}

static void note_problem(struct conf_loader *l, const char *file, unsigned line, bool error,
                         bool wrong, const char *fmt, va_list ap)
{
    char text[ERR_TEXT_MAX];

    if (!error && !l->problems)
        return;
    (void)vsnprintf(text, sizeof(text), fmt, ap); /* cut when too long */
    make_printable(text);
    if (error && l->nerrors++ == 0) {
        if (line)
            err_set(l->err, 0, "%s:%u: %s", file, line, text);
        else
            err_set(l->err, 0, "%s: %s", file, text);
    }
    if (l->problems && l->problems->n < CONF_MAX_PROBLEMS)
        append_problem(l->problems, file, line, error, wrong, text);
}

void conf_error(struct conf_loader *l, const char *file, unsigned line, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    note_problem(l, file, line, true, false, fmt, ap);
    va_end(ap);
}

void conf_warn(struct conf_loader *l, const char *file, unsigned line, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    note_problem(l, file, line, false, false, fmt, ap);
    va_end(ap);
}

void conf_wrong(struct conf_loader *l, const char *file, unsigned line, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    note_problem(l, file, line, false, true, fmt, ap);
    va_end(ap);
}

void conf_problems_done(struct conf_problems *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->items[i].file);
        free(p->items[i].text);
    }
    free(p->items);
    *p = (struct conf_problems){ 0 };
}

void conf_report(FILE *f, const struct conf_problems *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct conf_problem *item = &p->items[i];
        const char *kind = item->error || item->wrong ? "error" : "warning";

        if (item->line)
            (void)fprintf(f, "%s:%u: %s: %s\n", item->file, item->line, kind, item->text);
        else
            (void)fprintf(f, "%s: %s: %s\n", item->file, kind, item->text);
    }
}
