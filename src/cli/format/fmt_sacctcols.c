/* fmt_sacctcols.c - the columns of sacct and sstat: --format, headings, lines; see fmt_sacct.h */
#include "cli/format/fmt_sacct.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/format/fmt_core.h"

#define HELP_COLUMNS 4u

static const struct sacct_table *table_of(const struct sacct_fmt *f)
{
    return f->table ? f->table : &sacct_table;
}

static const struct sacct_field *find_field(const struct sacct_table *t, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < t->n; i++)
        if (strcasecmp(t->fields[i].name, name) == 0)
            return &t->fields[i];
    for (size_t i = 0; len && i < t->n; i++)
        if (strncasecmp(t->fields[i].name, name, len) == 0)
            return &t->fields[i];
    return NULL;
}

static int add_col(struct sacct_fmt *f, const struct sacct_field *field, int width)
{
    struct sacct_col *cols = reallocarray(f->cols, f->n + 1, sizeof(*cols));

    if (!cols)
        return -ENOMEM;
    f->cols = cols;
    cols[f->n++] = (struct sacct_col){ field, width };
    return 0;
}

/* As far as it is a number; none, or one that no line has room for, is a width of 0. */
static int width_of(const char *text)
{
    long width = strtol(text, NULL, 10);

    return width > SACCT_WIDTH_MAX || width < -SACCT_WIDTH_MAX ? 0 : (int)width;
}

static int parse_column(struct sacct_fmt *f, char *item, struct err *err)
{
    char *percent = strchr(item, '%');
    const struct sacct_table *t = table_of(f);
    const struct sacct_field *field;
    int r = 0;

    if (percent)
        *percent = '\0';
    if (strcasecmp(item, "ALL") == 0) {
        for (size_t i = 0; r == 0 && i < t->n; i++)
            r = add_col(f, &t->fields[i], t->fields[i].width);
        return r;
    }
    field = find_field(t, item);
    if (!field && strcasecmp(item, "AllocGRES") == 0)
        cli_fatal("AllocGRES has been removed, please use AllocTRES");
    if (!field && strcasecmp(item, "ReqGRES") == 0)
        cli_fatal("ReqGRES has been removed, please use ReqTRES");
    if (!field)
        return err_set(err, -EINVAL, "Invalid field requested: \"%s\"", item);
    return add_col(f, field, percent ? width_of(percent + 1) : field->width);
}

int sacct_fmt_parse(struct sacct_fmt *f, const char *spec, struct err *err)
{
    while (*spec) {
        size_t len = strcspn(spec, ", ");
        _cleanup_free_ char *item = strndup(spec, len);
        int r;

        if (!item)
            return -ENOMEM;
        r = *item ? parse_column(f, item, err) : 0;
        if (r < 0)
            return r;
        spec += len + (spec[len] != '\0');
    }
    return 0;
}

void sacct_fmt_done(struct sacct_fmt *f)
{
    free(f->cols);
    f->cols = NULL;
    f->n = 0;
}

/* Finish the cell that starts at `start`. */
static void end_cell(const struct sacct_fmt *f, size_t i, struct strbuf *out, size_t start,
                     bool heading)
{
    int width = f->cols[i].width;
    unsigned size = (unsigned)abs(width);

    if (f->style != SACCT_FIXED) {
        if (f->style == SACCT_PARSABLE || i + 1 < f->n)
            strbuf_add(out, f->delimiter);
        return;
    }
    if (!heading && out->len - start > size && f->cols[i].field->wide == SACCT_WHOLE) {
        strbuf_addc(out, ' ');
        return;
    }
    if (!size && !out->failed) { /* nothing but the blank behind it */
        out->len = start;
        strbuf_addc(out, ' ');
        return;
    }
    if (out->len - start > size && !out->failed) {
        fmt_justify(out, start, size, false);
        if (f->cols[i].field->wide == SACCT_PLUS)
            out->buf[out->len - 1] = '+';
    }
    fmt_justify(out, start, size, width > 0);
    strbuf_addc(out, ' ');
}

void sacct_fmt_header(const struct sacct_fmt *f, struct strbuf *out)
{
    for (size_t i = 0; i < f->n; i++) {
        size_t start = out->len;

        strbuf_add(out, f->cols[i].field->name);
        if (f->style == SACCT_FIXED) /* names are cut without a plus */
            fmt_justify(out, start, (unsigned)abs(f->cols[i].width), f->cols[i].width > 0);
        end_cell(f, i, out, start, true);
    }
    strbuf_addc(out, '\n');
    if (f->style != SACCT_FIXED)
        return;
    for (size_t i = 0; i < f->n; i++) {
        strbuf_pad(out, '-', (size_t)abs(f->cols[i].width));
        strbuf_addc(out, ' ');
    }
    strbuf_addc(out, '\n');
}

void sacct_fmt_row(const struct sacct_fmt *f, const struct sacct_row *r, struct strbuf *out)
{
    for (size_t i = 0; i < f->n; i++) {
        size_t start = out->len;

        if (f->cols[i].field->put)
            f->cols[i].field->put(out, r);
        end_cell(f, i, out, start, false);
    }
    strbuf_addc(out, '\n');
}

void sacct_fmt_help(const struct sacct_table *t, struct strbuf *out)
{
    for (size_t i = 0; i < t->n; i++) {
        bool last = i % HELP_COLUMNS == HELP_COLUMNS - 1 || i + 1 == t->n;

        strbuf_addf(out, "%-19s%c", t->fields[i].name, last ? '\n' : ' ');
    }
}
