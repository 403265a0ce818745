/* fmt_sprio.c - the columns of sprio; see fmt_sprio.h.
 *
 * A factor is printed as it is (lower case letter) or times its weight (upper case); the row of
 * weights prints the weights in the columns of the factors and nothing elsewhere. */
#include "cli/format/fmt_sprio.h"

#include "base/cleanup.h"

#define ROW const struct prio_row *r = row

static bool is_weights(const struct prio_row *r)
{
    return r->rec == r->weights;
}

static void put_norm(struct strbuf *sb, const struct prio_row *r, double factor, double weight)
{
    if (r->rec->direct)
        strbuf_addc(sb, '0'); /* set by hand: there are no factors */
    else
        strbuf_addf(sb, is_weights(r) ? "%.0f" : "%.7f", is_weights(r) ? weight : factor);
}

static void put_weighted(struct strbuf *sb, const struct prio_row *r, double factor, double weight)
{
    strbuf_addf(sb, "%.0f", is_weights(r) ? weight : factor * weight);
}

#define FACTOR(name, field)                                                                        \
    static void norm_##name(struct strbuf *sb, const void *row)                                    \
    {                                                                                              \
        ROW;                                                                                       \
        put_norm(sb, r, r->rec->field, r->weights->field);                                         \
    }                                                                                              \
    static void weighted_##name(struct strbuf *sb, const void *row)                                \
    {                                                                                              \
        ROW;                                                                                       \
        put_weighted(sb, r, r->rec->field, r->weights->field);                                     \
    }                                                                                              \
    static int64_t sort_##name(const void *row)                                                    \
    {                                                                                              \
        ROW;                                                                                       \
        return (int64_t)(r->rec->field * 1e9);                                                     \
    }
FACTOR(age, age)
FACTOR(assoc, assoc)
FACTOR(fairshare, fairshare)
FACTOR(size, job_size)
FACTOR(part, partition_factor)
FACTOR(qos, qos)

static void get_job(struct strbuf *sb, const void *row)
{
    ROW;
    if (is_weights(r))
        strbuf_add(sb, "Weights");
    else
        strbuf_addf(sb, "%u", r->rec->job_id);
}

static int64_t sort_job(const void *row)
{
    ROW;
    return r->rec->job_id;
}

static void put_name(struct strbuf *sb, const struct prio_row *r, const char *text)
{
    if (!is_weights(r))
        strbuf_add(sb, text ? text : "(null)");
}

#define NAME(fn, expr)                                                                             \
    static void fn(struct strbuf *sb, const void *row)                                             \
    {                                                                                              \
        ROW;                                                                                       \
        put_name(sb, r, (expr));                                                                   \
    }
NAME(get_cluster, r->cluster)
NAME(get_account, r->account)
NAME(get_user, r->user)
NAME(get_qos_name, r->qos ? r->qos : "normal")
NAME(get_sluid, r->sluid)
NAME(get_partition, r->rec->partition)

static void get_nice(struct strbuf *sb, const void *row)
{
    ROW;
    if (!is_weights(r))
        strbuf_addf(sb, "%d", r->rec->nice);
}

static int64_t sort_nice(const void *row)
{
    ROW;
    return r->rec->nice;
}

static void get_site(struct strbuf *sb, const void *row)
{
    ROW;
    strbuf_addf(sb, "%d", r->rec->site);
}

static int64_t sort_site(const void *row)
{
    ROW;
    return r->rec->site;
}

static void get_priority(struct strbuf *sb, const void *row)
{
    ROW;
    if (!is_weights(r))
        strbuf_addf(sb, "%u", r->rec->priority);
}

static void get_norm_priority(struct strbuf *sb, const void *row)
{
    ROW;
    if (!is_weights(r)) /* a column cuts it off */
        strbuf_addf(sb, "%.14f", r->rec->priority / (double)UINT32_MAX);
}

static int64_t sort_priority(const void *row)
{
    ROW;
    return r->rec->priority;
}

