/* jobtext.c - small grammars of submission options; see jobtext.h.  Pure functions. */
#include "cli/job/jobtext.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"

#define WARN_SECS_DEFAULT 60
#define WARN_SECS_MAX 65535
#define SIGNAL_MAX 127
#define COUNT_MAX 2147483646u

/* Bits of JobRecord.mail_type. */
static const struct {
    const char *name;
    uint32_t bits;
} mail_events[] = {
    { "NONE", 0 },
    { "BEGIN", 0x1 },
    { "END", 0x2 },
    { "FAIL", 0x4 },
    { "REQUEUE", 0x8 },
    { "TIME_LIMIT", 0x10 },
    { "TIME_LIMIT_90", 0x20 },
    { "TIME_LIMIT_80", 0x40 },
    { "TIME_LIMIT_50", 0x80 },
    { "STAGE_OUT", 0x100 },
    { "ARRAY_TASKS", 0x200 },
    { "INVALID_DEPEND", 0x400 },
    { "ALL", 0x1 | 0x2 | 0x4 | 0x8 | 0x100 | 0x400 },
};

unsigned jobtext_signal_number(const char *text)
{
    uint64_t n;

    if (parse_u64(text, 1, SIGNAL_MAX, &n) == 0)
        return (unsigned)n; /* also numbers without a signal: sending them fails in the end */
    if (strncasecmp(text, "SIG", 3) == 0)
        text += 3;
    for (int sig = 1; sig < 32; sig++) {
        const char *name = sigabbrev_np(sig);

        if (name && strcasecmp(name, text) == 0)
            return (unsigned)sig;
    }
    return 0;
}

unsigned jobtext_x11(const char *text)
{
    static const struct {
        const char *name;
        unsigned bit;
    } words[] = {
        { "", X11_ALL },        { "all", X11_ALL },   { "batch", X11_BATCH },
        { "first", X11_FIRST }, { "last", X11_LAST },
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(text, words[i].name) == 0)
            return words[i].bit;
    return 0;
}

static void format_signal(unsigned number, char *buf, size_t size)
{
    const char *name = sigabbrev_np((int)number);

    if (name)
        (void)snprintf(buf, size, "%s", name);
    else
        (void)snprintf(buf, size, "%u", number);
}

int jobtext_signal_parse(const char *text, struct jobtext_signal *ret_signal, char **ret_canonical)
{
    struct jobtext_signal s = { .secs = WARN_SECS_DEFAULT };
    char word[32], name[32];
    const char *at;
    size_t len;

    len = strspn(text, "BbRr");
    if (len && text[len] == ':') {
        s.batch_only = strcspn(text, "Bb") < len;
        s.for_reservation = strcspn(text, "Rr") < len;
        text += len + 1;
    }
    at = strchr(text, '@');
    len = at ? (size_t)(at - text) : strlen(text);
    if (len == 0 || len >= sizeof(word))
        return -EINVAL;
    memcpy(word, text, len);
    word[len] = '\0';
    s.signal = jobtext_signal_number(word);
    if (s.signal == 0)
        return -EINVAL;
    if (at) {
        uint64_t secs;

        if (at[1] && parse_u64(at + 1, 0, WARN_SECS_MAX, &secs) < 0)
            return -EINVAL;
        s.secs = at[1] ? (uint32_t)secs : 0;
    }
    format_signal(s.signal, name, sizeof(name));
    if (asprintf(ret_canonical, "%s%s@%u", s.batch_only ? "B:" : "", name, s.secs) < 0)
        return -ENOMEM;
    *ret_signal = s;
    return 0;
}

int jobtext_mail_parse(const char *text, uint32_t *ret_bits)
{
    uint32_t bits = 0;
    bool known = false;

    do {
        size_t n = strcspn(text, ","), i;

        for (i = 0; i < ARRAY_SIZE(mail_events); i++) {
            if (strlen(mail_events[i].name) == n && strncasecmp(mail_events[i].name, text, n) == 0)
                break;
        }
        if (i < ARRAY_SIZE(mail_events)) {
            bits = mail_events[i].bits ? bits | mail_events[i].bits : 0;
            known = true;
        }
        text += n;
    } while (*text++ == ',');
    *ret_bits = bits;
    return known ? 0 : -EINVAL;
}

const char *jobtext_mail_word(uint32_t bits, unsigned *at)
{
    /* In the order in which users see them. */
    static const char *const order[] = { "INVALID_DEPEND", "BEGIN",         "END",
                                         "FAIL",           "REQUEUE",       "STAGE_OUT",
                                         "TIME_LIMIT_50",  "TIME_LIMIT_80", "TIME_LIMIT_90",
                                         "TIME_LIMIT",     "ARRAY_TASKS" };

    while (*at < ARRAY_SIZE(order)) {
        const char *word = order[(*at)++];
        uint32_t bit = 0;

        if (jobtext_mail_parse(word, &bit) == 0 && (bits & bit))
            return word;
    }
    return NULL;
}

