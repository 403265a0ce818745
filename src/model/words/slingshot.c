/* slingshot.c - words of switch/hpe_slingshot; see slingshot.h */
#include "model/words/slingshot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define WORD_MAX 64
#define VNI_MAX 65535u

struct word { /* "name=value" of a list */
    const char *text;
    int len, name_len;
    const char *value; /* NULL without '=' */
    int value_len;
};

static const struct {
    const char *def, *res, *max;
} limit_words[] = {
    [SLINGSHOT_PTES] = { "def_ptes", "res_ptes", "max_ptes" },
    [SLINGSHOT_TXQS] = { "def_txqs", "res_txqs", "max_txqs" },
    [SLINGSHOT_TGQS] = { "def_tgqs", "res_tgqs", "max_tgqs" },
    [SLINGSHOT_EQS] = { "def_eqs", "res_eqs", "max_eqs" },
    [SLINGSHOT_CTS] = { "def_cts", "res_cts", "max_cts" },
    [SLINGSHOT_LES] = { "def_les", "res_les", "max_les" },
    [SLINGSHOT_TLES] = { "def_tles", "res_tles", "max_tles" },
    [SLINGSHOT_ACS] = { "def_acs", "res_acs", "max_acs" },
};

static const struct slingshot defaults = {
    .vni_first = 1024,
    .vni_last = VNI_MAX,
    .tcs = SLINGSHOT_LOW_LATENCY | SLINGSHOT_BEST_EFFORT,
    .destroy_retries = 5,
    .adjust = true,
    .limits = {
        [SLINGSHOT_PTES] = { .per_cpu = 6, .max = 2048 },
        [SLINGSHOT_TXQS] = { .per_cpu = 2, .max = 1024 },
        [SLINGSHOT_TGQS] = { .per_cpu = 1, .max = 512 },
        [SLINGSHOT_EQS] = { .per_cpu = 2, .max = 2047 },
        [SLINGSHOT_CTS] = { .per_cpu = 1, .max = 2047 },
        [SLINGSHOT_LES] = { .per_cpu = 16, .max = 16384 },
        [SLINGSHOT_TLES] = { .per_cpu = 1, .max = 2048 },
        [SLINGSHOT_ACS] = { .per_cpu = 2, .max = 1022 },
    },
};

static bool word_is(const struct word *w, const char *name)
{
    return w->name_len == (int)strlen(name) && strncasecmp(w->text, name, (size_t)w->name_len) == 0;
}

static bool value_is(const struct word *w, const char *value)
{
    return w->value && w->value_len == (int)strlen(value) &&
           strncasecmp(w->value, value, (size_t)w->value_len) == 0;
}

static int read_number(const struct word *w, uint32_t max, uint32_t *ret, struct err *err)
{
    char copy[WORD_MAX];
    uint64_t n;

    if (!w->value || w->value_len >= (int)sizeof(copy))
        return err_set(err, -EINVAL, "%.*s needs a number", MIN(w->len, WORD_MAX), w->text);
    (void)snprintf(copy, sizeof(copy), "%.*s", w->value_len, w->value);
    if (parse_u64(copy, 0, max, &n) < 0)
        return err_set(err, -EINVAL, "%.*s: the number is not one of 0 to %u", w->len, w->text,
                       max);
    *ret = (uint32_t)n;
    return 1;
}

static int read_range(const struct word *w, struct slingshot *s, struct err *err)
{
    uint32_t first = 0, last = 0;
    char copy[WORD_MAX] = "";
    int end = 0;

    if (w->value && w->value_len < (int)sizeof(copy))
        (void)snprintf(copy, sizeof(copy), "%.*s", w->value_len, w->value);
    if (sscanf(copy, "%5u-%5u%n", &first, &last, &end) != 2 || end != (int)strlen(copy) ||
        first == 0 || first > last || last > VNI_MAX)
        return err_set(err, -EINVAL, "%.*s is no range of numbers from 1 to %u, as vnis=1024-65535",
                       MIN(w->len, WORD_MAX), w->text, VNI_MAX);
    s->vni_first = first;
    s->vni_last = last;
    return 1;
}

static int read_when(const struct word *w, enum slingshot_when *ret, struct err *err)
{
    if (!w->value || value_is(w, "all"))
        *ret = SLINGSHOT_ALL;
    else if (value_is(w, "user"))
        *ret = SLINGSHOT_USER;
    else if (value_is(w, "none"))
        *ret = SLINGSHOT_NONE;
    else
        return err_set(err, -EINVAL, "%.*s: the value is not all, user or none",
                       MIN(w->len, WORD_MAX), w->text);
    return 1;
}

static int read_classes(const struct word *w, unsigned *ret, struct err *err)
{
    static const char *const names[] = { "DEDICATED_ACCESS", "LOW_LATENCY", "BULK_DATA",
                                         "BEST_EFFORT" };
    unsigned tcs = 0;
    int at = 0;

    while (w->value && at < w->value_len) {
        const char *one = w->value + at;
        const char *colon = memchr(one, ':', (size_t)(w->value_len - at));
        int len = colon ? (int)(colon - one) : w->value_len - at;
        size_t i = 0;

        while (i < ARRAY_SIZE(names) &&
               (len != (int)strlen(names[i]) || strncasecmp(one, names[i], (size_t)len) != 0))
            i++;
        if (i == ARRAY_SIZE(names))
            return err_set(err, -EINVAL,
                           "%.*s is no traffic class: DEDICATED_ACCESS, LOW_LATENCY, BULK_DATA or "
                           "BEST_EFFORT, with colons between them",
                           MIN(len, WORD_MAX), one);
        tcs |= 1u << i;
        at += len + 1;
    }
    if (!tcs)
        return err_set(err, -EINVAL, "tcs needs traffic classes, as tcs=LOW_LATENCY:BEST_EFFORT");
    *ret = tcs;
    return 1;
}

