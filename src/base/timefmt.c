/* timefmt.c - limits, durations and time stamps as texts; declared in timefmt.h.
 *
 * Pure functions but for now_us() and now_mono_us(), and for the time zone and SLURM_TIME_FORMAT,
 * which are read from the environment.  Dates as people write them are in timewhen.c. */
#include "base/timefmt.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

int64_t now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
    return (int64_t)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

int64_t now_mono_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
    return (int64_t)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

/* Numbers joined by ':' after an optional "days-". */
struct fields {
    bool has_days;
    uint64_t days;
    uint64_t n[3];
    unsigned count;
};

enum { FIELD_MAX = 1000000000 }; /* far beyond every limit, far below overflow */

static int take_number(const char **p, uint64_t *ret)
{
    const char *s = *p;
    uint64_t v = 0;

    if (*s < '0' || *s > '9')
        return -EINVAL;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (v <= FIELD_MAX)
            v = v * 10 + (uint64_t)(*s - '0');
    }
    *p = s;
    *ret = v;
    return v > (uint64_t)UINT32_MAX ? -ERANGE : 0;
}

static int split_fields(const char *p, struct fields *f)
{
    int r, range = 0;

    *f = (struct fields){ 0 };
    for (;;) {
        uint64_t v = 0;

        r = take_number(&p, &v);
        if (r == -EINVAL)
            return r;
        if (r < 0)
            range = r;
        if (*p == '-' && !f->has_days && f->count == 0) {
            f->has_days = true;
            f->days = v;
            if (*++p == '\0')
                return range; /* "1-": a day */
            continue;
        }
        f->n[f->count++] = v;
        if (*p == '\0')
            return range;
        if (*p++ != ':' || f->count == 3)
            return -EINVAL;
    }
}

static bool is_infinite(const char *text)
{
    return strcasecmp(text, "INFINITE") == 0 || strcasecmp(text, "UNLIMITED") == 0 ||
           strcmp(text, "-1") == 0;
}

/* Seconds meant by the fields; `lone` is what a number on its own counts, in seconds. */
static uint64_t fields_seconds(const struct fields *f, uint64_t lone)
{
    const uint64_t *n = f->n;

    if (f->has_days)
        return ((f->days * 24 + n[0]) * 60 + n[1]) * 60 + n[2];
    if (f->count == 3)
        return (n[0] * 60 + n[1]) * 60 + n[2];
    if (f->count == 2)
        return n[0] * 60 + n[1];
    return n[0] * lone;
}

static int parse_duration(const char *text, uint64_t lone, uint64_t *ret, struct err *err)
{
    struct fields f;
    int r = text ? split_fields(text, &f) : -EINVAL;

    if (r == -EINVAL)
        return err_set(err, r, "invalid time '%.64s'", text ? text : "");
    if (r < 0)
        return err_set(err, r, "time '%.64s' is too large", text);
    *ret = fields_seconds(&f, lone);
    return 0;
}

int time_limit_parse(const char *text, uint32_t *ret_minutes, struct err *err)
{
    uint64_t seconds, minutes;
    int r;

    if (text && is_infinite(text)) {
        *ret_minutes = TIME_LIMIT_INFINITE;
        return 0;
    }
    r = parse_duration(text, 60, &seconds, err);
    if (r < 0)
        return r;
    minutes = (seconds + 59) / 60;
    if (minutes >= TIME_LIMIT_INFINITE)
        return err_set(err, -ERANGE, "time '%.64s' is too large", text);
    *ret_minutes = (uint32_t)minutes;
    return 0;
}

int time_delay_parse(const char *text, uint32_t *ret_seconds, struct err *err)
{
    uint64_t seconds;
    int r = parse_duration(text, 60, &seconds, err);

    if (r < 0)
        return r;
    if (seconds >= UINT32_MAX)
        return err_set(err, -ERANGE, "time '%.64s' is too large", text);
    *ret_seconds = (uint32_t)seconds;
    return 0;
}

