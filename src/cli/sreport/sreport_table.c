/* sreport_table.c - columns, titles and times of sreport; see sreport.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/sreport/sreport.h"

#define RULE "--------------------------------------------------------------------------------"
#define CELL 512

static const struct column *find_column(const struct column *all, size_t n, const char *name,
                                        size_t len)
{
    const struct column *found = NULL;

    for (size_t i = 0; i < n; i++) {
        if (!len || strncasecmp(all[i].name, name, len) != 0)
            continue;
        if (!found || strlen(all[i].name) == len) /* the whole name wins */
            found = &all[i];
    }
    return found;
}

/* The width behind %, [p, p + len); false: it is none. */
static bool read_width(const char *p, size_t len, int *ret)
{
    char text[16];
    int64_t width;

    (void)snprintf(text, sizeof(text), "%.*s", (int)len, p); /* cut: too large */
    if (parse_i64(text, -1000, 1000, &width) < 0 || !width)
        return false;
    *ret = (int)width;
    return true;
}

static bool refuse_field(struct table *t, const char *field, size_t len)
{
    t->unknown = field;
    t->unknown_len = len;
    return false;
}

/* One field of so many bytes, "NAME" or "NAME%WIDTH". */
static bool add_field(struct table *t, const struct column *all, size_t n, const char *field,
                      size_t len)
{
    size_t name = MIN(strcspn(field, "%"), len);
    const struct column *c = find_column(all, n, field, name);

    if (!c || t->n == ARRAY_SIZE(t->columns))
        return refuse_field(t, field, name);
    t->columns[t->n] = *c;
    if (name < len && !read_width(field + name + 1, len - name - 1, &t->columns[t->n].width))
        return refuse_field(t, field, len);
    t->n++;
    return true;
}

void table_init(struct table *t, const struct sreport *s, const struct column *all, size_t n,
                const char *format)
{
    *t = (struct table){ .s = s };
    if (!*format) /* the field without a name */
        (void)refuse_field(t, format, 0);
    while (*format) {
        size_t len = strcspn(format, ",");

        if (!add_field(t, all, n, format, len))
            return;
        format += len;
        format += *format == ',';
    }
}

static void put_cell(const struct table *t, size_t i, const char *text, bool header)
{
    int width = abs(t->columns[i].width);
    char cut[CELL];

    if (t->s->parsable) {
        (void)printf("%s%s", text, i + 1 < t->n || t->s->parsable == 1 ? "|" : "");
        return;
    }
    (void)snprintf(cut, sizeof(cut), "%s", text);
    if (strlen(cut) > (size_t)width) {
        cut[width] = '\0';
        if (!header)
            cut[width - 1] = '+';
    }
    (void)printf(t->columns[i].width < 0 ? "%-*s " : "%*s ", width, cut);
}

static void put_header(const struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        put_cell(t, i, t->columns[i].header, true);
    (void)printf("\n");
    for (size_t i = 0; i < t->n && !t->s->parsable; i++)
        (void)printf("%.*s ", MIN(abs(t->columns[i].width), (int)strlen(RULE)), RULE);
    if (!t->s->parsable)
        (void)printf("\n");
}

/* What stands before a field that is not there is shown. */
void table_header(const struct table *t)
{
    if (!t->s->noheader && t->n)
        put_header(t);
    if (!t->unknown)
        return;
    (void)fflush(stdout);
    (void)fprintf(stderr, " Unknown field '%.*s'\n", (int)t->unknown_len, t->unknown);
    exit(CLI_EXIT_FAILED);
}

void table_row(const struct table *t, table_put_fn *put, void *ctx)
{
    for (size_t i = 0; i < t->n; i++) {
        char text[CELL] = "";

        put(ctx, t->columns[i].id, text, sizeof(text));
        put_cell(t, i, text, false);
    }
    (void)printf("\n");
}

int table_time_width(const struct sreport *s)
{
    return s->form >= FORM_SECS_PER ? 17 : 8;
}

void table_time(const struct sreport *s, uint64_t secs, uint64_t whole, char *buf, size_t size)
{
    double share = whole ? (double)secs / (double)whole * 100 : 0;

    switch (s->form) {
    case FORM_SECS:
        (void)snprintf(buf, size, "%llu", (unsigned long long)secs);
        break;
    case FORM_MINS:
        (void)snprintf(buf, size, "%.0f", (double)secs / 60);
        break;
    case FORM_HOURS:
        (void)snprintf(buf, size, "%.0f", (double)secs / 3600);
        break;
    case FORM_PERCENT:
        (void)snprintf(buf, size, "%.2f%%", share);
        break;
    case FORM_SECS_PER:
        (void)snprintf(buf, size, "%llu(%.2f%%)", (unsigned long long)secs, share);
        break;
    case FORM_MINS_PER:
        (void)snprintf(buf, size, "%.0f(%.2f%%)", (double)secs / 60, share);
        break;
    case FORM_HOURS_PER:
        (void)snprintf(buf, size, "%.0f(%.2f%%)", (double)secs / 3600, share);
        break;
    }
}

static const char *unit_words(enum time_form form)
{
    static const char *const words[] = {
        [FORM_SECS] = "Seconds",
        [FORM_MINS] = "Minutes",
        [FORM_HOURS] = "Hours",
        [FORM_PERCENT] = "Percentage of Total",
        [FORM_SECS_PER] = "Seconds/Percentage of Total",
        [FORM_MINS_PER] = "Minutes/Percentage of Total",
        [FORM_HOURS_PER] = "Hours/Percentage of Total",
    };

    return words[form];
}

void table_title(const struct sreport *s, const struct cond *c, const char *title, bool secs,
                 const char *extra)
{
    char start[32], end[32];

    if (s->noheader)
        return;
    time_fmt_stamp(c->request.start_s * USEC_PER_SEC, "", 0, start, sizeof(start));
    time_fmt_stamp((c->request.end_s - 1) * USEC_PER_SEC, "", 0, end, sizeof(end));
    (void)printf("%s\n%s %s - %s", RULE, title, start, end);
    if (secs)
        (void)printf(" (%lld secs)", (long long)(c->request.end_s - c->request.start_s));
    (void)printf("\n");
    if (!extra)
        (void)printf("Usage reported in %s%s\n",
                     s->form == FORM_PERCENT ? ""
                     : s->tres               ? "TRES "
                                             : "CPU ",
                     unit_words(s->form));
    else if (strcmp(extra, "TRES") == 0)
        (void)printf("Usage reported in %s%s\n", s->form == FORM_PERCENT ? "" : "TRES ",
                     unit_words(s->form));
    else if (strcmp(extra, "Time") == 0)
        (void)printf("%s%s%sTime reported in %s\n", s->tres ? "TRES type is " : "",
                     s->tres ? s->tres : "", s->tres ? "\n" : "", unit_words(s->form));
    else
        (void)printf("%s\n", extra);
    (void)printf("%s\n", RULE);
}
