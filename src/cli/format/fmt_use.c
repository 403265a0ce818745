/* fmt_use.c - see fmt_use.h
 *
 * A record of a release that did not look at tasks, or of a site that does not, has what wait(2)
 * told: processor time and the largest process. */
#include "cli/format/fmt_use.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/format/fmt_squeue.h"
#include "cli/query/out_job.h"
#include "model/words/stepuse.h"

enum what { OF_AVE, OF_MAX, OF_MIN, OF_ALL };

static const Pst__StepUsage *usage_of(const struct sacct_row *r)
{
    return r->step ? r->step->usage : NULL;
}

static uint32_t tasks_of(const struct sacct_row *r)
{
    const Pst__StepUsage *u = usage_of(r);

    return u && u->tasks ? u->tasks : MAX(step_tasks(r->step), 1u);
}

void use_put_bytes(struct strbuf *sb, const struct sacct_row *r, uint64_t bytes, char usual)
{
    static const char units[] = "KMGTP";
    char unit = r->unit ? r->unit : usual;
    double value = (double)bytes;

    if (r->noconvert || !unit) {
        put_u64(sb, bytes);
        return;
    }
    for (const char *u = units; *u; u++) {
        value /= 1024;
        if (*u == unit)
            break;
    }
    if (value == (double)(uint64_t)value)
        strbuf_addf(sb, "%llu%c", (unsigned long long)value, unit);
    else
        strbuf_addf(sb, "%.2f%c", value, unit);
}

static void put_in_thousands(struct strbuf *sb, uint64_t n)
{
    static const char units[] = "KMGTP";
    double value = (double)n / 1000;
    const char *u = units;

    for (; value >= 1000 && u[1]; u++)
        value /= 1000;
    strbuf_addf(sb, "%.2f%c", value, *u);
}

void use_put_energy(struct strbuf *sb, uint64_t joule)
{
    put_in_thousands(sb, joule);
}

/* Sizes on disks: sacct has them in MiB, sstat as they are. */
static char disk_unit(const struct sacct_row *r)
{
    return r->live ? 0 : 'M';
}

static uint64_t pick_value(const struct sacct_row *r, const Pst__TaskUse *u, enum what what)
{
    return what == OF_MAX   ? u->max
           : what == OF_MIN ? u->min
           : what == OF_AVE ? u->total / tasks_of(r)
                            : u->total;
}

static void put_value(struct strbuf *sb, const struct sacct_row *r, Pst__UseKind kind,
                      uint64_t value, char disk)
{
    switch (kind) {
    case PST__USE_KIND__USE_CPU:
        put_hms(sb, (int64_t)(value / 1000000));
        return;
    case PST__USE_KIND__USE_PAGES:
    case PST__USE_KIND__USE_GPU_UTIL:
        put_u64(sb, value);
        return;
    case PST__USE_KIND__USE_GPU_MEM:
        use_put_bytes(sb, r, value, value % (1u << 20) ? 'K' : 'M');
        return;
    case PST__USE_KIND__USE_MEM:
    case PST__USE_KIND__USE_VMEM:
        use_put_bytes(sb, r, value, 'K');
        return;
    default:
        use_put_bytes(sb, r, value, disk);
    }
}

static void put_use(struct strbuf *sb, const struct sacct_row *r, Pst__UseKind kind, enum what what)
{
    const Pst__TaskUse *u = stepuse_find(usage_of(r), kind);

    if (u)
        put_value(sb, r, kind, pick_value(r, u, what), disk_unit(r));
}

static void put_node(struct strbuf *sb, const struct sacct_row *r, Pst__UseKind kind,
                     enum what what)
{
    const Pst__TaskUse *u = stepuse_find(usage_of(r), kind);
    const char *node = !u ? NULL : what == OF_MAX ? u->max_node : u->min_node;

    if (node)
        strbuf_add(sb, node);
}

static void put_task(struct strbuf *sb, const struct sacct_row *r, Pst__UseKind kind,
                     enum what what)
{
    const Pst__TaskUse *u = stepuse_find(usage_of(r), kind);

    if (u)
        put_u64(sb, what == OF_MAX ? u->max_task : u->min_task);
}

/* ---- columns of one value -------------------------------------------------------------------- */

#define COLUMN(name, call)                                                                         \
    void name(struct strbuf *sb, const struct sacct_row *r)                                        \
    {                                                                                              \
        call;                                                                                      \
    }
