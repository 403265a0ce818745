/* ocipattern.c - see ocipattern.h */
#include "oci/ocipattern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

enum quote {
    RAW,
    BARE,
    DOUBLE,
    SINGLE
}; /* where in the shell's line a value lands; RAW: in no shell's */

#define PLAIN                                                                                      \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:=@%^" /* no word needs   \
                                                                                   quotes for them \
                                                                                 */

static void add_single(struct strbuf *sb, const char *value)
{
    for (; *value; value++) {
        if (*value == '\'')
            strbuf_add(sb, "'\\''");
        else
            strbuf_addc(sb, *value);
    }
}

static void add_value(struct strbuf *sb, const char *value, enum quote q)
{
    switch (q) {
    case RAW:
        strbuf_add(sb, value);
        break;
    case BARE:
        if (*value == '\0' || strspn(value, PLAIN) == strlen(value)) {
            strbuf_add(sb, value);
            break;
        }
        strbuf_addc(sb, '\'');
        add_single(sb, value);
        strbuf_addc(sb, '\'');
        break;
    case SINGLE:
        add_single(sb, value);
        break;
    case DOUBLE:
        for (; *value; value++) {
            if (strchr("\"\\$`", *value))
                strbuf_addc(sb, '\\');
            strbuf_addc(sb, *value);
        }
        break;
    }
}

/* Each argument is a word of its own; inside a quotation of the pattern, of the text in it. */
static void add_argv(struct strbuf *sb, const char *const *argv, enum quote q)
{
    _cleanup_val_(strbuf_done) struct strbuf words = STRBUF_INIT;

    for (size_t i = 0; argv && argv[i]; i++) {
        strbuf_add(&words, i ? " '" : "'");
        add_single(&words, argv[i]);
        strbuf_addc(&words, '\'');
    }
    add_value(sb, strbuf_str(&words), q == BARE ? RAW : q);
    sb->failed = sb->failed || words.failed;
}

/* The value of a letter, NULL when it is none; numbers are written to num. */
static const char *value_of(char letter, const struct oci_vars *v, char num[static 16])
{
    switch (letter) {
    case 'b':
        return v->bundle ? v->bundle : "";
    case 'e':
        return v->env_file ? v->env_file : "";
    case 'm':
        return v->spool_dir ? v->spool_dir : "";
    case 'n':
        return v->node ? v->node : "";
    case 'r':
        return v->root ? v->root : "";
    case 's':
        return v->step ? v->step : "";
    case 'u':
        return v->user ? v->user : "";
    case 'Z':
        return v->work_dir ? v->work_dir : "";
    case 'j':
        (void)snprintf(num, 16, "%u", v->job_id);
        return num;
    case 't':
        (void)snprintf(num, 16, "%u", v->task);
        return num;
    case 'U':
        (void)snprintf(num, 16, "%u", v->uid);
        return num;
    case 'p':
        (void)snprintf(num, 16, "%d", v->pid > 0 ? (int)v->pid : -1);
        return num;
    default:
        return NULL;
    }
}

static enum quote quote_after(enum quote q, char c)
{
    if (c == '\'' && q != DOUBLE && q != RAW)
        return q == SINGLE ? BARE : SINGLE;
    if (c == '"' && q != SINGLE && q != RAW)
        return q == DOUBLE ? BARE : DOUBLE;
    return q;
}

/* Is it one program with its arguments, nothing that only a shell can do?  When in doubt it is
 * not. */
static bool is_program(const char *pattern)
{
    static const char *const of_shells[] = { "command", "eval", "exec", "time" };
    size_t len =
        strspn(pattern, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+");

    for (size_t i = 0; i < ARRAY_SIZE(of_shells); i++)
        if (strncmp(pattern, of_shells[i], len) == 0 && strlen(of_shells[i]) == len)
            return false;
    return len > 0 && (pattern[len] == ' ' || pattern[len] == '\0') &&
           !strpbrk(pattern, ";&|(){}`\n");
}

static int expand_quoted(const char *pattern, const struct oci_vars *vars, enum quote q, char **ret)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    if (q == BARE && is_program(pattern))
        strbuf_add(&sb, "exec ");
    for (const char *p = pattern; *p; p++) {
        char num[16];
        const char *value = *p == '%' ? value_of(p[1], vars, num) : NULL;

        if (value) {
            add_value(&sb, value, q);
        } else if (*p == '%' && p[1] == '@') {
            add_argv(&sb, vars->argv, q);
        } else if (*p == '%' && p[1] == '%') {
            strbuf_addc(&sb, '%');
        } else if (*p == '\\' && p[1] && (q == BARE || q == DOUBLE)) {
            strbuf_addn(&sb, p, 2); /* a quote behind it quotes nothing */
        } else {
            q = quote_after(q, *p);
            strbuf_addc(&sb, *p);
            continue;
        }
        p++;
    }
    return strbuf_detach(&sb, ret);
}

int oci_command(const char *pattern, const struct oci_vars *vars, char **ret)
{
    return expand_quoted(pattern, vars, BARE, ret);
}

int oci_path(const char *pattern, const struct oci_vars *vars, char **ret)
{
    return expand_quoted(pattern, vars, RAW, ret);
}
