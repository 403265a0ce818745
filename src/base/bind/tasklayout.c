/* tasklayout.c - see tasklayout.h.  Shared by srun and the controller: both must give the same
 * ranks to a node. */
#include "base/bind/tasklayout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* Tasks handed to a node in one turn. */
static uint32_t turn_size(const char *distribution)
{
    if (!distribution || strncasecmp(distribution, "block", 5) == 0 || *distribution == '*')
        return TASKS_MAX;
    if (strncasecmp(distribution, "plane=", 6) == 0) {
        unsigned long n = strtoul(distribution + 6, NULL, 10);

        return n > 0 && n < TASKS_MAX ? (uint32_t)n : TASKS_MAX;
    }
    return strncasecmp(distribution, "cyclic", 6) == 0 ? 1 : TASKS_MAX;
}

/* The nodes that LIST names, one a rank; false when they are others than the counts say. */
static bool deal_arbitrary(const char *list, const uint32_t *counts, size_t n_nodes,
                           const uint32_t *first, uint32_t *given, uint32_t total,
                           uint32_t *ret_ranks)
{
    uint32_t rank = 0;

    while (*list && *list != ':') {
        char *end;
        unsigned long node = strtoul(list, &end, 10),
                      times = *end == '*' ? strtoul(end + 1, &end, 10) : 1;

        if (end == list || node >= n_nodes || times > counts[node] - given[node])
            return false;
        while (times-- > 0)
            ret_ranks[first[node] + given[node]++] = rank++;
        list = end + (*end == ',');
        if (list == end && *end && *end != ':')
            return false;
    }
    return rank == total;
}

int tasklayout(const char *distribution, const uint32_t *counts, size_t n_nodes,
               uint32_t *ret_ranks)
{
    uint32_t turn = turn_size(distribution), rank = 0, total = 0;
    _cleanup_free_ uint32_t *first = calloc(n_nodes + 1, sizeof(*first));
    _cleanup_free_ uint32_t *given = calloc(n_nodes + 1, sizeof(*given));

    if (!first || !given)
        return -ENOMEM;
    for (size_t i = 0; i < n_nodes; i++) {
        first[i] = total;
        total += counts[i];
    }
    if (distribution && strncasecmp(distribution, "arbitrary=", 10) == 0) {
        if (deal_arbitrary(distribution + 10, counts, n_nodes, first, given, total, ret_ranks))
            return 0;
        memset(given, 0, n_nodes * sizeof(*given));
    }
    while (rank < total) {
        for (size_t i = 0; i < n_nodes; i++) {
            uint32_t n = MIN(turn, counts[i] - given[i]);

            for (uint32_t k = 0; k < n; k++)
                ret_ranks[first[i] + given[i]++] = rank++;
        }
    }
    return 0;
}
