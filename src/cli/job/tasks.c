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
