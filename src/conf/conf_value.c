/* conf_value.c - checking and converting single values; declared in conf_keys.h.
 *
 * Pure functions.  The sentence of a failure begins with the pair as it was written. */
#include "conf/conf_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

enum { SHOWN = 64 }; /* bytes of a bad value that a message repeats */

static bool is_infinite(const char *text)
{
    return strcasecmp(text, "INFINITE") == 0 || strcasecmp(text, "UNLIMITED") == 0 ||
           strcmp(text, "-1") == 0;
}

static int check_bool(const struct conf_keydef *row, const char *text, uint64_t *ret,
                      struct err *err)
{
    static const char *const yes[] = { "yes", "true", "up", "1" };
    static const char *const no[] = { "no", "false", "down", "0" };

    for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *ret = strcasecmp(text, yes[i]) == 0;
            return 0;
        }
    }
    return err_set(err, -EINVAL, "%s=%.*s is neither yes nor no", row->name, SHOWN, text);
}

static int check_range(const struct conf_keydef *row, int r, const char *text, uint64_t v,
                       struct err *err)
{
    if (r == -EINVAL)
        return err_set(err, r, "%s=%.*s is not a number", row->name, SHOWN, text);
    if (r < 0 || v < row->min || v > row->max)
        return err_set(err, -ERANGE, "%s=%.*s is out of range (%ju to %ju%s%s)", row->name, SHOWN,
                       text, (uintmax_t)row->min, (uintmax_t)row->max, row->unit[0] ? " " : "",
                       row->unit);
    return 0;
}

static int check_num(const struct conf_keydef *row, const char *text, uint64_t *ret,
                     struct err *err)
{
    uint64_t v = 0;
    int r;

    if (is_infinite(text) && (row->flags & CONF_F_INF)) {
        *ret = CONF_UNLIMITED;
        return 0;
    }
    r = parse_u64(text, 0, UINT64_MAX, &v);
    r = check_range(row, r, text, v, err);
    if (r == 0)
        *ret = v;
    return r;
}

/* The seconds of m:s, h:m:s and d-h:m:s, which a limit in minutes rounds up. */
static uint64_t odd_seconds(const char *text)
{
    const char *first = strchr(text, ':'), *last = strrchr(text, ':');

    return first && (first != last || !strchr(text, '-')) ? strtoul(last + 1, NULL, 10) : 0;
}

static int check_time(const struct conf_keydef *row, const char *text, bool seconds, uint64_t *ret,
                      struct err *err)
{
    uint32_t minutes = 0;
    uint64_t v;
    int r;

    if (!row->def && strcasecmp(text, "NONE") == 0) {
        *ret = CONF_NUM_NONE;
        return 0;
    }
    r = time_limit_parse(text, &minutes, NULL);
    if (r < 0)
        return err_set(err, -EINVAL, "%s=%.*s is not a time such as 30, 1:00:00 or 7-0", row->name,
                       SHOWN, text);
    if (!seconds) {
        *ret = minutes == TIME_LIMIT_INFINITE ? CONF_UNLIMITED : minutes;
        return 0;
    }
    v = minutes == TIME_LIMIT_INFINITE ? CONF_UNLIMITED : (uint64_t)minutes * 60;
    if (v != CONF_UNLIMITED && odd_seconds(text) % 60)
        v -= 60 - odd_seconds(text) % 60;
    r = v == CONF_UNLIMITED ? 0 : check_range(row, 0, text, v, err);
    if (r == 0)
        *ret = v;
    return r;
}

static int check_size(const struct conf_keydef *row, const char *text, uint64_t *ret,
                      struct err *err)
{
    uint64_t v = 0;
    int r;

    if (row->type == CONF_T_MIB && is_infinite(text)) {
        *ret = 0; /* of a limit on memory: none */
        return 0;
    }
    r = row->type == CONF_T_MIB ? size_mib_parse(text, &v, NULL) : size_count_parse(text, &v, NULL);
    if (r == -EINVAL)
        return err_set(err, r, "%s=%.*s is not a size such as 4096 or 4G", row->name, SHOWN, text);
    r = check_range(row, r, text, v, err);
    if (r == 0)
        *ret = v;
    return r;
}

/* Digits with up to three decimals and perhaps '%', kept in thousandths. */
static int check_percent(const struct conf_keydef *row, const char *text, uint64_t *ret,
                         struct err *err)
{
    uint64_t v = 0, scale = 1000;
    const char *p = text;

    for (; *p >= '0' && *p <= '9' && p - text < 9; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    v *= 1000;
    if (p > text && *p == '.') {
        for (p++; *p >= '0' && *p <= '9'; p++) {
            scale /= 10;
            v += scale * (uint64_t)(*p - '0');
        }
    }
    if (p > text && *p == '%')
        p++;
    if (p == text || *p)
        return err_set(err, -EINVAL, "%s=%.*s is not a percentage", row->name, SHOWN, text);
    if (v < row->min * 1000 || v > row->max * 1000)
        return check_range(row, -ERANGE, text, v, err);
    *ret = v;
    return 0;
}

static int check_ports(const struct conf_keydef *row, const char *text, uint64_t *ret,
                       struct err *err)
{
    char first[16];
    const char *dash = strchr(text, '-');
    uint64_t lo = 0, hi = 0;
    size_t n = dash ? (size_t)(dash - text) : strlen(text);
    int r = -EINVAL;

