/* fuzz_complog.c - lines of a log of ended runs: sacct --completion --file */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/query/complog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Pst__AcctJob *a = NULL;
    char *line;

    if (size >= COMPLOG_LINE_MAX)
        return 0;
    line = malloc(size + 1);
    if (!line)
        return 0;
    memcpy(line, data, size);
    line[size] = '\0';
    if (complog_parse(line, &a) == 0) {
        if (!a->job || !a->job->has_job_id)
            abort();
        pst__acct_job__free_unpacked(a, NULL);
    }
    free(line);
    return 0;
}
