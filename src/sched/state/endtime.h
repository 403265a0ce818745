/* endtime.h - when a job that starts now and may run so many minutes has to end */
#pragma once

#include <stdint.h>

#include "sched/sched.h"

static inline int64_t end_after(int64_t now_us, uint32_t minutes)
{
    if (minutes == SCHED_UNLIMITED || now_us > INT64_MAX - (int64_t)minutes * 60000000)
        return INT64_MAX;
    return now_us + (int64_t)minutes * 60000000;
}
