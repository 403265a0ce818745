/* fuzz_sacct_dump.c - what sacct --parsable2 printed somewhere */
#include <stdint.h>
#include <stdlib.h>

#include "sim/sacctlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct workload *w;

    if (workload_new(&w) < 0)
        return 0;
    if (sacct_parse((const char *)data, size, w, NULL) == 0)
        for (size_t i = 0; i < w->n; i++)
            if (!sim_job_cpus(&w->jobs[i]) || w->jobs[i].run_us < 0 ||
                (i && w->jobs[i].submit_us < w->jobs[i - 1].submit_us))
                abort();
    workload_free(w);
    return 0;
}
