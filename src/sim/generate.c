/* generate.c - see generate.h */
#include "sim/generate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/timefmt.h"
#include "sim/rng.h"

#define HOUR_S 3600.0
#define DAY_S 86400.0

struct gen {
    const struct generate_params *p;
    struct rng rng;
    struct workload *w;
    double at_s; /* of the next submission, from the beginning */
    uint32_t users, arrays;
    double stretch; /* of the times between submissions */
    double began_s;
    double user_sum; /* of 1/(rank + 1) */
};

static double draw_between(struct gen *g, double lo, double hi)
{
    return lo + (hi - lo) * rng_unit(&g->rng);
}

/* How busy the hour is, 0.25 .. 1.75; the mean over a day is 1. */
static double day_intensity(double at_s)
{
    double hour = fmod(at_s, DAY_S) / HOUR_S;

    return 1.0 + 0.75 * cos((hour - 14.0) / 24.0 * 2.0 * M_PI);
}

static int pick_user(struct gen *g, uint32_t *ret)
{
    double x = rng_unit(&g->rng) * g->user_sum;
    uint32_t rank = 0;
    char name[24];

    while (rank + 1 < g->users && (x -= 1.0 / (rank + 1)) > 0)
        rank++;
    (void)snprintf(name, sizeof(name), "user%02u", rank + 1);
    return name_index(&g->w->users, name, strlen(name), ret);
}

static uint32_t limit_for(struct gen *g, double run_s)
{
    static const uint32_t round[] = {
        15, 30, 60, 120, 240, 480, 720, 1440, 2880, 4320, 7200, 10080
    };
    double want = run_s * draw_between(g, 1.0, 5.0) / 60.0;

    for (size_t i = 0; i < ARRAY_SIZE(round); i++)
        if (want <= round[i])
            return round[i];
    return (uint32_t)MIN(ceil(run_s / DAY_S) * 1440.0, 1e8);
}

static int add_job(struct gen *g, struct sim_job *j, double run_s)
{
    j->id = (uint32_t)g->w->n + 1;
    j->part = WORKLOAD_NO_PART;
    j->submit_us = g->w->began_us + (int64_t)(g->at_s * (double)USEC_PER_SEC);
    j->run_us = MAX((int64_t)run_s, 1) * USEC_PER_SEC;
    return workload_add(g->w, j);
}

/* ---- Lublin and Feitelson -------------------------------------------------------------------- */

static uint32_t lublin_size(struct gen *g, double cpus)
{
    double high = log2(cpus), low = MIN(0.8, high), mid = MAX(high - 2.5, low);
    double u = rng_unit(&g->rng), x;

    if (u <= 0.244 || cpus < 2)
        return 1;
    x = rng_unit(&g->rng) <= 0.86 ? draw_between(g, low, mid) : draw_between(g, mid, high);
    if (u <= 0.244 + 0.576)
        x = floor(x + 0.5);
    return (uint32_t)MIN(floor(exp2(x) + 0.5), cpus);
}

static double lublin_run_s(struct gen *g, double size)
{
    double p = MIN(MAX(0.78 - 0.0054 * size, 0.05), 0.95), y;

    do
        y = rng_unit(&g->rng) <= p ? rng_gamma(&g->rng, 4.2, 0.94) : rng_gamma(&g->rng, 312, 0.03);
    while (y > 12);
    return exp(y);
}

static double lublin_gap_s(struct gen *g)
{
    double z;

    do
        z = rng_gamma(&g->rng, 10.23, 0.4871);
    while (z > 9);
    return exp(z);
}

