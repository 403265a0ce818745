/* cronspec.c - times of a crontab entry; see cronspec.h. */
#include "base/cronspec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"

#define MINUTE 60
#define DAY 86400
#define YEARS_MAX 30 /* February 29 on a given weekday is 28 years away, at most 40 around 2100 */

static const char *const month_names[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                           "jul", "aug", "sep", "oct", "nov", "dec" };
static const char *const day_names[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

static const struct field {
    const char *what;
    unsigned low, high;
    const char *const *names;
    unsigned nnames;
} fields[] = {
    { "minute", 0, 59, NULL, 0 },
    { "hour", 0, 23, NULL, 0 },
    { "day of month", 1, 31, NULL, 0 },
    { "month", 1, 12, month_names, ARRAY_SIZE(month_names) },
    { "day of week", 0, 7, day_names, ARRAY_SIZE(day_names) },
};

static const struct {
    const char *word, *times;
} words[] = {
    { "@yearly", "0 0 1 1 *" },   { "@annually", "0 0 1 1 *" },   { "@monthly", "0 0 1 * *" },
    { "@weekly", "0 0 * * 0" },   { "@daily", "0 0 * * *" },      { "@midnight", "0 0 * * *" },
    { "@hourly", "0 * * * *" },   { "@elevenses", "0 11 * * *" }, { "@fika", "0 15 * * *" },
    { "@teatime", "0 16 * * *" },
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Of the word at p, as much as a message shows. */
static int word_len(const char *p)
{
    return (int)MIN(strcspn(p, " \t\n"), (size_t)20);
}

/* A number or a name of the field.  NULL: neither, or out of range. */
static const char *read_value(const char *p, const struct field *f, unsigned *ret, struct err *err)
{
    unsigned long n;
    char *end;

    for (unsigned i = 0; i < f->nnames; i++) {
        if (strncasecmp(p, f->names[i], 3) == 0 && !isalnum((unsigned char)p[3])) {
            *ret = i + f->low;
            return p + 3;
        }
    }
    if (!isdigit((unsigned char)*p)) {
        (void)err_set(err, -EINVAL, "%s: '%.*s' is no number%s", f->what, word_len(p), p,
                      f->names ? " or name" : "");
        return NULL;
    }
    n = strtoul(p, &end, 10);
    if (n < f->low || n > f->high) {
        (void)err_set(err, -EINVAL, "%s: %.*s is not between %u and %u", f->what,
                      (int)MIN(end - p, 20), p, f->low, f->high);
        return NULL;
    }
    *ret = (unsigned)n;
    return end;
}

static const char *read_step(const char *p, const struct field *f, unsigned *ret, struct err *err)
{
    char *end = NULL;
    unsigned long n = isdigit((unsigned char)*p) ? strtoul(p, &end, 10) : 0;

    if (!n || n > f->high) {
        (void)err_set(err, -EDOM, "%s: '/%.*s' is no step between 1 and %u", f->what, word_len(p),
                      p, f->high);
        return NULL;
    }
    *ret = (unsigned)n;
    return end;
}

/* One of a list: *, 5, 1-5, each with /step.  Returns what follows; NULL with *ret_r. */
static const char *read_item(const char *p, const struct field *f, uint64_t *set, int *ret_r,
                             struct err *err)
{
    unsigned low = f->low, high = f->high, step = 1;
    bool bare = *p == '/';

    *ret_r = -EINVAL;
    if (*p == '*') {
        p++;
    } else if (!bare) {
        p = read_value(p, f, &low, err);
        if (!p)
            return NULL;
        high = *p == '/' ? f->high : low;
        if (*p == '-' && !(p = read_value(p + 1, f, &high, err)))
            return NULL;
    }
    if (*p == '/') {
        *ret_r = -EDOM;
        p = read_step(p + 1, f, &step, err);
        if (!p)
            return NULL;
    }
    *ret_r = -EINVAL;
    if (bare) {
        (void)err_set(err, -EINVAL, "%s: a step needs * or a range before it", f->what);
        return NULL;
    }
    if (high < low) {
        (void)err_set(err, -EINVAL, "%s: the range %u-%u ends before it begins", f->what, low,
                      high);
        return NULL;
    }
    for (unsigned i = low; i <= high; i += step)
        *set |= UINT64_C(1) << i;
    return p;
}

static int read_field(const char **p, const struct field *f, uint64_t *ret_set, bool *ret_any,
                      struct err *err)
{
    const char *at = *p + strspn(*p, " \t");
    int r;

    *ret_set = 0;
    *ret_any = *at == '*';
    if (!*at)
        return err_set(err, -EINVAL, "the %s is missing: five fields or a @word are needed",
                       f->what);
    for (;; at++) {
        at = read_item(at, f, ret_set, &r, err);
        if (!at)
            return r;
        if (*at != ',')
            break;
    }
    if (*at && *at != ' ' && *at != '\t')
        return err_set(err, -EINVAL, "%s: '%.*s' is not understood", f->what, word_len(at), at);
    *p = at;
    return 0;
}

/* Is there such a day at all? */
static bool is_possible(const struct cron_times *t)
{
    static const uint8_t length[] = { 0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    if (!t->any_weekday && !t->any_day)
        return true; /* a weekday is enough */
    for (unsigned m = 1; m <= 12; m++)
        if ((t->months & (1u << m)) && (t->days & ((UINT64_C(2) << length[m]) - 2)))
            return true;
    return false;
}

static int read_fields(const char *text, struct cron_times *t, const char **ret_end,
                       struct err *err)
{
    uint64_t sets[ARRAY_SIZE(fields)];
    bool any[ARRAY_SIZE(fields)];

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        int r = read_field(&text, &fields[i], &sets[i], &any[i], err);

        if (r < 0)
            return r;
    }
    *t = (struct cron_times){
        .minutes = sets[0],
        .hours = (uint32_t)sets[1],
        .days = (uint32_t)sets[2],
        .months = (uint16_t)sets[3],
        .weekdays = (uint8_t)((sets[4] & 0x7f) | (sets[4] >> 7 & 1)),
        .any_day = any[2],
        .any_weekday = any[4],
        .fixed = !any[0] && !any[1],
    };
    if (!is_possible(t))
        return err_set(err, -EINVAL, "there is no such day in these months");
    if (ret_end)
        *ret_end = text;
    return 0;
}

int cron_parse(const char *text, struct cron_times *ret, const char **ret_end, struct err *err)
{
    struct cron_times t;
    size_t len;
    int r;

    text += strspn(text, " \t");
    if (*text != '@') {
        r = read_fields(text, &t, ret_end, err);
        if (r == 0)
            *ret = t;
        return r;
    }
    len = strcspn(text, " \t");
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strlen(words[i].word) != len || strncasecmp(words[i].word, text, len) != 0)
            continue;
        if (ret_end)
            *ret_end = text + len;
        return read_fields(words[i].times, ret, NULL, err);
    }
    return err_set(err, -EINVAL, "'%.*s' is none of @yearly, @monthly, @weekly, @daily and @hourly",
                   (int)MIN(len, (size_t)20), text);
}

