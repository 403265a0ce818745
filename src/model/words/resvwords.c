/* resvwords.c - flags, access lists and occurrences of reservations; see resvwords.h. */
#include "model/words/resvwords.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

/* ---- flags ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned bit;
    size_t shortest; /* letters that are enough */
    bool removable;
} words[] = {
    /* in the order in which they are tried */
    { "MAINT", PST__RESV_FLAG__RESV_FLAG_MAINT, 3, true },
    { "OVERLAP", PST__RESV_FLAG__RESV_FLAG_OVERLAP, 1, false },
    { "FLEX", PST__RESV_FLAG__RESV_FLAG_FLEX, 1, true },
    { "IGNORE_JOBS", PST__RESV_FLAG__RESV_FLAG_IGNORE_JOBS, 1, true },
    { "HOURLY", PST__RESV_FLAG__RESV_FLAG_HOURLY, 1, true },
    { "DAILY", PST__RESV_FLAG__RESV_FLAG_DAILY, 1, true },
    { "WEEKDAY", PST__RESV_FLAG__RESV_FLAG_WEEKDAY, 1, true },
    { "WEEKEND", PST__RESV_FLAG__RESV_FLAG_WEEKEND, 5, true },
    { "WEEKLY", PST__RESV_FLAG__RESV_FLAG_WEEKLY, 5, true },
    { "ANY_NODES", PST__RESV_FLAG__RESV_FLAG_ANY_NODES, 1, true },
    { "LICENSE_ONLY", PST__RESV_FLAG__RESV_FLAG_ANY_NODES, 1, true },
    { "STATIC_ALLOC", PST__RESV_FLAG__RESV_FLAG_STATIC, 1, true },
    { "PART_NODES", PST__RESV_FLAG__RESV_FLAG_PART_NODES, 2, true },
    { "MAGNETIC", PST__RESV_FLAG__RESV_FLAG_MAGNETIC, 3, true },
    { "PROMISCUOUS", PST__RESV_FLAG__RESV_FLAG_MAGNETIC, 2, true },
    { "PURGE_COMP", PST__RESV_FLAG__RESV_FLAG_PURGE_COMP, 2, true },
    { "TIME_FLOAT", PST__RESV_FLAG__RESV_FLAG_TIME_FLOAT, 1, false },
    { "REPLACE", PST__RESV_FLAG__RESV_FLAG_REPLACE, 1, false },
    { "REPLACE_DOWN", PST__RESV_FLAG__RESV_FLAG_REPLACE_DOWN, 8, false },
    { "NO_HOLD_JOBS_AFTER_END", PST__RESV_FLAG__RESV_FLAG_NO_HOLD_JOBS_AFTER_END, 1, false },
    { "USER_DELETE", PST__RESV_FLAG__RESV_FLAG_USER_DELETE, 1, true },
    { "FORCE_START", PST__RESV_FLAG__RESV_FLAG_FORCE_START, 2, false },
};

static const char *const shown[] = {
    [PST__RESV_FLAG__RESV_FLAG_MAINT] = "MAINT",
    [PST__RESV_FLAG__RESV_FLAG_FLEX] = "FLEX",
    [PST__RESV_FLAG__RESV_FLAG_OVERLAP] = "OVERLAP",
    [PST__RESV_FLAG__RESV_FLAG_IGNORE_JOBS] = "IGNORE_JOBS",
    [PST__RESV_FLAG__RESV_FLAG_HOURLY] = "HOURLY",
    [PST__RESV_FLAG__RESV_FLAG_DAILY] = "DAILY",
    [PST__RESV_FLAG__RESV_FLAG_WEEKDAY] = "WEEKDAY",
    [PST__RESV_FLAG__RESV_FLAG_WEEKEND] = "WEEKEND",
    [PST__RESV_FLAG__RESV_FLAG_WEEKLY] = "WEEKLY",
    [PST__RESV_FLAG__RESV_FLAG_SPEC_NODES] = "SPEC_NODES",
    [PST__RESV_FLAG__RESV_FLAG_ALL_NODES] = "ALL_NODES",
    [PST__RESV_FLAG__RESV_FLAG_ANY_NODES] = "ANY_NODES",
    [PST__RESV_FLAG__RESV_FLAG_STATIC] = "STATIC",
    [PST__RESV_FLAG__RESV_FLAG_PART_NODES] = "PART_NODES",
    [PST__RESV_FLAG__RESV_FLAG_TIME_FLOAT] = "TIME_FLOAT",
    [PST__RESV_FLAG__RESV_FLAG_REPLACE] = "REPLACE",
    [PST__RESV_FLAG__RESV_FLAG_REPLACE_DOWN] = "REPLACE_DOWN",
    [PST__RESV_FLAG__RESV_FLAG_PURGE_COMP] = "PURGE_COMP",
    [PST__RESV_FLAG__RESV_FLAG_NO_HOLD_JOBS_AFTER_END] = "NO_HOLD_JOBS_AFTER_END",
    [PST__RESV_FLAG__RESV_FLAG_MAGNETIC] = "MAGNETIC",
    [PST__RESV_FLAG__RESV_FLAG_USER_DELETE] = "USER_DELETE",
    [PST__RESV_FLAG__RESV_FLAG_FORCE_START] = "FORCE_START",
};

