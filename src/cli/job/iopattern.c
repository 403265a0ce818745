/* iopattern.c - file name patterns of srun's streams; see iopattern.h */
#include "cli/job/iopattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"

#define WIDTH_MAX 10

/* A backslash in front, or two of them anywhere, make a name of the pattern. */
static bool is_literal(const char *pattern)
{
    return *pattern == '\\' || strstr(pattern, "\\\\");
}

static char *without_backslashes(const char *pattern)
{
    char *text = xstrdup_or_die(pattern), *to = text;

    for (const char *p = pattern; *p; p++)
        if (*p != '\\')
            *to++ = *p;
    *to = '\0';
    return text;
}

bool iopattern_per_task(const char *pattern)
{
    if (is_literal(pattern))
        return false;
    while ((pattern = strchr(pattern, '%'))) {
        pattern++;
        pattern += strspn(pattern, "0123456789");
        if (*pattern && strchr("tnN", *pattern))
            return true;
        pattern += *pattern != '\0';
    }
    return false;
}

/* Appends the value of a letter; false when it is not ours. */
static bool add_value(struct strbuf *sb, char letter, int width, const struct iopattern *p)
{
    uint32_t task = p->has_array ? p->array_task_id : 0;

    switch (letter) {
    case '%':
        strbuf_addc(sb, '%');
        return true;
    case 'A':
        strbuf_addf(sb, "%0*u", width, p->has_array ? p->array_job_id : p->job_id);
        return true;
    case 'a':
        strbuf_addf(sb, "%0*u", width, task);
        return true;
    case 'b':
        strbuf_addf(sb, "%0*u", width, task % 10);
        return true;
    case 'J':
        strbuf_addf(sb, "%0*u.%u", width, p->job_id, p->step_id);
        return true;
    case 'j':
        strbuf_addf(sb, "%0*u", width, p->job_id);
        return true;
    case 's':
        strbuf_addf(sb, "%0*u", width, p->step_id);
        return true;
    case 'r':
        strbuf_addf(sb, "%0*u", width, p->restarts);
        return true;
    case 'S':
        strbuf_add(sb, p->sluid ? p->sluid : "");
        return true;
    case 'u':
        strbuf_add(sb, p->user ? p->user : "");
        return true;
    case 'x':
        strbuf_add(sb, p->job_name ? p->job_name : "");
        return true;
    default:
        return false;
    }
}

char *iopattern_expand(const char *pattern, const struct iopattern *names)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    if (is_literal(pattern))
        return without_backslashes(pattern);
    while (*pattern) {
        size_t digits;
        int width;

        if (*pattern != '%') {
            strbuf_addc(&sb, *pattern++);
            continue;
        }
        digits = strspn(pattern + 1, "0123456789");
        width = digits ? (int)MIN(strtoul(pattern + 1, NULL, 10), (unsigned long)WIDTH_MAX) : 0;
        if (pattern[1 + digits] && add_value(&sb, pattern[1 + digits], width, names)) {
            pattern += digits + 2;
        } else { /* not a pattern: kept as written */
            strbuf_addn(&sb, pattern, digits + 1);
            pattern += digits + 1;
        }
    }
    check_mem_or_die(strbuf_detach(&sb, &text));
    return text ? text : xstrdup_or_die("");
}
