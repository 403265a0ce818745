/* gpufreq.h - the clocks of a step's GPUs: --gpu-freq
 *
 * Pure.  Form of the text: [memory=]FREQUENCY or verbose, commas between.  A frequency is a number
 * of MHz, or low, medium, high, highm1.  Letters may be of either case.  Of several for the same
 * clock the last counts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gpufreq_level {
    GPUFREQ_NONE, /* not asked for */
    GPUFREQ_MHZ,
    GPUFREQ_LOW,
    GPUFREQ_MEDIUM,
    GPUFREQ_HIGH,
    GPUFREQ_HIGHM1, /* the one below the highest */
};

struct gpufreq_want {
    enum gpufreq_level level;
    uint32_t mhz; /* with GPUFREQ_MHZ */
};

struct gpufreq {
    struct gpufreq_want graphics, memory;
    bool verbose; /* say which clocks were set */
};

/* -EINVAL: the text has another form. */
int gpufreq_parse(const char *text, struct gpufreq *ret);
/* The clock that is meant, of n that a GPU can have, in any order; they are sorted.  The nearest
 * for a number of MHz, the lower of two that are as near; `now` where nothing is asked for, its
 * nearest too.  n = 0: 0. */
uint32_t gpufreq_choose(const struct gpufreq_want *want, uint32_t now, unsigned *mhz, size_t n);
