/* timewhen.c - dates and times as people write them: time_when_parse() of timefmt.h.
 *
 * The text is read piece by piece; a piece sets the date, the time of day, or an instant
 * ("now+1hour", "uts123"), and a later piece overrules an earlier one.  What is missing is filled
 * in from `now` in the local time zone at the end.  Pure but for the time zone. */
#include "base/timefmt.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"

enum {
    COUNT_DIGITS_MAX = 9,  /* of now+N */
    EPOCH_DIGITS_MAX = 12, /* of uts<epoch> */
};

struct when {
    int64_t now; /* seconds */
    struct tm today;
    bool has_date, has_year, has_time, has_instant;
    int year, month, day;
    int hour, minute, second;
    int64_t instant;
    const char *month_at, *day_at; /* where they stand, if in digits */
    const char *bad;               /* where a piece could not be read on */
};

static const char *stop_at(struct when *w, const char *p)
{
    w->bad = p;
    return NULL;
}

static const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

static size_t count_digits(const char *p)
{
    size_t n = 0;

    while (p[n] >= '0' && p[n] <= '9')
        n++;
    return n;
}

static int64_t digits_value(const char *p, size_t n)
{
    int64_t v = 0;

    while (n--)
        v = v * 10 + (*p++ - '0');
    return v;
}

/* A number of min .. max digits; NULL when there is none or it is longer. */
static const char *take_int(struct when *w, const char *p, size_t min, size_t max, int *ret)
{
    size_t n = count_digits(p);

    if (n < min || n > max)
        return stop_at(w, p + n);
    *ret = (int)digits_value(p, n);
    return p + n;
}

static void set_date(struct when *w, int year, int month, int day)
{
    w->month_at = w->day_at = NULL;
    w->has_date = true;
    w->has_year = year != 0;
    w->year = year;
    w->month = month;
    w->day = day;
    w->has_instant = false;
}

static void set_time(struct when *w, int hour, int minute, int second)
{
    w->has_time = true;
    w->hour = hour;
    w->minute = minute;
    w->second = second;
    w->has_instant = false;
}

static void set_instant(struct when *w, int64_t instant)
{
    w->has_instant = true;
    w->instant = instant;
    w->has_date = w->has_time = false;
}

/* AM or PM behind a time; NULL when the hour does not go with it. */
static const char *take_half_day(struct when *w, const char *p, int *hour)
{
    const char *s = skip_space(p);
    bool pm = strncasecmp(s, "PM", 2) == 0;

    if (!pm && strncasecmp(s, "AM", 2) != 0)
        return p;
    if (*hour < 1 || *hour > 12)
        return stop_at(w, s);
    *hour = *hour % 12 + (pm ? 12 : 0);
    return s + 2;
}

/* HH:MM[:SS][AM|PM] */
static const char *take_time(struct when *w, const char *p)
{
    int hour, minute = 0, second = 0;
    const char *hour_at = p, *minute_at, *second_at = NULL;

    p = take_int(w, p, 1, 2, &hour);
    if (!p || *p != ':')
        return p ? stop_at(w, p) : NULL;
    minute_at = p + 1;
    p = take_int(w, minute_at, 2, 2, &minute);
    if (p && *p == ':') {
        second_at = p + 1;
        p = take_int(w, second_at, 2, 2, &second);
    }
    if (p)
        p = take_half_day(w, p, &hour);
    if (!p)
        return NULL;
    if (hour > 23 || minute > 59 || second > 59)
        return stop_at(w, hour > 23 ? hour_at : minute > 59 ? minute_at : second_at);
    set_time(w, hour, minute, second);
    return p;
}

static int full_year(int year, size_t digits)
{
    return digits == 2 ? 2000 + year : year;
}

/* MM/DD[/YY[YY]], also with dots. */
static const char *take_slash_date(struct when *w, const char *p)
{
    int month, day, year = 0;
    const char *month_at = p, *day_at;
    char mark;

    if (count_digits(p) > 2)
        return stop_at(w, p);
    p = take_int(w, p, 1, 2, &month);
    if (!p)
        return NULL;
    mark = *p;
    day_at = p + 1;
    p = take_int(w, day_at, 1, 2, &day);
    if (p && *p == mark) {
        size_t digits = count_digits(p + 1);

        if (digits != 2 && digits != 4)
            return stop_at(w, p + 1 + digits);
        p = take_int(w, p + 1, 2, 4, &year);
        year = full_year(year, digits);
    }
    if (!p)
        return NULL;
    set_date(w, year, month, day);
    w->month_at = month_at;
    w->day_at = day_at;
    return p;
}

