/* exposition.c - metrics as the text that Prometheus reads; pure */
#include "ctld/web/exposition.h"

#include <inttypes.h>

#include "base/histogram.h"

#define USEC_DIGITS 6

static void add_name(struct strbuf *sb, const char *prefix, const char *suffix)
{
    strbuf_add(sb, prefix);
    if (suffix[0]) {
        strbuf_addc(sb, '_');
        strbuf_add(sb, suffix);
    }
}

void exposition_family(struct strbuf *sb, const char *prefix, const char *suffix, const char *type,
                       const char *help)
{
    strbuf_add(sb, "# HELP ");
    add_name(sb, prefix, suffix);
    strbuf_addf(sb, " %s\n# TYPE ", help);
    add_name(sb, prefix, suffix);
    strbuf_addf(sb, " %s\n", type);
}

/* Inside the quotes of a label. */
static void add_escaped(struct strbuf *sb, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\n') {
            strbuf_add(sb, "\\n");
            continue;
        }
        if (*p == '"' || *p == '\\')
            strbuf_addc(sb, '\\');
        strbuf_addc(sb, *p);
    }
}

static void add_label(struct strbuf *sb, const char *label, const char *text)
{
    strbuf_addf(sb, "%s=\"", label);
    add_escaped(sb, text);
    strbuf_addc(sb, '"');
}

void exposition_sample(struct strbuf *sb, const char *prefix, const char *suffix, const char *label,
                       const char *text, uint64_t value)
{
    add_name(sb, prefix, suffix);
    if (label) {
        strbuf_addc(sb, '{');
        add_label(sb, label, text);
        strbuf_addc(sb, '}');
    }
    strbuf_addf(sb, " %" PRIu64 "\n", value);
}

void exposition_gauge(struct strbuf *sb, const char *name, const char *help, uint64_t value)
{
    exposition_family(sb, name, "", "gauge", help);
    exposition_sample(sb, name, "", NULL, NULL, value);
}

/* 1500000 as "1.500000". */
static void add_seconds(struct strbuf *sb, uint64_t us)
{
    strbuf_addf(sb, "%" PRIu64 ".%0*" PRIu64, us / 1000000, USEC_DIGITS, us % 1000000);
}

static void add_bucket(struct strbuf *sb, const char *name, const char *label, const char *text,
                       unsigned i, uint64_t count)
{
    strbuf_addf(sb, "%s_bucket{", name);
    if (label) {
        add_label(sb, label, text);
        strbuf_addc(sb, ',');
    }
    strbuf_add(sb, "le=\"");
    if (i + 1 < HISTOGRAM_BUCKETS)
        add_seconds(sb, histogram_bound(i));
    else
        strbuf_add(sb, "+Inf");
    strbuf_addf(sb, "\"} %" PRIu64 "\n", count);
}

static void add_total(struct strbuf *sb, const char *name, const char *what, const char *label,
                      const char *text)
{
    strbuf_addf(sb, "%s_%s", name, what);
    if (label) {
        strbuf_addc(sb, '{');
        add_label(sb, label, text);
        strbuf_addc(sb, '}');
    }
    strbuf_addc(sb, ' ');
}

void exposition_histogram(struct strbuf *sb, const char *name, const char *label, const char *text,
                          const struct histogram *h)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += atomic_load_explicit(&h->counts[i], memory_order_relaxed);
        add_bucket(sb, name, label, text, i, count);
    }
    add_total(sb, name, "sum", label, text);
    add_seconds(sb, atomic_load_explicit(&h->sum, memory_order_relaxed));
    strbuf_addc(sb, '\n');
    add_total(sb, name, "count", label, text);
    strbuf_addf(sb, "%" PRIu64 "\n", count);
}