#define EXTREME(name, kind, what)                                                                  \
    COLUMN(name, put_use(sb, r, PST__USE_KIND__##kind, what))                                      \
    COLUMN(name##_node, put_node(sb, r, PST__USE_KIND__##kind, what))                              \
    COLUMN(name##_task, put_task(sb, r, PST__USE_KIND__##kind, what))

EXTREME(use_max_read, USE_DISK_READ, OF_MAX)
EXTREME(use_max_written, USE_DISK_WRITE, OF_MAX)
EXTREME(use_max_pages, USE_PAGES, OF_MAX)
EXTREME(use_max_vm, USE_VMEM, OF_MAX)
EXTREME(use_min_cpu, USE_CPU, OF_MIN)
COLUMN(use_ave_read, put_use(sb, r, PST__USE_KIND__USE_DISK_READ, OF_AVE))
COLUMN(use_ave_written, put_use(sb, r, PST__USE_KIND__USE_DISK_WRITE, OF_AVE))
COLUMN(use_ave_pages, put_use(sb, r, PST__USE_KIND__USE_PAGES, OF_AVE))
COLUMN(use_ave_vm, put_use(sb, r, PST__USE_KIND__USE_VMEM, OF_AVE))
COLUMN(use_max_rss_task, put_task(sb, r, PST__USE_KIND__USE_MEM, OF_MAX))

/* Known of every step, even when its use was not sampled. */
static bool only_waited(const struct sacct_row *r)
{
    const Pst__StepUsage *u = usage_of(r);

    return u && !u->n_uses && u->max_rss_kib && !r->live;
}

void use_max_rss(struct strbuf *sb, const struct sacct_row *r)
{
    if (only_waited(r))
        use_put_bytes(sb, r, usage_of(r)->max_rss_kib << 10, 'K');
    put_use(sb, r, PST__USE_KIND__USE_MEM, OF_MAX);
}

void use_max_rss_node(struct strbuf *sb, const struct sacct_row *r)
{
    if (only_waited(r) && usage_of(r)->max_rss_node)
        strbuf_add(sb, usage_of(r)->max_rss_node);
    put_node(sb, r, PST__USE_KIND__USE_MEM, OF_MAX);
}

void use_ave_rss(struct strbuf *sb, const struct sacct_row *r)
{
    if (only_waited(r) && tasks_of(r) == 1)
        use_put_bytes(sb, r, usage_of(r)->max_rss_kib << 10, 'K');
    put_use(sb, r, PST__USE_KIND__USE_MEM, OF_AVE);
}

void use_ave_cpu(struct strbuf *sb, const struct sacct_row *r)
{
    const Pst__StepUsage *u = usage_of(r);

    if (only_waited(r))
        put_hms(sb, (int64_t)((u->user_us + u->sys_us) / tasks_of(r) / 1000000));
    put_use(sb, r, PST__USE_KIND__USE_CPU, OF_AVE);
}

void use_ave_freq(struct strbuf *sb, const struct sacct_row *r)
{
    const Pst__StepUsage *u = usage_of(r);
    uint64_t khz = u && u->n_uses ? u->freq_khz / tasks_of(r) : 0;

    if (r->step && khz >= 1000 && !r->noconvert)
        put_in_thousands(sb, khz);
    else if (r->step)
        put_u64(sb, khz);
}

/* ---- columns of all -------------------------------------------------------------------------- */

static const struct column {
    const char *name;
    Pst__UseKind kind;
} in[] = {
    { "cpu", PST__USE_KIND__USE_CPU },
    { "fs/disk", PST__USE_KIND__USE_DISK_READ },
    { "fs/lustre", PST__USE_KIND__USE_LUSTRE_READ },
    { "gres/gpumem", PST__USE_KIND__USE_GPU_MEM },
    { "gres/gpuutil", PST__USE_KIND__USE_GPU_UTIL },
    { "ic/sysfs", PST__USE_KIND__USE_NET_IN },
    { "mem", PST__USE_KIND__USE_MEM },
    { "pages", PST__USE_KIND__USE_PAGES },
    { "vmem", PST__USE_KIND__USE_VMEM },
}, out[] = {
    { "fs/disk", PST__USE_KIND__USE_DISK_WRITE },
    { "fs/lustre", PST__USE_KIND__USE_LUSTRE_WRITE },
    { "ic/sysfs", PST__USE_KIND__USE_NET_OUT },
};

enum { OUT = 0, IN = 1 };

static const struct column *pick_column(bool incoming, size_t i)
{
    return incoming ? &in[i] : &out[i];
}

/* The i-th value's place: "cpu=", behind which energy stands, which is not of tasks. */
static const Pst__TaskUse *begin_value(struct strbuf *sb, const struct sacct_row *r, bool incoming,
                                       size_t i, size_t start)
{
    const struct column *c = pick_column(incoming, i);
    const Pst__TaskUse *u = stepuse_find(usage_of(r), c->kind);

    if (u)
        strbuf_addf(sb, "%s%s=", sb->len > start ? "," : "", c->name);
    return u;
}

static size_t count_kinds(bool incoming)
{
    return incoming ? ARRAY_SIZE(in) : ARRAY_SIZE(out);
}

/* Energy is the step's, and nothing is put into it. */
static void put_energy(struct strbuf *sb, const struct sacct_row *r, bool incoming, size_t start)
{
    strbuf_addf(sb, "%senergy=%llu", sb->len > start ? "," : "",
                incoming ? (unsigned long long)usage_of(r)->energy_j : 0);
}

static void put_all(struct strbuf *sb, const struct sacct_row *r, bool incoming, enum what what)
{
    const Pst__StepUsage *step = usage_of(r);
    size_t start = sb->len;

    if (!step)
        return;
    if (!incoming || !step->n_uses) {
        if (step->n_uses || what != OF_MIN)
            put_energy(sb, r, incoming, start);
    }
    for (size_t i = 0; i < count_kinds(incoming); i++) {
        const Pst__TaskUse *u = begin_value(sb, r, incoming, i, start);

        if (u)
            put_value(sb, r, u->kind, pick_value(r, u, what), 0);
        if (u && incoming && i == 0)
            put_energy(sb, r, true, start);
    }
}

static void put_all_nodes(struct strbuf *sb, const struct sacct_row *r, bool incoming,
                          enum what what)
{
    const Pst__StepUsage *step = usage_of(r);
    size_t start = sb->len;

    if (!step || !step->n_uses)
        return;
    if (!incoming) {
        strbuf_add(sb, "energy=");
        put_node(sb, r, PST__USE_KIND__USE_DISK_WRITE, what);
    }
    for (size_t i = 0; i < count_kinds(incoming); i++) {
        if (!begin_value(sb, r, incoming, i, start))
            continue;
        put_node(sb, r, pick_column(incoming, i)->kind, what);
        if (incoming && i == 0) {
            strbuf_add(sb, ",energy=");
            put_node(sb, r, PST__USE_KIND__USE_CPU, what);
        }
    }
}

/* sstat prints the task beside `cpu` as it prints times. */
static void put_all_tasks(struct strbuf *sb, const struct sacct_row *r, bool incoming,
                          enum what what)
{
    size_t start = sb->len;

    for (size_t i = 0; i < count_kinds(incoming); i++) {
        const Pst__TaskUse *u = begin_value(sb, r, incoming, i, start);
        uint32_t task = !u ? 0 : what == OF_MAX ? u->max_task : u->min_task;

        if (u && r->live && u->kind == PST__USE_KIND__USE_CPU)
            put_hms(sb, task);
        else if (u)
            put_u64(sb, task);
    }
}

#define ALL(name, incoming)                                                                        \
    COLUMN(name##_ave, put_all(sb, r, incoming, OF_AVE))                                           \
    COLUMN(name##_max, put_all(sb, r, incoming, OF_MAX))                                           \
    COLUMN(name##_max_node, put_all_nodes(sb, r, incoming, OF_MAX))                                \
    COLUMN(name##_max_task, put_all_tasks(sb, r, incoming, OF_MAX))                                \
    COLUMN(name##_min, put_all(sb, r, incoming, OF_MIN))                                           \
    COLUMN(name##_min_node, put_all_nodes(sb, r, incoming, OF_MIN))                                \
    COLUMN(name##_min_task, put_all_tasks(sb, r, incoming, OF_MIN))                                \
    COLUMN(name##_tot, put_all(sb, r, incoming, OF_ALL))

ALL(use_in, IN)
ALL(use_out, OUT)