int time_secs_parse(const char *text, uint32_t *ret_seconds, struct err *err)
{
    uint64_t seconds;
    int r;

    if (text && is_infinite(text)) {
        *ret_seconds = UINT32_MAX;
        return 0;
    }
    r = parse_duration(text, 1, &seconds, err);
    if (r < 0)
        return r;
    if (seconds >= UINT32_MAX)
        return err_set(err, -ERANGE, "time '%.64s' is too large", text);
    *ret_seconds = (uint32_t)seconds;
    return 0;
}

/* The four numbers of a duration. */
struct dhms {
    long long d;
    int h, m, s;
};

static struct dhms dhms_of(int64_t seconds)
{
    return (struct dhms){ .d = seconds / 86400,
                          .h = (int)(seconds / 3600 % 24),
                          .m = (int)(seconds / 60 % 60),
                          .s = (int)(seconds % 60) };
}

/* Texts cut by a short buffer are the caller's choice of size, here and below. */
void time_fmt_hms(int64_t seconds, char *buf, size_t size)
{
    struct dhms t = dhms_of(seconds);

    if (seconds < 0)
        (void)snprintf(buf, size, "INVALID");
    else if (t.d)
        (void)snprintf(buf, size, "%lld-%02d:%02d:%02d", t.d, t.h, t.m, t.s);
    else
        (void)snprintf(buf, size, "%02d:%02d:%02d", t.h, t.m, t.s);
}

void time_fmt_short(int64_t seconds, char *buf, size_t size)
{
    struct dhms t = dhms_of(seconds);

    if (seconds < 0)
        (void)snprintf(buf, size, "INVALID");
    else if (t.d)
        (void)snprintf(buf, size, "%lld-%02d:%02d:%02d", t.d, t.h, t.m, t.s);
    else if (t.h)
        (void)snprintf(buf, size, "%d:%02d:%02d", t.h, t.m, t.s);
    else
        (void)snprintf(buf, size, "%d:%02d", t.m, t.s);
}

/* Days between two local dates, by noon of each so that a clock change does not matter. */
static long day_distance(struct tm a, struct tm b)
{
    time_t ta, tb;

    a.tm_hour = b.tm_hour = 12;
    a.tm_min = b.tm_min = a.tm_sec = b.tm_sec = 0;
    a.tm_isdst = b.tm_isdst = -1;
    ta = mktime(&a);
    tb = mktime(&b);
    return (long)((ta - tb + (ta >= tb ? 43200 : -43200)) / 86400);
}

/* The pattern SLURM_TIME_FORMAT=relative picks for tm as seen at now. */
static const char *relative_pattern(const struct tm *tm, int64_t now_us)
{
    time_t now = (time_t)(now_us / USEC_PER_SEC);
    struct tm today;
    long days;

    if (!localtime_r(&now, &today) || tm->tm_year != today.tm_year)
        return "%-d %b %Y";
    days = day_distance(*tm, today);
    switch (days) {
    case 0:
        return "%H:%M:%S";
    case -1:
        return "Ystday %H:%M";
    case 1:
        return "Tomorr %H:%M";
    default:
        return days > -7 && days < 7 ? "%a %H:%M" : "%-d %b %H:%M";
    }
}

void time_fmt_stamp(int64_t us, const char *none, int64_t now_us, char *buf, size_t size)
{
    const char *format = getenv("SLURM_TIME_FORMAT");
    time_t t = (time_t)(us / USEC_PER_SEC);
    struct tm tm;

    if (us <= 0 || !localtime_r(&t, &tm)) {
        (void)snprintf(buf, size, "%s", none);
        return;
    }
    if (!format || !*format || strcmp(format, "standard") == 0)
        format = "%Y-%m-%dT%H:%M:%S";
    else if (strcmp(format, "relative") == 0)
        format = relative_pattern(&tm, now_us);
    if (size && strftime(buf, size, format, &tm) == 0)
        buf[0] = '\0'; /* undefined on overflow */
}