static int lublin_job(struct gen *g)
{
    struct sim_job j = { .cpus_per_task = 1 };
    double run_s;
    int r = pick_user(g, &j.user);

    j.tasks = lublin_size(g, (double)g->p->nodes * g->p->cpus_per_node);
    run_s = lublin_run_s(g, j.tasks);
    j.limit_min = limit_for(g, run_s);
    if (r == 0)
        r = add_job(g, &j, run_s);
    g->at_s += g->stretch * lublin_gap_s(g) / day_intensity(g->at_s);
    return r;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static double draw_lognormal(struct gen *g, double median, double sigma, double most)
{
    double drawn = median * exp(sigma * rng_normal(&g->rng));

    return MIN(drawn, most);
}

/* The next whole power of two that is at most n, drawn with each as likely as the others. */
static uint32_t power_of_two(struct gen *g, uint32_t n)
{
    uint32_t most = 0;

    while (most < 31 && UINT32_C(2) << most <= n)
        most++;
    return UINT32_C(1) << rng_below(&g->rng, most + 1);
}

static void on_one_node(struct gen *g, struct sim_job *j, uint32_t gpus)
{
    uint32_t cpus = g->p->cpus_per_node * gpus / g->p->gpus_per_node;

    j->nodes = 1;
    j->tasks = 1;
    j->cpus_per_task = cpus ? cpus : 1;
    j->gpus_per_node = gpus;
}

static int add_sweep(struct gen *g, struct sim_job *j)
{
    uint32_t n = 4 + rng_below(&g->rng, 61);
    double run_s = draw_lognormal(g, 40 * 60, 0.8, 2 * DAY_S);
    int r = 0;

    j->array = ++g->arrays;
    on_one_node(g, j, 1);
    j->limit_min = limit_for(g, run_s * 1.3);
    for (uint32_t i = 0; r == 0 && i < n && g->w->n < g->p->jobs; i++)
        r = add_job(g, j, run_s * draw_between(g, 0.7, 1.3));
    return r;
}

static void shape_training(struct gen *g, struct sim_job *j)
{
    uint32_t group = g->p->segment && g->p->segment <= g->p->nodes / 4 ? g->p->segment : 1;
    uint32_t most = MIN(MAX(g->p->nodes / 4 / group, 1u), 64u);
    uint32_t nodes = power_of_two(g, most) * group;

    on_one_node(g, j, g->p->gpus_per_node);
    j->nodes = nodes;
    j->tasks = nodes;
    j->exclusive = true;
    j->segment = group > 1 ? group : 0;
}

static int gpu_job(struct gen *g)
{
    struct sim_job j = { .cpus_per_task = 1 };
    double kind = rng_unit(&g->rng), run_s;
    int r = pick_user(g, &j.user);

    g->at_s += g->stretch * rng_exponential(&g->rng, 60.0) / day_intensity(g->at_s);
    if (r < 0)
        return r;
    if (kind < 0.5) {
        run_s = draw_lognormal(g, 5 * 60, 1.0, 2 * HOUR_S);
        on_one_node(g, &j, 1);
    } else if (kind < 0.53) {
        return add_sweep(g, &j);
    } else if (kind < 0.93) {
        run_s = draw_lognormal(g, 2 * HOUR_S, 1.2, 2 * DAY_S);
        on_one_node(g, &j, power_of_two(g, g->p->gpus_per_node));
    } else {
        run_s = draw_lognormal(g, 9 * HOUR_S, 0.9, 6 * DAY_S);
        shape_training(g, &j);
    }
    j.limit_min = limit_for(g, run_s);
    return add_job(g, &j, run_s);
}

/* ---- load ------------------------------------------------------------------------------------ */

/* What arrives between the first and the last submission over what the machine can do in that
 * time. */
static double load_of(const struct gen *g, size_t first)
{
    const struct workload *w = g->w;
    double work = 0, span_s = g->at_s - g->began_s;

    for (size_t i = first; i < w->n; i++) {
        const struct sim_job *j = &w->jobs[i];
        double share = g->p->kind == SIM_GEN_GPU
                           ? (double)j->gpus_per_node * j->nodes / g->p->gpus_per_node
                           : (double)sim_job_cpus(j) / g->p->cpus_per_node;

        work += share * (double)sim_job_length_us(j) * 1e-6;
    }
    return span_s > 0 ? work / (g->p->nodes * span_s) : 0;
}

static int draw_jobs(struct gen *g, size_t first)
{
    int r = 0;

    g->w->n = first;
    g->rng.state = g->p->seed;
    g->arrays = 0;
    g->at_s = g->began_s;
    while (r == 0 && g->w->n - first < g->p->jobs)
        r = g->p->kind == SIM_GEN_GPU ? gpu_job(g) : lublin_job(g);
    return r;
}

/* The same jobs, with the times between them stretched until the load is as asked.  The day stays a
 * day: the stretched times meet other hours, so that it takes a few rounds. */
static int draw_for_load(struct gen *g, size_t first)
{
    int r = draw_jobs(g, first);

    for (int round = 0; r == 0 && g->p->load > 0 && round < 12; round++) {
        double have = load_of(g, first);

        if (!(have > 0) || fabs(have / g->p->load - 1) < 0.002)
            break;
        g->stretch *= have / g->p->load;
        r = draw_jobs(g, first);
    }
    return r;
}

int generate(const struct generate_params *p, struct workload *w, struct err *err)
{
    struct gen g = { .p = p,
                     .rng = { p->seed },
                     .w = w,
                     .users = p->users ? p->users : 64,
                     .stretch = 1,
                     .began_s = 8 * HOUR_S /* in the morning */ };
    size_t first = w->n;
    int r = 0;

    if (!p->nodes || !p->cpus_per_node || p->load < 0 ||
        (p->kind == SIM_GEN_GPU && !p->gpus_per_node))
        return err_set(err, -EINVAL,
                       "a generated workload needs nodes with CPUs%s, and a load of at least 0",
                       p->kind == SIM_GEN_GPU ? " and GPUs" : "");
    if (p->jobs > WORKLOAD_MAX_JOBS || g.users > 4096)
        return err_set(err, -E2BIG, "at most %u jobs of 4096 users can be generated",
                       WORKLOAD_MAX_JOBS);
    for (uint32_t i = 0; i < g.users; i++)
        g.user_sum += 1.0 / (i + 1);
    r = draw_for_load(&g, first);
    if (r == 0)
        workload_sort(w);
    return r;
}
