/* tasklayout.c - see tasklayout.h.  Shared by srun and the controller: both must give the same
 * ranks to a node. */
#include "base/tasklayout.h"

#include <errno.h>
#include <stdlib.h>
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
    while (rank < total) {
        for (size_t i = 0; i < n_nodes; i++) {
            uint32_t n = MIN(turn, counts[i] - given[i]);

            for (uint32_t k = 0; k < n; k++)
                ret_ranks[first[i] + given[i]++] = rank++;
        }
    }
    return 0;
}
