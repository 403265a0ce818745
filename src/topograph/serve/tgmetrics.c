/* tgmetrics.c - see tgmetrics.h */
#include "topograph/serve/tgmetrics.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const double edges_s[] = { 1, 2, 5, 10, 20, 30 };

struct series {
    enum tgmetric metric;
    char labels[160];
    uint64_t count, below[ARRAY_SIZE(edges_s)];
    double sum;
};
struct tgmetrics {
    struct series items[TGMETRICS_SERIES_MAX];
    size_t n;
};

static const struct {
    const char *name, *type, *help;
} metrics[] = {
    [TGMETRIC_HTTP] = { "topograph_http_request_duration_seconds", "histogram",
                        "How long requests took to answer." },
    [TGMETRIC_RUN] = { "topograph_request_duration_seconds", "histogram",
                       "How long runs took to make a topology." },
    [TGMETRIC_VALIDATION] = { "topograph_validation_error_total", "counter",
                              "Requests that were refused." },
    [TGMETRIC_MISSING] = { "topograph_missing_topology", "gauge",
                           "Nodes of the last run that have no place." },
};

int tgmetrics_new(struct tgmetrics **ret_metrics)
{
    *ret_metrics = calloc(1, sizeof(**ret_metrics));
    return *ret_metrics ? 0 : -ENOMEM;
}

struct tgmetrics *tgmetrics_free(struct tgmetrics *m)
{
    free(m);
    return NULL;
}

void tgmetrics_add(struct tgmetrics *m, enum tgmetric metric, const char *labels, double value)
{
    struct series *s = m->items;

    while (s < m->items + m->n && (s->metric != metric || strcmp(s->labels, labels) != 0))
        s++;
    if (s == m->items + m->n) {
        if (m->n == TGMETRICS_SERIES_MAX || strlen(labels) >= sizeof(s->labels))
            return;
        *s = (struct series){ .metric = metric };
        (void)strncat(s->labels, labels, sizeof(s->labels) - 1);
        m->n++;
    }
    s->count++;
    s->sum = metric == TGMETRIC_MISSING ? value : s->sum + value;
    for (size_t i = 0; i < ARRAY_SIZE(edges_s); i++)
        s->below[i] += value <= edges_s[i];
}

static void write_series(const struct series *s, struct strbuf *out)
{
    const char *name = metrics[s->metric].name, *comma = *s->labels ? "," : "";

    if (s->metric != TGMETRIC_HTTP && s->metric != TGMETRIC_RUN) {
        strbuf_addf(out, "%s{%s} %g\n", name, s->labels, s->sum);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(edges_s); i++)
        strbuf_addf(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", name, s->labels, comma, edges_s[i],
                    (unsigned long long)s->below[i]);
    strbuf_addf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, s->labels, comma,
                (unsigned long long)s->count);
    strbuf_addf(out, "%s_sum{%s} %.6f\n%s_count{%s} %llu\n", name, s->labels, s->sum, name,
                s->labels, (unsigned long long)s->count);
}

void tgmetrics_write(const struct tgmetrics *m, const char *version, struct strbuf *out)
{
    strbuf_addf(out,
                "# HELP topograph_version The version that runs.\n# TYPE topograph_version gauge\n"
                "topograph_version{version=\"%s\"} 1\n",
                version);
    for (size_t k = 0; k < ARRAY_SIZE(metrics); k++) {
        strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", metrics[k].name, metrics[k].help,
                    metrics[k].name, metrics[k].type);
        for (size_t i = 0; i < m->n; i++)
            if (m->items[i].metric == k)
                write_series(&m->items[i], out);
    }
}