/* YYYY-MM-DD */
static const char *take_iso_date(struct when *w, const char *p)
{
    int year, month, day;
    const char *month_at = p + 5, *day_at;

    p = take_int(w, p, 4, 4, &year);
    if (!p || *p != '-' || !year)
        return NULL;
    p = take_int(w, month_at, 1, 2, &month);
    if (!p || *p != '-')
        return NULL;
    day_at = p + 1;
    p = take_int(w, day_at, 1, 2, &day);
    if (!p)
        return NULL;
    set_date(w, year, month, day);
    w->month_at = month_at;
    w->day_at = day_at;
    return p;
}

/* MMDD[YY] */
static const char *take_packed_date(struct when *w, const char *p, size_t digits)
{
    int year = digits == 6 ? full_year((int)digits_value(p + 4, 2), 2) : 0;
    int month = (int)digits_value(p, 2), day = (int)digits_value(p + 2, 2);

    if (month < 1 || month > 12 || day < 1 || day > 31)
        return stop_at(w, month < 1 || month > 12 ? p : p + 2);
    set_date(w, year, month, day);
    w->month_at = p;
    w->day_at = p + 2;
    return p + digits;
}

/* A piece that begins with a digit. */
static const char *take_numeric(struct when *w, const char *p)
{
    size_t digits = count_digits(p);
    char mark = p[digits];

    if (mark == ':')
        return take_time(w, p);
    if (mark == '-' && digits == 4 && count_digits(p + 5) >= 1 && p[5 + count_digits(p + 5)] == '-')
        p = take_iso_date(w, p);
    else if (mark == '/' || mark == '.')
        p = take_slash_date(w, p);
    else if (digits == 4 || digits == 6)
        p = take_packed_date(w, p, digits);
    else /* a number with nothing behind it: what could be a month is passed */
        return stop_at(w, digits > 2 && digits_value(p, 2) > 12 ? p : p + MIN(digits, (size_t)2));
    if (p && (*p == 'T' || *p == 't' || *p == '-') && isdigit((unsigned char)p[1]))
        return take_time(w, p + 1);
    return p && mark == '-' && strcmp(p, "T") == 0 ? p + 1 : p; /* no time behind it: midnight */
}

/* Seconds of the unit at *p (abbreviated at will), advancing it; 0 when unknown. */
static int64_t take_unit(const char **p)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {
        { "seconds", 1 },  { "minutes", 60 },   { "hours", 3600 },
        { "days", 86400 }, { "weeks", 604800 },
    };
    const char *s = skip_space(*p);
    size_t len = 0;

    while (isalpha((unsigned char)s[len]))
        len++;
    if (len == 0)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (len <= strlen(units[i].name) && strncasecmp(s, units[i].name, len) == 0) {
            *p = s + len;
            return units[i].seconds;
        }
    }
    return 0;
}

/* Behind "now": [{+|-}count[unit]] */
static const char *take_offset(struct when *w, const char *p)
{
    const char *s = skip_space(p), *sign_at = s;
    int64_t sign = *s == '-' ? -1 : 1, count, unit;
    size_t digits;

    if (*s != '+' && *s != '-') {
        set_instant(w, w->now);
        return p;
    }
    s = skip_space(s + 1);
    digits = count_digits(s);
    if (digits == 0 || digits > COUNT_DIGITS_MAX)
        return stop_at(w, digits ? s : sign_at);
    count = digits_value(s, digits);
    s += digits;
    unit = take_unit(&s);
    if (unit == 0)
        return stop_at(w, s - digits);
    set_instant(w, w->now + sign * count * unit);
    return s;
}

static const char *take_epoch(struct when *w, const char *p)
{
    size_t digits = count_digits(p);

    if (digits == 0 || digits > EPOCH_DIGITS_MAX)
        return NULL;
    set_instant(w, digits_value(p, digits));
    return p + digits;
}

