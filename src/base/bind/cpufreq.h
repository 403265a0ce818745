/* cpufreq.h - the frequency of a step's CPUs: --cpu-freq
 *
 * Pure.  Form of the text: FREQUENCY[-FREQUENCY][:GOVERNOR], or a governor alone.  A frequency is
 * a number of kHz, or low, medium, high, highm1.  Letters may be of either case.  A frequency alone
 * is the one to run at; two are the least and the most. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CPUFREQ_STEPS_MAX 128 /* frequencies of a CPU that are looked at */

enum cpufreq_level {
    CPUFREQ_NONE, /* not asked for */
    CPUFREQ_KHZ,
    CPUFREQ_LOW,
    CPUFREQ_MEDIUM,
    CPUFREQ_HIGH,
    CPUFREQ_HIGHM1, /* the one below the highest */
};

struct cpufreq {
    enum cpufreq_level low, high; /* high: CPUFREQ_NONE for a single frequency */
    uint32_t low_khz, high_khz;   /* with CPUFREQ_KHZ */
    const char *governor;         /* lower case, static; NULL: none is asked for */
};

/* Frequencies that a CPU has.  Without a list (n = 0) it runs at any from min_khz to max_khz. */
struct cpufreq_range {
    uint32_t khz[CPUFREQ_STEPS_MAX]; /* ascending */
    size_t n;
    uint32_t min_khz, max_khz;
};

/* Errors: -EINVAL with a sentence. */
int cpufreq_parse(const char *text, struct cpufreq *ret, struct err *err);
/* Read what the kernel lists: "3200000 2400000 1200000".  Words that are no frequency are left
 * out. */
void cpufreq_list(const char *text, struct cpufreq_range *range);
/* The frequency of the range that is meant, the nearest for a number of kHz; 0 for CPUFREQ_NONE
 * and of a range without frequencies. */
uint32_t cpufreq_khz(const struct cpufreq_range *range, enum cpufreq_level level, uint32_t khz);
