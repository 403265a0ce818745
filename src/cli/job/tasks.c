/* tasks.c - which task runs where and how it ended; see tasks.h.  Pure functions. */
#include "cli/job/tasks.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"

#define EXIT_OOM 253

void tasks_layout(const char *distribution, const uint32_t *counts, size_t n_nodes,
                  uint32_t *ret_ranks)
{
    check_mem_or_die(tasklayout(distribution, counts, n_nodes, ret_ranks));
}

char *tasks_list(const uint32_t *ranks, size_t n)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    for (size_t i = 0; i < n;) {
        size_t run = 1;

        while (i + run < n && ranks[i + run] == ranks[i] + run)
            run++;
        strbuf_addf(&sb, "%s%u", i ? "," : "", ranks[i]);
        if (run > 1)
            strbuf_addf(&sb, "-%u", ranks[i + run - 1]);
        i += run;
    }
    check_mem_or_die(strbuf_detach(&sb, &text));
    return text ? text : xstrdup_or_die("");
}

void tasks_status_text(uint32_t status, bool oom, char *buf, size_t size)
{
    int st = (int)status;

    if (oom)
        (void)snprintf(buf, size, "Out Of Memory");
    else if (WIFSIGNALED(st))
        (void)snprintf(buf, size, "%s%s", strsignal(WTERMSIG(st)),
                       WCOREDUMP(st) ? " (core dumped)" : "");
    else
        (void)snprintf(buf, size, "Exited with exit code %d", WEXITSTATUS(st));
}

int tasks_exit_code(uint32_t status, bool oom)
{
    int st = (int)status;

    if (oom)
        return EXIT_OOM;
    return WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
}

/* Ranks at the start of a line, "0-1,4"; the largest plus one, 0 for `*`, comments and nonsense
 * (the step daemon reports that with its line). */
static uint32_t line_count(const char *p)
{
    uint32_t most = 0;

    while (isdigit((unsigned char)*p)) {
        char *end;
        unsigned long n = strtoul(p, &end, 10);

        if (n < TASKS_MAX)
            most = MAX(most, (uint32_t)n + 1);
        p = end;
        if (*p == '-' || *p == ',')
            p++;
    }
    return most;
}

uint32_t tasks_multi_prog_count(const char *map)
{
    uint32_t most = 0;
    bool continued = false;

    while (*map) {
        size_t len = strcspn(map, "\n");

        if (!continued) {
            uint32_t count = line_count(map + MIN(strspn(map, " \t"), len));

            most = MAX(most, count);
        }
        continued = len > 0 && map[len - 1] == '\\';
        map += len;
        map += *map == '\n';
    }
    return most;
}

/* ---- the map of --multi-prog, looked through before the launch ------------------------------- */

struct map_check {
    uint32_t n_tasks;
    bool *seen; /* by rank */
    bool star;  /* a line for all other ranks was met */
};

/* One range of a list of ranks, with its messages.  False: it is wrong. */
static bool check_range(struct map_check *c, unsigned long lo, unsigned long hi, const char *text,
                        int len)
{
    if (hi < lo) {
        cli_error("Invalid task range, %.*s", len, text);
        return false;
    }
    for (unsigned long rank = lo; rank <= hi && c->n_tasks; rank++) {
        if (hi >= c->n_tasks) {
            cli_error("Invalid task id, %lu >= ntasks", hi);
            return false;
        }
        if (c->seen[rank]) {
            cli_error("Duplicate record for task %lu", rank);
            return false;
        }
        c->seen[rank] = true;
    }
    return true;
}

static bool check_ranks(struct map_check *c, const char *p, const char *end)
{
    if (c->star) {
        cli_error("Task range specification with asterisk must be last");
        return false;
    }
    if (end - p == 1 && *p == '*') {
        c->star = true;
        return true;
    }
    while (p < end) {
        const char *start = p;
        char *after;
        unsigned long lo, hi;

        if (!isdigit((unsigned char)*p)) {
            cli_error("Invalid task range specification (%.*s)", (int)MIN(end - p, 200), p);
            return false;
        }
        lo = hi = strtoul(p, &after, 10);
        if (*after == '-' && isdigit((unsigned char)after[1]))
            hi = strtoul(after + 1, &after, 10);
        p = after;
        if (p < end && *p != ',') {
            cli_error("Invalid task range specification");
            return false;
        }
        if (!check_range(c, lo, hi, start, (int)(p - start)))
            return false;
        p += p < end;
    }
    return true;
}

/* One line, its continuations included.  One without a program is wrong, whatever its ranks are. */
static bool check_line(struct map_check *c, const char *p, const char *end)
{
    const char *ranks, *program;

    while (p < end && isspace((unsigned char)*p))
        p++;
    if (p == end || *p == '#')
        return true;
    ranks = p;
    while (p < end && !isspace((unsigned char)*p))
        p++;
    for (program = p; program < end && (isspace((unsigned char)*program) || *program == '\\');)
        program++;
    return program < end && check_ranks(c, ranks, p);
}

int tasks_multi_prog_check(const char *map, const char *path, uint32_t n_tasks)
{
    struct map_check c = { .n_tasks = MIN(n_tasks, TASKS_MAX) };
    _cleanup_free_ bool *seen = xmalloc_or_die(c.n_tasks + 1u);
    const char *p = map;

    c.seen = seen;
    for (unsigned line = 1; *p;) {
        unsigned first = line;
        const char *end = p;

        for (; *end && *end != '\n'; line += *end == '\n', end++)
            end += end[0] == '\\' && end[1] == '\n';
        if (!check_line(&c, p, end)) {
            cli_error("Line %u of configuration file %s invalid", first, path);
            return CLI_EXIT_FAILED;
        }
        p = end + (*end == '\n');
        line++;
    }
    for (uint32_t rank = 0; rank < c.n_tasks && !c.star; rank++) {
        if (seen[rank])
            continue;
        cli_error("Configuration file %s invalid, no record for task id %u", path, rank);
        return CLI_EXIT_FAILED;
    }
    return 0;
}