/* A piece that begins with a letter. */
static const char *take_word(struct when *w, const char *p)
{
    static const struct {
        const char *name;
        int hour;   /* >= 0: a time of day */
        int offset; /* else: days from today */
    } words[] = {
        { "midnight", 0, 0 }, { "noon", 12, 0 },  { "elevenses", 11, 0 }, { "fika", 15, 0 },
        { "teatime", 16, 0 }, { "today", -1, 0 }, { "tomorrow", -1, 1 },
    };

    if (strncasecmp(p, "now", 3) == 0)
        return take_offset(w, p + 3);
    if (strncasecmp(p, "uts", 3) == 0)
        return take_epoch(w, p + 3);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t len = strlen(words[i].name);

        if (strncasecmp(p, words[i].name, len) != 0)
            continue;
        if (words[i].hour >= 0) {
            set_time(w, words[i].hour, 0, 0);
        } else {
            struct tm tm = w->today;

            tm.tm_mday += words[i].offset;
            tm.tm_hour = 12; /* clear of clock changes */
            tm.tm_isdst = -1;
            if (mktime(&tm) == (time_t)-1)
                return NULL;
            set_date(w, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        }
        return p + len;
    }
    return NULL;
}

/* Local seconds of the date and time; false when there is no such day. */
static bool local_seconds(const struct when *w, int year, int month, int day, int64_t *ret)
{
    struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = 12 };
    time_t t;

    tm.tm_isdst = -1;
    if (month < 1 || month > 12 || day < 1 || mktime(&tm) == (time_t)-1 || tm.tm_mday != day)
        return false;
    tm = (struct tm){ .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day };
    if (w->has_time) {
        tm.tm_hour = w->hour;
        tm.tm_min = w->minute;
        tm.tm_sec = w->second;
    }
    tm.tm_isdst = -1;
    t = mktime(&tm);
    *ret = (int64_t)t;
    return t >= 0;
}

static bool resolve_when(const struct when *w, bool future, int64_t *ret)
{
    const struct tm *today = &w->today;
    int year = today->tm_year + 1900, month = today->tm_mon + 1;

    if (w->has_instant) {
        *ret = w->instant;
        return w->instant >= 0;
    }
    if (!w->has_date) {
        if (!w->has_time || !local_seconds(w, year, month, today->tm_mday, ret))
            return false;
        if (future && *ret < w->now) {
            struct tm next = *today;

            next.tm_mday++;
            next.tm_hour = 12;
            next.tm_isdst = -1;
            return mktime(&next) != (time_t)-1 &&
                   local_seconds(w, next.tm_year + 1900, next.tm_mon + 1, next.tm_mday, ret);
        }
        return true;
    }
    if (w->has_year)
        return local_seconds(w, w->year, w->month, w->day, ret);
    if (future && (w->month < month || (w->month == month && w->day < today->tm_mday)))
        year++;
    return local_seconds(w, year, w->month, w->day, ret);
}

/* What joins a date and a time, or two words: blanks, - and T; the latter two not at the end. */
static const char *skip_joints(const char *p)
{
    const char *s = p;

    while (*s == ' ' || *s == '\t' || *s == '-' || (*s == 'T' && !isalpha((unsigned char)s[1])))
        s++;
    return *s ? s : skip_space(p);
}

/* NULL, or where the mistake is. */
static const char *read_when(struct when *w, const char *text, bool future, int64_t *ret_s)
{
    const char *p = skip_joints(text), *at;

    while (*p) {
        at = p;
        w->bad = NULL;
        p = isdigit((unsigned char)*p) ? take_numeric(w, p) : take_word(w, p);
        if (!p)
            return w->bad ? w->bad : at;
        p = skip_joints(p);
    }
    if (resolve_when(w, future, ret_s))
        return NULL;
    if (!w->has_date || !w->day_at)
        return text;
    return w->month < 1 || w->month > 12 ? w->month_at : w->day_at;
}

int time_when_parse(const char *text, int64_t now_us, bool future, int64_t *ret_us, struct err *err)
{
    struct when w = { .now = now_us / USEC_PER_SEC };
    time_t now = (time_t)w.now;
    int64_t seconds;

    if (!localtime_r(&now, &w.today))
        return err_set(err, -EINVAL, "the present time is out of range");
    if (read_when(&w, text ? text : "", future, &seconds) || seconds > INT64_MAX / USEC_PER_SEC)
        return err_set(err, -EINVAL, "invalid time '%.64s'", text ? text : "");
    *ret_us = seconds * USEC_PER_SEC;
    return 0;
}

int time_when_mistake(const char *text)
{
    struct when w = { .now = 0 };
    time_t now = 0;
    int64_t seconds;
    const char *bad = localtime_r(&now, &w.today) ? read_when(&w, text, false, &seconds) : NULL;

    return bad ? (int)(bad - text) : 0;
}