const char *resv_flag_name(unsigned bit)
{
    return bit < ARRAY_SIZE(shown) ? shown[bit] : NULL;
}

uint64_t resv_flag_parse(const char *word, size_t len, uint32_t *ret_purge_s)
{
    const char *equals = memchr(word, '=', len);
    size_t n = equals ? (size_t)(equals - word) : len;
    char time[64];

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (n < words[i].shortest || n > strlen(words[i].name) ||
            strncasecmp(word, words[i].name, n) != 0)
            continue;
        if (words[i].bit != PST__RESV_FLAG__RESV_FLAG_PURGE_COMP)
            return equals ? 0 : UINT64_C(1) << words[i].bit;
        *ret_purge_s = RESV_PURGE_DEFAULT_S;
        if (equals) {
            uint32_t minutes;
            size_t rest = len - n - 1;

            if (rest == 0 || rest >= sizeof(time))
                return 0;
            memcpy(time, equals + 1, rest);
            time[rest] = '\0';
            if (strspn(time, "0123456789") == rest) {
                if (time_limit_parse(time, &minutes, NULL) < 0 || minutes > UINT32_MAX / 60 - 1)
                    return 0;
                *ret_purge_s = minutes * 60;
            } else if (time_secs_parse(time, ret_purge_s, NULL) < 0 || *ret_purge_s == UINT32_MAX) {
                return 0;
            }
        }
        return UINT64_C(1) << words[i].bit;
    }
    return 0;
}

bool resv_flag_removable(uint64_t flag)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (flag == UINT64_C(1) << words[i].bit)
            return words[i].removable;
    return false;
}

void resv_flags_text(const Pst__ReservationRecord *r, char *buf, size_t size)
{
    struct strbuf sb = STRBUF_INIT;
    char time[32];

    for (unsigned i = 0; r->has_flags && i < ARRAY_SIZE(shown); i++) {
        if (!(r->flags >> i & 1))
            continue;
        strbuf_addf(&sb, "%s%s", sb.len ? "," : "", shown[i]);
        if (i == PST__RESV_FLAG__RESV_FLAG_PURGE_COMP) {
            time_fmt_hms(r->purge_comp_s, time, sizeof(time));
            strbuf_addf(&sb, "=%s", time);
        }
    }
    (void)snprintf(buf, size, "%s", strbuf_str(&sb));
    strbuf_done(&sb);
}

/* ---- access lists ---------------------------------------------------------------------------- */

bool resv_list_denies(const char *list)
{
    return list && *list == '-';
}

/* Where name stands in the list, as "name" or "-name"; *ret_len with the sign. */
static const char *find_name(const char *list, const char *name, size_t len, size_t *ret_len)
{
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
        const char *word = p + (*p == '-');

        *ret_len = strcspn(p, ",");
        if (strcspn(word, ",") == len && strncmp(word, name, len) == 0)
            return p;
    }
    return NULL;
}

enum resv_match resv_list_match(const char *list, const char *name)
{
    size_t len;

    if (!list || !*list)
        return RESV_NO_LIST;
    if (name && find_name(list, name, strlen(name), &len))
        return resv_list_denies(list) ? RESV_DENIED : RESV_ALLOWED;
    return resv_list_denies(list) ? RESV_ALLOWED : RESV_DENIED;
}

/* The list without the entry at `at`. */
static void cut_entry(char *list, size_t at, size_t len)
{
    if (list[at + len] == ',')
        memmove(list + at, list + at + len + 1, strlen(list + at + len + 1) + 1);
    else
        list[at ? at - 1 : 0] = '\0'; /* the last one: the comma before it goes */
}

static int add_entry(struct strbuf *sb, bool deny, const char *name, size_t len, struct err *err)
{
    if (sb->len && (*strbuf_str(sb) == '-') != deny)
        return err_set(err, -EINVAL, "names with and without - cannot be in one list");
    strbuf_addf(sb, "%s%s%.*s", sb->len ? "," : "", deny ? "-" : "", (int)len, name);
    return 0;
}