    if (n < sizeof(first)) {
        memcpy(first, text, n);
        first[n] = '\0';
        r = parse_u64(first, row->min, row->max, &lo);
    }
    hi = lo;
    if (r == 0 && dash)
        r = parse_u64(dash + 1, row->min, row->max, &hi);
    if (r == -EINVAL)
        return err_set(err, r, "%s=%.*s is neither a port nor a range of ports", row->name, SHOWN,
                       text);
    if (r == 0 && hi < lo)
        return err_set(err, -ERANGE, "%s=%.*s is an empty range", row->name, SHOWN, text);
    r = check_range(row, r, text, lo, err);
    if (r == 0)
        *ret = lo | hi << 16;
    return r;
}

static int check_text(const struct conf_keydef *row, const char *text, struct err *err)
{
    size_t len = strlen(text);

    if (row->max && (len < row->min || len > row->max))
        return err_set(err, -ERANGE, "%s=%.*s must have %ju to %ju characters", row->name, SHOWN,
                       text, (uintmax_t)row->min, (uintmax_t)row->max);
    return 0;
}

static int check_user(const struct conf_keydef *row, const char *text, uint64_t *ret,
                      struct err *err)
{
    uint64_t v;

    if (text[0] == '\0')
        return err_set(err, -EINVAL, "%s is empty", row->name);
    if (text[0] < '0' || text[0] > '9')
        return 0;
    if (parse_u64(text, 0, UINT32_MAX - 1, &v) < 0)
        return err_set(err, -EINVAL, "%s=%.*s is not a user", row->name, SHOWN, text);
    *ret = v;
    return 0;
}

/* Words of Slurm that are none here: what does their work. */
static const char *done_otherwise(enum conf_table_id table, int key, const char *text)
{
    static const struct {
        enum conf_key key;
        const char *word, *instead;
    } words[] = {
        { CONF_JOB_COMP_TYPE, "jobcomp/mysql",
          ": slurmdbd keeps jobs in a database: AccountingStorageType=accounting_storage/slurmdbd" },
        { CONF_JOB_COMP_TYPE, "jobcomp/lua", ": a program gets each job by jobcomp/script" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (table == CONF_TBL_KEY && key == (int)words[i].key &&
            strcasecmp(words[i].word, text) == 0)
            return words[i].instead;
    return "";
}

static int check_word(enum conf_table_id table, int key, const char *text, struct err *err)
{
    const struct conf_keydef *row = &conf_tables[table].rows[key];
    struct err why = { .text = "" };
    const char *hint;

    if (conf_word_find(table, key, text, strlen(text)))
        return 0;
    if (conf_word_find(table, key, text, strcspn(text, "=")))
        return err_set(err, -EINVAL, "%s=%.*s is not known: nothing may follow the word", row->name,
                       SHOWN, text);
    if (conf_word_check(table, key, text, strlen(text), &why) == 0)
        return 0; /* a key whose words are open */
    hint = strstr(why.text, "; did you mean");
    return err_set(err, -EINVAL, "%s=%.*s is not known%s", row->name, SHOWN, text,
                   hint ? hint : done_otherwise(table, key, text));
}

int conf_value_check(enum conf_table_id table, int key, const char *text, uint64_t *ret_num,
                     struct err *err)
{
    const struct conf_keydef *row = &conf_tables[table].rows[key];

    *ret_num = 0;
    switch (row->type) {
    case CONF_T_BOOL:
        return check_bool(row, text, ret_num, err);
    case CONF_T_NUM:
        return check_num(row, text, ret_num, err);
    case CONF_T_DUR:
        return check_time(row, text, true, ret_num, err);
    case CONF_T_TIME:
        return check_time(row, text, false, ret_num, err);
    case CONF_T_MIB:
    case CONF_T_COUNT:
        return check_size(row, text, ret_num, err);
    case CONF_T_PCT:
        return check_percent(row, text, ret_num, err);
    case CONF_T_PORTS:
        return check_ports(row, text, ret_num, err);
    case CONF_T_USER:
        return check_user(row, text, ret_num, err);
    case CONF_T_WORD:
        return check_word(table, key, text, err);
    case CONF_T_PATH:
        if (text[0] != '/')
            return err_set(err, -EINVAL, "%s=%.*s is not an absolute path", row->name, SHOWN, text);
        return 0;
    case CONF_T_TEXT:
        return check_text(row, text, err);
    case CONF_T_LIST:
    case CONF_T_HOST:
    case CONF_T_MULTI:
        return 0;
    }
    return 0;
}