/* "def_txqs=3" and its like; 0: another word. */
static int read_limit(const struct word *w, struct slingshot *s, struct err *err)
{
    for (unsigned r = 0; r < SLINGSHOT_RESOURCES; r++) {
        struct slingshot_limit *l = &s->limits[r];

        if (word_is(w, limit_words[r].def))
            return read_number(w, UINT16_MAX, &l->per_cpu, err);
        if (word_is(w, limit_words[r].max))
            return read_number(w, UINT16_MAX, &l->max, err);
        if (word_is(w, limit_words[r].res)) {
            l->has_per_node = true;
            return read_number(w, UINT16_MAX, &l->per_node, err);
        }
    }
    return 0;
}

/* Words that SwitchParameters and --network have in common. */
static int read_common(const struct word *w, struct slingshot *s, struct err *err)
{
    if (word_is(w, "tcs"))
        return read_classes(w, &s->tcs, err);
    if (word_is(w, "adjust_limits") || word_is(w, "no_adjust_limits")) {
        s->adjust = word_is(w, "adjust_limits");
        return 1;
    }
    return read_limit(w, s, err);
}

static int read_param(const struct word *w, struct slingshot *s, struct err *err)
{
    int r;

    if (word_is(w, "vnis"))
        return read_range(w, s, err);
    if (word_is(w, "single_node_vni"))
        return read_when(w, &s->single_node, err);
    if (word_is(w, "job_vni"))
        return read_when(w, &s->job, err);
    if (word_is(w, "destroy_retries"))
        return read_number(w, 3600, &s->destroy_retries, err);
    r = read_common(w, s, err);
    return MIN(r, 1);
}

static int allow_vni(const struct word *w, enum slingshot_when when, bool *ret, struct err *err)
{
    if (when == SLINGSHOT_NONE)
        return err_set(err, -EINVAL, "--network: %.*s is switched off here (SwitchParameters)",
                       w->len, w->text);
    *ret = true;
    return 1;
}

static int read_network(const struct word *w, struct slingshot *s, struct err *err)
{
    int r = read_common(w, s, err);

    if (r != 0)
        return r;
    if (word_is(w, "job_vni") && !w->value)
        return allow_vni(w, s->job, &s->job_vni, err);
    if (word_is(w, "single_node_vni") && !w->value)
        return allow_vni(w, s->single_node, &s->single_node_vni, err);
    if (word_is(w, "no_vni") && !w->value) {
        s->no_vni = true;
        return 1;
    }
    if (word_is(w, "depth"))
        return read_number(w, 1024, &s->depth, err);
    return err_set(err, -EINVAL,
                   "--network: \"%.*s\" is not known to switch/hpe_slingshot, which takes job_vni, "
                   "single_node_vni, no_vni, tcs=, depth=, [no_]adjust_limits, and def_, res_ and "
                   "max_ of txqs, tgqs, eqs, cts, tles, ptes, les and acs",
                   MIN(w->len, WORD_MAX), w->text);
}

static int read_words(const char *list,
                      int (*read)(const struct word *, struct slingshot *, struct err *),
                      struct slingshot *s, struct err *err)
{
    for (const char *at = list; at && *at; at += *at == ',') {
        struct word w = { .text = at, .len = (int)MIN(strcspn(at, ","), (size_t)UINT16_MAX) };
        const char *eq = memchr(at, '=', (size_t)w.len);
        int r;

        w.name_len = eq ? (int)(eq - at) : w.len;
        w.value = eq ? eq + 1 : NULL;
        w.value_len = eq ? w.len - w.name_len - 1 : 0;
        r = w.len ? read(&w, s, err) : 0;
        if (r < 0)
            return r;
        at += strcspn(at, ",");
    }
    return 0;
}

int slingshot_read(const char *params, const char *network, struct slingshot *ret, struct err *err)
{
    struct slingshot s = defaults, site;
    int r = read_words(params, read_param, &s, err);

    site = s;
    if (r == 0)
        r = read_words(network, read_network, &s, err);
    for (unsigned i = 0; i < SLINGSHOT_RESOURCES; i++) /* a user may take less, never more */
        s.limits[i].max = MIN(s.limits[i].max, site.limits[i].max);
    if (r == 0)
        *ret = s;
    return r;
}

uint32_t slingshot_vnis(const struct slingshot *s, uint32_t nodes)
{
    if (s->no_vni)
        return 0;
    if (nodes < 2 && s->single_node != SLINGSHOT_ALL && !s->single_node_vni)
        return 0;
    return s->job == SLINGSHOT_ALL || s->job_vni ? 2 : 1;
}

uint32_t slingshot_reserved(const struct slingshot *s, enum slingshot_resource r, uint32_t cpus)
{
    const struct slingshot_limit *l = &s->limits[r];
    uint64_t all = (uint64_t)l->per_cpu * (s->depth ? s->depth : cpus);

    return (uint32_t)MIN(l->has_per_node ? l->per_node : all, (uint64_t)l->max);
}
