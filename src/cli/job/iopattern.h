/* iopattern.h - file name patterns of srun's streams, as far as they make one file
 *
 * Patterns that make a file per task or node (%t %n %N) are left to the nodes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct iopattern {
    uint32_t job_id, step_id;
    bool has_array;
    uint32_t array_job_id, array_task_id, restarts;
    const char *user, *job_name, *sluid; /* may be NULL */
};

/* Has %t, %n or %N. */
bool iopattern_per_task(const char *pattern);
/* The file's name.  A leading backslash turns substitution off.  The caller frees. */
char *iopattern_expand(const char *pattern, const struct iopattern *names);