/* "+c" of a list, and "-b" of one that names who may: the others stay in it. */
static bool changes_list(const char *old, const char *text)
{
    return old && *old && (*text == '+' || (*text == '-' && !resv_list_denies(old)));
}

int resv_list_edit(const char *old, const char *text, Pst__ListEdit how, char **ret,
                   struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    bool by_sign = how == PST__LIST_EDIT__LIST_SET && changes_list(old, text);
    int r = 0;

    if (by_sign)
        how = *text == '+' ? PST__LIST_EDIT__LIST_ADD : PST__LIST_EDIT__LIST_REMOVE;
    if (how != PST__LIST_EDIT__LIST_SET && old)
        strbuf_add(&sb, old);
    for (const char *p = text; r == 0 && *p; p += strcspn(p, ","), p += *p == ',') {
        if (by_sign && *p++ != *text)
            return err_set(err, -EINVAL, "all names have the same sign, or none has");
        bool minus = *p == '-', deny = minus != (how == PST__LIST_EDIT__LIST_REMOVE);
        size_t len = strcspn(p, ",") - minus, at_len;
        const char *name = p + minus;
        char *list = sb.buf;
        const char *at = list ? find_name(list, name, len, &at_len) : NULL;

        if (!len)
            continue;
        if (!at) {
            r = add_entry(&sb, deny, name, len, err);
        } else if ((*at == '-') != deny) { /* one step up or down the ladder: not named any more */
            cut_entry(list, (size_t)(at - list), at_len);
            sb.len = strlen(list);
        }
    }
    if (r < 0)
        return r;
    *ret = NULL;
    return sb.len ? strbuf_detach(&sb, ret) : sb.failed ? -ENOMEM : 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* So many days later at the same local time. */
static int64_t add_days(int64_t us, int days, int *ret_wday)
{
    time_t s = (time_t)(us / USEC_PER_SEC);
    struct tm tm;

    if (!localtime_r(&s, &tm))
        return us + days * 86400 * USEC_PER_SEC;
    tm.tm_mday += days;
    tm.tm_isdst = -1;
    s = mktime(&tm);
    *ret_wday = tm.tm_wday;
    return (int64_t)s * USEC_PER_SEC + us % USEC_PER_SEC;
}

static bool is_weekend(int wday)
{
    return wday == 0 || wday == 6;
}

int64_t resv_next_start(uint64_t flags, int64_t start_us)
{
    int wday = 0;

    if (flags & RESV_FLAG(HOURLY))
        return start_us + 3600 * USEC_PER_SEC;
    if (flags & RESV_FLAG(DAILY))
        return add_days(start_us, 1, &wday);
    if (flags & RESV_FLAG(WEEKLY))
        return add_days(start_us, 7, &wday);
    if (!(flags & (RESV_FLAG(WEEKDAY) | RESV_FLAG(WEEKEND))))
        return 0;
    for (int i = 1; i <= 7; i++) {
        int64_t next = add_days(start_us, i, &wday);

        if (is_weekend(wday) == ((flags & RESV_FLAG(WEEKEND)) != 0))
            return next;
    }
    return 0;
}

size_t resv_periods(const Pst__ReservationRecord *r, int64_t now_us, struct resv_period *ret,
                    size_t max)
{
    int64_t start = r->start_us, length = r->end_us - r->start_us;
    size_t n = 0;

    if (resv_has(r, RESV_FLAG(TIME_FLOAT)))
        start = now_us + (int64_t)r->float_s * USEC_PER_SEC;
    while (n < max) {
        if (start + length > now_us)
            ret[n++] = (struct resv_period){ start, start + length };
        start = r->has_flags ? resv_next_start(r->flags, start) : 0;
        if (!start)
            break;
    }
    return n;
}

bool resv_meet(const Pst__ReservationRecord *a, const Pst__ReservationRecord *b, int64_t now_us)
{
    struct resv_period x[RESV_OCCURRENCES_MAX], y[RESV_OCCURRENCES_MAX];
    size_t nx = resv_periods(a, now_us, x, ARRAY_SIZE(x)),
           ny = resv_periods(b, now_us, y, ARRAY_SIZE(y));

    for (size_t i = 0, k = 0; i < nx && k < ny;) {
        if (x[i].start_us < y[k].end_us && y[k].start_us < x[i].end_us)
            return true;
        if (x[i].end_us <= y[k].end_us)
            i++;
        else
            k++;
    }
    return false;
}