/* ---- the next time --------------------------------------------------------------------------- */

static bool day_fits(const struct cron_times *t, const struct tm *tm)
{
    bool day = t->days & (UINT32_C(1) << tm->tm_mday), weekday = t->weekdays & (1u << tm->tm_wday);

    if (!(t->months & (1u << (tm->tm_mon + 1))))
        return false;
    return t->any_day || t->any_weekday ? day && weekday : day || weekday;
}

static bool fits_time(const struct cron_times *t, const struct tm *tm)
{
    return day_fits(t, tm) && (t->hours & (1u << tm->tm_hour)) &&
           (t->minutes & (UINT64_C(1) << tm->tm_min));
}

static bool local_time(int64_t at_s, struct tm *ret)
{
    time_t at = (time_t)at_s;

    return localtime_r(&at, ret) != NULL;
}

/* Clocks were put forward at `at`: was a time left out that fits? */
static bool left_out(const struct cron_times *t, int64_t at, const struct tm *now)
{
    struct tm before, missing;
    time_t wall;
    long gap;

    if (!local_time(at - MINUTE, &before))
        return false;
    gap = now->tm_gmtoff - before.tm_gmtoff;
    wall =
        (time_t)(at - MINUTE + before.tm_gmtoff); /* of the last minute before, as if it were UTC */
    for (long s = MINUTE; s <= gap && s <= DAY; s += MINUTE) {
        time_t m = wall + s;

        if (gmtime_r(&m, &missing) && fits_time(t, &missing))
            return true;
    }
    return false;
}

/* Is this the second time that clocks show it?  They were put back within the last hours. */
static bool shown_before(int64_t at, const struct tm *now)
{
    struct tm then;

    for (int64_t back = 30 * MINUTE; back <= 180 * MINUTE; back += 30 * MINUTE)
        if (local_time(at - back, &then) && then.tm_gmtoff - now->tm_gmtoff == back &&
            then.tm_hour == now->tm_hour && then.tm_min == now->tm_min)
            return true;
    return false;
}

/* The next midnight by the clock. */
static int64_t next_day(int64_t at, const struct tm *tm)
{
    struct tm next = {
        .tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday + 1, .tm_isdst = -1
    };
    int64_t then = mktime(&next);

    return then > at ? then
                     : at - tm->tm_min * MINUTE + 60 * MINUTE; /* there is no midnight that day */
}

int64_t cron_next(const struct cron_times *t, int64_t after_s)
{
    int64_t at = (after_s / MINUTE + 1) * MINUTE, end = after_s + (int64_t)YEARS_MAX * 366 * DAY;
    struct tm tm;

    while (at < end && local_time(at, &tm)) {
        if (t->fixed && left_out(t, at, &tm))
            return at;
        if (!day_fits(t, &tm))
            at = next_day(at, &tm);
        else if (!(t->hours & (1u << tm.tm_hour)))
            at += (30 - tm.tm_min % 30) * MINUTE;
        else if (!fits_time(t, &tm) || (t->fixed && shown_before(at, &tm)))
            at += MINUTE;
        else
            return at;
    }
    return INT64_MAX;
}
