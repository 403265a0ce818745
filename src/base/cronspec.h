/* cronspec.h - times of a crontab entry: five fields or a @word, and when the next one is
 *
 * Pure but for the time zone of the process (localtime_r).  Days and weekdays that are both given
 * count when either fits, as crontabs always did.  Where clocks are put forward, an entry of a
 * fixed time that was left out runs at the first minute after; where they are put back, it runs the
 * first time only.  Entries with * for minute or hour follow real time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cron_times {
    uint64_t minutes;          /* bit sets */
    uint32_t hours, days;      /* days 1-31 */
    uint16_t months;           /* 1-12 */
    uint8_t weekdays;          /* 0 = Sunday */
    bool any_day, any_weekday; /* the field began with * */
    bool fixed;                /* neither minute nor hour did */
};

/* Parse the times at the start of text; *ret_end (may be NULL) is behind them.
 * Errors: -EDOM a bad step, -EINVAL everything else: fields, values, dates that never come. */
int cron_parse(const char *text, struct cron_times *ret, const char **ret_end, struct err *err);

/* The first full minute after after_s (seconds since the epoch) that fits; INT64_MAX: none in the
 * next 30 years. */
int64_t cron_next(const struct cron_times *t, int64_t after_s);
