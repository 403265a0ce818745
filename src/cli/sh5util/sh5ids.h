/* sh5ids.h - the job and the steps that sh5util is given: "7", "7.0,7.batch"; pure */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SH5_STEPS_MAX 256u

struct sh5ids {
    uint32_t job_id;
    char steps[SH5_STEPS_MAX][16]; /* as files name them */
    size_t n_steps;                /* 0: all */
};

/* -EINVAL: it is no such list, or names two jobs. */
int sh5ids_read(const char *text, struct sh5ids *ret, struct err *err);
bool sh5ids_has(const struct sh5ids *ids, const char *step);