/* "cpu=12,mem=3": those that are not 0. */
static void put_tres(struct strbuf *sb, const struct prio_row *r, bool norm)
{
    const char *comma = "";

    if (is_weights(r)) {
        strbuf_add(sb, !norm && r->tres_weights ? r->tres_weights : "");
        return;
    }
    for (size_t i = 0; i < r->rec->n_tres && i < r->weights->n_tres; i++) {
        double factor = r->rec->tres[i]->value, weight = r->weights->tres[i]->value;

        if (factor == 0)
            continue;
        strbuf_addf(sb, "%s%s=", comma, r->weights->tres[i]->name);
        strbuf_addf(sb, norm ? "%.2f" : "%.0f", norm ? factor : factor * weight);
        comma = ",";
    }
}

static void get_tres(struct strbuf *sb, const void *row)
{
    put_tres(sb, row, false);
}

static void get_norm_tres(struct strbuf *sb, const void *row)
{
    put_tres(sb, row, true);
}

static const struct fmt_field fields[] = {
    { 'a', false, NULL, "AGE", norm_age, sort_age, NULL },
    { 'A', false, NULL, "AGE", weighted_age, sort_age, NULL },
    { 'b', false, NULL, "ASSOC", norm_assoc, sort_assoc, NULL },
    { 'B', false, NULL, "ASSOC", weighted_assoc, sort_assoc, NULL },
    { 'c', false, NULL, "CLUSTER", get_cluster, NULL, NULL },
    { 'f', false, NULL, "FAIRSHARE", norm_fairshare, sort_fairshare, NULL },
    { 'F', false, NULL, "FAIRSHARE", weighted_fairshare, sort_fairshare, NULL },
    { 'i', false, NULL, "JOBID", get_job, sort_job, NULL },
    { 'j', false, NULL, "JOBSIZE", norm_size, sort_size, NULL },
    { 'J', false, NULL, "JOBSIZE", weighted_size, sort_size, NULL },
    { 'n', false, NULL, "QOSNAME", get_qos_name, NULL, NULL },
    { 'N', false, NULL, "NICE", get_nice, sort_nice, NULL },
    { 'o', false, NULL, "ACCOUNT", get_account, NULL, NULL },
    { 'p', false, NULL, "PARTITION", norm_part, sort_part, NULL },
    { 'P', false, NULL, "PARTITION", weighted_part, sort_part, NULL },
    { 'q', false, NULL, "QOS", norm_qos, sort_qos, NULL },
    { 'Q', false, NULL, "QOS", weighted_qos, sort_qos, NULL },
    { 'r', false, NULL, "PARTITION", get_partition, NULL, NULL },
    { 's', false, NULL, "SLUID", get_sluid, NULL, NULL },
    { 'S', false, NULL, "SITE", get_site, sort_site, NULL },
    { 't', false, NULL, "TRES", get_norm_tres, NULL, NULL },
    { 'T', false, NULL, "TRES", get_tres, NULL, NULL },
    { 'u', false, NULL, "USER", get_user, NULL, NULL },
    { 'y', false, NULL, "PRIORITY", get_norm_priority, sort_priority, NULL },
    { 'Y', false, NULL, "PRIORITY", get_priority, sort_priority, NULL },
};

const struct fmt_table sprio_fields = { fields, ARRAY_SIZE(fields), "job", NULL, true };

void sprio_add_factors(struct strbuf *format, const Pst__PriorityRecord *w, bool norm)
{
    const struct {
        double weight;
        char letter;
    } all[] = {
        { w->age, 'a' },
        { w->assoc, 'b' },
        { w->fairshare, 'f' },
        { w->job_size, 'j' },
        { w->partition_factor, 'p' },
        { w->qos, 'q' },
    };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (all[i].weight > 0)
            strbuf_addf(format, norm ? " %%10%c" : " %%.10%c",
                        norm ? all[i].letter : all[i].letter - 32);
    if (w->n_tres)
        strbuf_add(format, norm ? " %20t" : " %.20T");
}
