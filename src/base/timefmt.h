/* timefmt.h - Slurm's time, date and size texts
 *
 * No function reads the clock: "now" is an argument.  Local time zone throughout, as users expect.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TIME_LIMIT_INFINITE                                                                        \
    UINT32_MAX /* minutes; the named value of "UNLIMITED" in parsed limits */
#define USEC_PER_SEC INT64_C(1000000)

/* Errors of the parsers below: -EINVAL syntax, -ERANGE beyond what the result holds; err says which
 * text.
 *
 * A limit: minutes | m:s | h:m:s | d-h | d-h:m | d-h:m:s | INFINITE | UNLIMITED | -1; seconds round
 * up. */
int time_limit_parse(const char *text, uint32_t *ret_minutes, struct err *err);
/* The same grammar but for infinite, in seconds: a number on its own counts minutes. */
int time_delay_parse(const char *text, uint32_t *ret_seconds, struct err *err);
/* The same grammar in seconds (srun --wait style keys, conf durations): a number on its own counts
 * seconds, and infinite is UINT32_MAX. */
int time_secs_parse(const char *text, uint32_t *ret_seconds, struct err *err);

/* A date: HH:MM[:SS][AM|PM], MMDD[YY], MM/DD[/YY][-HH:MM[:SS]], YYYY-MM-DD[THH:MM[:SS]],
 * now[+N[unit]], today, tomorrow, midnight, noon, elevenses, fika, teatime, uts<epoch>; words may
 * be joined.  `future`: a time of day already past means tomorrow (submit); else today (queries).
 */
int time_when_parse(const char *text, int64_t now_us, bool future, int64_t *ret_us,
                    struct err *err);
/* Where the number stands that cannot be, in a text that time_when_parse() refused: an hour, a
 * minute, a second, a month or a day. */
int time_when_mistake(const char *text);

/* "D-HH:MM:SS" / "HH:MM:SS" (scontrol). */
void time_fmt_hms(int64_t seconds, char *buf, size_t size);
/* squeue's short form: "0:17", "1:02:03", "2-00:00:00". */
void time_fmt_short(int64_t seconds, char *buf, size_t size);
/* "YYYY-MM-DDTHH:MM:SS", honouring SLURM_TIME_FORMAT; unset (us <= 0) writes `none`. */
void time_fmt_stamp(int64_t us, const char *none, int64_t now_us, char *buf, size_t size);

/* Memory: number with K M G T P [B]; default unit MiB, result MiB rounded up.  Errors: -EINVAL,
 * -ERANGE. */
int size_mib_parse(const char *text, uint64_t *ret_mib, struct err *err);
/* Count with k m g t p = powers of 1024. */
int size_count_parse(const char *text, uint64_t *ret_count, struct err *err);
/* squeue/scontrol style "100M", "4G", "1.50G" from MiB; a larger unit only for multiples of its
 * half; `noconvert` keeps M. */
void size_mib_fmt(uint64_t mib, bool noconvert, char *buf, size_t size);

/* Whole-string integer parses with range; -EINVAL syntax, -ERANGE. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret);
int parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret);

int64_t now_us(void);      /* CLOCK_REALTIME */
int64_t now_mono_us(void); /* CLOCK_MONOTONIC */
