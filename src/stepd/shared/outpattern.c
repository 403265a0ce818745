/* outpattern.c - see outpattern.h
 *
 * Pure functions; any thread.  The letters are rows of a switch because each has its own source. */
#include "stepd/shared/outpattern.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

#define WIDTH_MAX 10

static void add_num(struct strbuf *sb, unsigned width, uint32_t n)
{
    strbuf_addf(sb, "%0*u", (int)width, n);
}

static bool add_letter(struct strbuf *sb, char c, unsigned width, const struct pattern_vars *v)
{
    switch (c) {
    case '%':
        strbuf_addc(sb, '%');
        return true;
    case 'A':
        add_num(sb, width, v->array_job_id);
        return true;
    case 'a':
        add_num(sb, width, v->array_task_id);
        return true;
    case 'b':
        add_num(sb, width, v->array_task_id % 10);
        return true;
    case 'j':
        add_num(sb, width, v->job_id);
        return true;
    case 'J':
        add_num(sb, width, v->job_id);
        if (!v->batch)
            strbuf_addf(sb, ".%s", v->step_name);
        return true;
    case 'n':
        add_num(sb, width, v->node_index);
        return true;
    case 'N':
        strbuf_add(sb, v->node_name);
        return true;
    case 'r':
        add_num(sb, width, v->restarts);
        return true;
    case 'S':
        strbuf_add(sb, v->sluid ? v->sluid : "");
        return true;
    case 's':
        if (isdigit((unsigned char)v->step_name[0]))
            add_num(sb, width, v->step_id);
        else
            strbuf_add(sb, v->step_name);
        return true;
    case 't':
        add_num(sb, width, v->task_id);
        return true;
    case 'u':
        strbuf_add(sb, v->user ? v->user : "");
        return true;
    case 'x':
        strbuf_add(sb, v->job_name ? v->job_name : "");
        return true;
    default:
        return false;
    }
}

/* One conversion starting at the percent sign; gives back where to go on. */
static const char *add_conversion(struct strbuf *sb, const char *p, const struct pattern_vars *vars)
{
    const char *q = p + 1;
    unsigned width = 0;

    while (isdigit((unsigned char)*q) && q - p < 4)
        width = width * 10 + (unsigned)(*q++ - '0');
    if (width > WIDTH_MAX)
        width = WIDTH_MAX;
    if (!*q && q == p + 1)
        return q; /* the last character of the name goes */
    if (*q && add_letter(sb, *q, width, vars))
        return q + 1;
    strbuf_addn(sb, p, (size_t)(q - p));
    return q;
}

int pattern_expand(const char *pattern, const struct pattern_vars *vars, char **ret_name)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    const char *p = pattern;

    if (strchr(p, '\\')) { /* a backslash anywhere: the name as it is, without backslashes */
        for (; *p && sb.len <= PATTERN_MAX; p++)
            if (*p != '\\')
                strbuf_addc(&sb, *p);
    }
    while (*p && sb.len <= PATTERN_MAX) {
        if (*p == '%')
            p = add_conversion(&sb, p, vars);
        else
            strbuf_addc(&sb, *p++);
    }
    if (sb.len > PATTERN_MAX)
        return -ENAMETOOLONG;
    return strbuf_detach(&sb, ret_name);
}

const char *pattern_of_batch(const char *std_out, bool is_array_task)
{
    if (std_out)
        return std_out;
    return is_array_task ? "slurm-%A_%a.out" : "slurm-%j.out";
}

bool pattern_per_task(const char *pattern)
{
    if (strchr(pattern, '\\'))
        return false;
    for (const char *p = pattern; *p; p++) {
        if (*p != '%')
            continue;
        p++;
        while (isdigit((unsigned char)*p))
            p++;
        if (*p == 't')
            return true;
        if (!*p)
            break;
    }
    return false;
}