static bool word_is(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && strncasecmp(text, word, len) == 0;
}

static bool dist_level_ok(const char *p, size_t len, unsigned level)
{
    static const char *const anywhere[] = { "*", "block", "cyclic" };

    for (size_t i = 0; i < ARRAY_SIZE(anywhere); i++) {
        if (word_is(p, len, anywhere[i]))
            return true;
    }
    if (level > 0)
        return word_is(p, len, "fcyclic");
    if (len > 6 && strncasecmp(p, "plane=", 6) == 0) {
        size_t digits = strspn(p + 6, "0123456789");

        return digits == len - 6 && digits < 10 && strtoul(p + 6, NULL, 10) > 0;
    }
    return word_is(p, len, "arbitrary");
}

bool jobtext_distribution_ok(const char *text)
{
    unsigned level = 0;

    if (strcasecmp(text, "pack") == 0 || strcasecmp(text, "nopack") == 0)
        return true;
    for (;;) {
        size_t len = strcspn(text, ":,");

        if (level > 2 || !dist_level_ok(text, len, level++))
            return false;
        text += len;
        if (*text == '\0')
            return true;
        if (*text++ == ',')
            return strcasecmp(text, "pack") == 0 || strcasecmp(text, "nopack") == 0;
    }
}

/* Digits with an optional k or m at *p. */
static int take_count(const char **p, uint32_t *ret)
{
    char *end;
    unsigned long long v;

    if (!isdigit((unsigned char)**p))
        return -EINVAL;
    errno = 0;
    v = strtoull(*p, &end, 10);
    if (errno || v > COUNT_MAX)
        return -EINVAL;
    if (*end == 'k' || *end == 'K') {
        v *= 1024;
        end++;
    } else if (*end == 'm' || *end == 'M') {
        v *= 1024ull * 1024;
        end++;
    }
    if (v > COUNT_MAX)
        return -EINVAL;
    *p = end;
    *ret = (uint32_t)v;
    return 0;
}

int jobtext_count_parse(const char *text, uint32_t *ret_count)
{
    uint32_t n;

    if (take_count(&text, &n) < 0 || *text)
        return -EINVAL;
    *ret_count = n;
    return 0;
}

int jobtext_nodes_parse(const char *text, uint32_t *ret_min, uint32_t *ret_max)
{
    bool negative = *text == '-';
    uint32_t min, max = 0;

    if (negative)
        text++;
    if (take_count(&text, &min) < 0)
        return -EINVAL;
    if (negative) {
        if (*text)
            return -EINVAL;
        *ret_min = *ret_max = 1; /* less than one node is one */
        return 0;
    }
    *ret_min = min;
    if (*text == '-') {
        text++;
        if (!*text)
            return -ERANGE;
        if (take_count(&text, &max) < 0 || max == 0)
            return -EINVAL;
    }
    if (*text)
        return -EINVAL;
    *ret_max = max;
    return 0;
}

int jobtext_node_counts(const char *text, uint32_t *ret, uint32_t max)
{
    uint32_t n = 0, kept = 0;

    do {
        uint32_t from, to, step = 1;

        if (take_count(&text, &from) < 0)
            return -EINVAL;
        to = from;
        if (*text == '-' && (text++, take_count(&text, &to) < 0))
            return -EINVAL;
        if (*text == ':' && (text++, take_count(&text, &step) < 0))
            return -EINVAL;
        if (!from || to < from || !step)
            return -EINVAL;
        for (uint64_t v = from; v <= to; v += step) {
            if (n == max)
                return -E2BIG;
            ret[n++] = (uint32_t)v;
        }
    } while (*text == ',' && text++);
    if (*text)
        return -EINVAL;
    qsort(ret, n, sizeof(*ret), order_u32);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || ret[i] != ret[kept - 1])
            ret[kept++] = ret[i];
    return (int)kept;
}

int jobtext_geometry_parse(const char *text, uint32_t ret_sct[3], unsigned *ret_bad)
{
    uint32_t sct[3] = { 0 }, most;

    for (unsigned i = 0; i < 3; i++) {
        *ret_bad = i;
        if (*text == '*')
            text++;
        else if (take_count(&text, &sct[i]) < 0 || sct[i] == 0)
            return -EINVAL;
        if (*text == '-' && (text++, take_count(&text, &most) < 0 || most < sct[i]))
            return -EINVAL;
        if (*text == '\0')
            break;
        if (*text++ != ':')
            return -EINVAL;
    }
    memcpy(ret_sct, sct, sizeof(sct)); /* what comes behind the threads says nothing */
    return 0;
}
