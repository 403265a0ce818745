/* test_sched_random.c - thousands of small clusters and queues against the slow model of
 * sched_ref.h
 *
 * Checked: nothing is over-allocated or breaks a constraint; a pass starts exactly the jobs that
 * strict order allows; backfill does not move the first blocked job's start back, and tells it
 * truly; equal histories give equal decisions. */
#include "sched_ref.h"

static uint64_t rng;

static uint32_t below(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)((rng >> 11) % n);
}

static bool chance(uint32_t percent)
{
    return below(100) < percent;
}

/* ---- making worlds --------------------------------------------------------------------------- */

static const char *part_names[] = { "p0", "p1", "p2" };

static const char *feature_lists[] = { "", "a", "b", "a,b", "c", "a,c", "b,c", "a,b,c" };

/* Each device is near the CPUs of one socket, some near all. */
static void make_near(struct rnode *n)
{
    uint32_t per = n->in.cpus / n->in.sockets;

    if (chance(40))
        return;
    for (uint32_t k = 0; k < n->in.sockets; k++)
        n->masks[k] = ((UINT64_C(1) << per) - 1) << k * per;
    for (size_t r = 0; r < n->in.ngres; r++) {
        for (uint64_t d = 0; d < n->gres[r].count; d++)
            n->near[r][d] = chance(85) ? &n->masks[below(n->in.sockets)] : NULL;
        n->gres[r].near_cpus = n->near[r];
    }
}

/* Every GPU can be shared, some by more jobs than others. */
static void make_shares(struct rnode *n)
{
    struct sched_gres_spec *spec = &n->gres[n->in.ngres];

    *spec = (struct sched_gres_spec){ .name = "shard", .indexed = true, .shares = n->shares };
    for (size_t r = 0; r < n->in.ngres; r++) {
        for (uint64_t d = 0; d < n->gres[r].count; d++) {
            n->shares[spec->nshares] =
                (struct sched_gres_share){ (uint32_t)spec->nshares, 1 + below(4) };
            spec->count += n->shares[spec->nshares++].count;
        }
    }
    n->in.ngres++;
}

static void make_node(struct world *w, uint32_t id)
{
    struct rnode *n = &w->nodes[id];
    uint32_t sockets = 1 + below(2), cores = 1 + below(3), threads = 1 + below(2);

    n->features = below(8);
    snprintf(n->text, sizeof(n->text), "n%u", id);
    n->in = (struct sched_node){ .id = id,
                                 .name = n->text,
                                 .cpus = sockets * cores * (chance(80) ? threads : 1),
                                 .sockets = sockets,
                                 .cores_per_socket = cores,
                                 .threads_per_core = threads,
                                 .mem_mib = 100 * (1 + below(8)),
                                 .weight = chance(30) ? 1 + below(3) : 1,
                                 .schedulable = chance(90),
                                 .features = feature_lists[n->features],
                                 .gres = n->gres };
    if (chance(40)) {
        n->gres[0] = (struct sched_gres_spec){
            .name = "gpu", .type = "x", .count = 1 + below(3), .indexed = true
        };
        n->in.ngres = 1;
        if (chance(50)) {
            n->gres[1] = (struct sched_gres_spec){ .name = "gpu",
                                                   .type = "y",
                                                   .count = 1 + below(2),
                                                   .indexed = true,
                                                   .first_index = (uint32_t)n->gres[0].count };
            n->in.ngres = 2;
        }
        make_near(n);
        if (chance(60))
            make_shares(n);
    } else if (chance(30)) {
        n->gres[0] = (struct sched_gres_spec){ .name = "disk", .count = 1 + below(9) };
        n->in.ngres = 1;
    }
}

static void make_part(struct world *w, uint32_t ix)
{
    struct rpart *p = &w->parts[ix];

    p->in =
        (struct sched_partition){ .name = part_names[ix],
                                  .node_ids = p->ids,
                                  .tier = 1 + below(2),
                                  .job_factor = 1 + below(3),
                                  .up = chance(95),
                                  .max_time_min = chance(80) ? SCHED_UNLIMITED : 20,
                                  .max_nodes = chance(80) ? SCHED_UNLIMITED : 1 + below(3),
                                  .exclusive_node = chance(10),
                                  .own_select = chance(25),
                                  .select = chance(50) ? SCHED_SELECT_CORE : SCHED_SELECT_SOCKET,
                                  .select_memory = chance(50),
                                  .oversubscribe = chance(20) ? 2 + below(2) : 1,
                                  .oversubscribe_force = chance(50),
                                  .max_cpus_per_node = chance(20) ? 1 + below(6) : 0 };
    for (uint32_t i = 0; i < w->nnodes; i++) {
        p->member[i] = w->nparts == 1 || chance(70);
        if (p->member[i])
            p->ids[p->in.nnodes++] = i;
    }
}

static void make_sizes(const struct world *w, struct rjob *j)
{
    struct sched_job *in = &j->in;

    in->cpus_per_task = chance(70) ? 1 : 1 + below(3);
    in->num_tasks = chance(60) ? 1 + below(6) : 0;
    in->min_nodes = 1 + (chance(40) ? below(3) : 0);
    in->max_nodes = chance(50) ? 0 : in->min_nodes + (chance(50) ? below(3) : 0);
    in->ntasks_per_node = chance(20) ? 1 + below(3) : 0;
    in->ntasks_per_core = chance(10) ? 1 : 0;
    in->threads_per_core = chance(10) ? 1 : 0;
    in->pn_min_cpus = chance(10) ? 1 + below(4) : 0;
    in->min_sockets = chance(5) ? 2 : 0;
    in->has_mem_per_node = chance(40);
    in->mem_per_node_mib = chance(10) ? 0 : 50 * (1 + below(8));
    in->mem_per_cpu_mib = chance(50) ? 10 * (1 + below(12)) : 0;
    in->exclusive = chance(10);
    in->oversubscribe = chance(30);
    in->overcommit = chance(8);
    if (w->loose) {
        in->contiguous = chance(20);
        in->spread = chance(10);
        in->ntasks_per_socket = chance(20) ? 1 + below(2) : 0;
    }
}

static struct rjob *make_job(struct world *w)
{
    struct rjob *j = &w->jobs[w->njobs];
    uint32_t first = below(w->nparts);

    *j = (struct rjob){ .state = PENDING, .expr = chance(30) ? (int)below(ARRAY_SIZE(exprs)) : 0 };
    j->in =
        (struct sched_job){ .id = ++w->njobs,
                            .partitions = j->parts,
                            .npartitions = 1,
                            .priority = chance(30) ? 1 + below(100) : 0,
                            .submit_us = w->now_us,
                            .eligible_us = chance(10) ? w->now_us + MIN_US * below(9) : w->now_us,
                            .time_limit_min = chance(5) ? SCHED_UNLIMITED : 1 + below(30),
                            .time_min_min = chance(15) ? 1 + below(10) : 0,
                            .features = exprs[j->expr].text,
                            .req_nodes = j->req,
                            .exc_nodes = j->exc,
                            .gres = j->gres };
    for (uint32_t i = 0; i < w->nparts; i++) {
        j->part_ix[i] = (first + i) % w->nparts;
        j->parts[i] = part_names[j->part_ix[i]];
    }
    if (chance(15))
        j->in.npartitions = w->nparts;
    make_sizes(w, j);
    if (chance(8)) {
        j->in.nreq = 1;
        j->req[0] = below(w->nnodes);
        if (j->in.max_nodes)
            j->in.max_nodes = MAX(j->in.max_nodes, j->in.min_nodes);
    }
    if (chance(8)) {
        j->in.nexc = 1;
        j->exc[0] = below(w->nnodes);
    }
    if (chance(25)) {
        uint32_t kind = w->loose ? below(3) : below(2);

        j->in.ngres = 1;
        j->gres[0] = (struct sched_gres_req){ .name = chance(60)   ? "gpu"
                                                      : chance(60) ? "shard"
                                                                   : "disk",
                                              .per_node = kind == 0 ? 1 + below(2) : 0,
                                              .per_task = kind == 1,
                                              .per_job = kind == 2 ? 1 + below(4) : 0 };
        j->in.gres_bind = chance(70)               ? SCHED_BIND_DEFAULT
                          : w->loose && chance(60) ? SCHED_BIND_ENFORCE
                                                   : SCHED_BIND_NONE;
        if (!strcmp(j->gres[0].name, "gpu") && chance(50))
            j->gres[0].type = chance(50) ? "x" : "y";
    }
    return j;
}

static void make_world(struct world *w, struct sched **ret)
{
    w->params = (struct sched_params){ .select = (enum sched_select)below(4),
                                       .select_memory = chance(80),
                                       .backfill = true,
                                       .bf_window_min = 100000,
                                       .lln = chance(15),
                                       .default_queue_depth = 0 };
    w->loose = chance(30);
    w->nnodes = 1 + below(MAXN);
    w->nparts = 1 + below(MAXP);
    w->now_us = INT64_C(1700000000000000);
    assert_int_equal(sched_new(&w->params, ret), 0);
    for (uint32_t i = 0; i < w->nnodes; i++) {
        make_node(w, i);
        assert_int_equal(sched_node_put(*ret, &w->nodes[i].in), 0);
    }
    for (uint32_t i = 0; i < w->nparts; i++) {
        make_part(w, i);
        assert_int_equal(sched_partition_put(*ret, &w->parts[i].in), 0);
    }
}

/* ---- checking passes ------------------------------------------------------------------------- */

static void write_log(struct strbuf *log, const struct sched_decisions *d)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct sched_decision *x = &d->items[i];

        strbuf_addf(log, "%d %u %s %d %lld %u:", x->kind, x->job_id,
                    x->partition ? x->partition : "-", x->why, (long long)x->expected_us,
                    x->priority);
        for (size_t k = 0; k < x->nexpected; k++)
            strbuf_addf(log, " %u", x->expected_nodes[k]);
        for (size_t k = 0; k < x->alloc.nnodes; k++) {
            const struct sched_alloc_node *an = &x->alloc.nodes[k];

            strbuf_addf(log, " %u=%llx/%llu/%u", an->node_id, (unsigned long long)an->cpu_bits[0],
                        (unsigned long long)an->mem_mib, an->tasks);
            for (size_t g = 0; g < an->ngres; g++)
                strbuf_addf(log, "+%s%llu", an->gres[g].name,
                            (unsigned long long)an->gres[g].count);
        }
        strbuf_addc(log, '\n');
    }
}

static uint32_t part_index(const char *name)
{
    return (uint32_t)(name[1] - '0');
}

/* The job runs as decided, as far as the model is concerned. */
static void apply_start(struct world *w, struct sched_decision *d)
{
    struct rjob *j = &w->jobs[d->job_id - 1];
    uint32_t part = part_index(d->partition), minutes = j->in.time_limit_min;

    if (d->time_limit_min) {
        assert_true(j->in.time_min_min && d->time_limit_min >= j->in.time_min_min);
        assert_true(d->time_limit_min < minutes);
        minutes = d->time_limit_min;
    }

    assert_int_equal(j->state, PENDING);
    assert_true(j->in.eligible_us <= w->now_us);
    check_alloc(w, part, j, &d->alloc);
    j->state = RUNNING;
    j->part = part;
    j->firm = share_of(w, &w->parts[part], j) == 1;
    j->alloc = d->alloc;
    d->alloc = (struct sched_alloc){ 0 };
    j->suspended = j->confirmed = false;
    j->end_us = minutes == SCHED_UNLIMITED ? INT64_MAX : w->now_us + minutes * MIN_US;
}

struct rentry {
    uint32_t job, part, rank;
};

static const struct world *order_world;

static uint32_t prio_of(const struct rjob *j)
{
    return j->in.priority ? j->in.priority : 4294901760u - (j->in.id - 1);
}

static int in_order(const void *a, const void *b)
{
    const struct rentry *x = a, *y = b;
    const struct rjob *jx = &order_world->jobs[x->job], *jy = &order_world->jobs[y->job];
    uint32_t tx = order_world->parts[x->part].in.tier, ty = order_world->parts[y->part].in.tier;

    if (tx != ty)
        return tx > ty ? -1 : 1;
    if (prio_of(jx) != prio_of(jy))
        return prio_of(jx) > prio_of(jy) ? -1 : 1;
    if (jx->in.submit_us != jy->in.submit_us)
        return jx->in.submit_us < jy->in.submit_us ? -1 : 1;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

static uint32_t queue_of(const struct world *w, struct rentry *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->njobs; i++)
        if (w->jobs[i].state == PENDING && w->jobs[i].in.eligible_us <= w->now_us)
            for (uint32_t k = 0; k < w->jobs[i].in.npartitions; k++)
                out[n++] = (struct rentry){ i, w->jobs[i].part_ix[k], k };
    order_world = w;
    qsort(out, n, sizeof(*out), in_order);
    return n;
}

/* Walk the queue as the rules say and hold every start, and every job left, against them. */
static void check_pass(struct world *w, struct sched_decisions *d)
{
    struct rentry queue[MAXJ * MAXP];
    uint32_t n = queue_of(w, queue);
    bool blocked[MAXP] = { false };
    struct sit q = { .w = w, .at_us = INT64_MIN };
    size_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct rjob *j = &w->jobs[queue[i].job];
        uint32_t part = queue[i].part;

        while (at < d->n && d->items[at].kind != SCHED_START)
            at++;
        if (j->state != PENDING || blocked[part])
            continue;
        if (at < d->n && d->items[at].job_id == j->in.id &&
            part_index(d->items[at].partition) == part) {
            apply_start(w, &d->items[at++]);
            continue;
        }
        if (hopeless(w, part, j))
            continue;
        assert_false(fits(&q, part, j));
        blocked[part] = true;
        for (uint32_t k = 0; k < w->nnodes; k++)
            q.withheld[k] = q.withheld[k] || w->parts[part].member[k];
    }
    for (; at < d->n; at++)
        assert_int_not_equal(d->items[at].kind, SCHED_START);
}

/* When could j start if nothing else did?  INT64_MAX = not by what ends. */
static int64_t shadow(const struct world *w, uint32_t part, const struct rjob *j)
{
    int64_t best = INT64_MAX;

    for (uint32_t i = 0; i < w->njobs; i++) {
        int64_t end = w->jobs[i].end_us;
        struct sit q = { .w = w, .at_us = end };

        if (w->jobs[i].state == RUNNING && end < best && fits(&q, part, j))
            best = end;
    }
    return best;
}

static const struct rentry *first_head(const struct world *w, struct rentry *queue)
{
    uint32_t n = queue_of(w, queue);

    for (uint32_t i = 0; i < n; i++)
        if (!hopeless(w, queue[i].part, &w->jobs[queue[i].job]))
            return &queue[i];
    return NULL;
}

static void check_backfill(struct world *w, struct sched_decisions *d)
{
    struct rentry queue[MAXJ * MAXP];
    const struct rentry *head = first_head(w, queue);
    const struct rjob *j = head ? &w->jobs[head->job] : NULL;
    int64_t before = head && !w->loose ? shadow(w, head->part, j) : INT64_MAX;

    for (size_t i = 0; i < d->n; i++) {
        if (d->items[i].kind == SCHED_START)
            apply_start(w, &d->items[i]);
        else if (before != INT64_MAX && d->items[i].job_id == j->in.id && j->in.npartitions == 1)
            assert_int_equal(d->items[i].expected_us, before);
    }
    if (before == INT64_MAX)
        return;
    if (j->state == PENDING)
        assert_true(shadow(w, head->part, j) <= before);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void end_job(struct world *w, struct sched *s, struct rjob *j)
{
    (void)w;
    free(j->alloc.nodes);
    j->alloc = (struct sched_alloc){ 0 };
    j->state = GONE;
    sched_job_remove(s, j->in.id);
}

static void random_event(struct world *w, struct sched *s)
{
    uint32_t n = below(w->nnodes), k = w->njobs ? below(w->njobs) : 0;
    struct rjob *j = &w->jobs[k];

    switch (below(8)) {
    case 0:
        w->nodes[n].in.schedulable = chance(80);
        assert_int_equal(sched_node_put(s, &w->nodes[n].in), 0);
        break;
    case 1:
        if (w->njobs && j->state != GONE)
            end_job(w, s, j);
        break;
    case 2: /* a changed priority, or a job sent back to the queue */
        if (w->njobs && j->state != GONE) {
            free(j->alloc.nodes);
            j->alloc = (struct sched_alloc){ 0 };
            j->state = PENDING;
            j->in.priority = 1 + below(100);
            assert_int_equal(sched_job_put(s, &j->in), 0);
        }
        break;
    case 3: /* what is told again is as it was */
        if (w->njobs && j->state == RUNNING)
            assert_int_equal(sched_job_running(s, j->in.id, part_names[j->part], &j->alloc, 0,
                                               j->end_us, j->in.exclusive),
                             0);
        j->confirmed = j->confirmed || j->state == RUNNING;
        j->suspended = false;
        break;
    case 4:
        if (w->njobs && j->state == RUNNING) {
            j->suspended = !j->suspended;
            j->confirmed = true; /* as far as a refusal goes */
            sched_job_suspend(s, j->in.id, j->suspended);
        }
        break;
    case 5:
        if (w->njobs && j->state == RUNNING && !j->confirmed) {
            free(j->alloc.nodes);
            j->alloc = (struct sched_alloc){ 0 };
            j->state = PENDING;
            sched_job_refused(s, j->in.id);
        }
        break;
    case 6: /* more memory, other features; what runs there stays */
        w->nodes[n].in.mem_mib += 100;
        w->nodes[n].features = below(8);
        w->nodes[n].in.features = feature_lists[w->nodes[n].features];
        assert_int_equal(sched_node_put(s, &w->nodes[n].in), 0);
        break;
    default:
        break;
    }
}

static void finish_due(struct world *w, struct sched *s)
{
    for (uint32_t i = 0; i < w->njobs; i++)
        if (w->jobs[i].state == RUNNING && w->jobs[i].end_us <= w->now_us)
            end_job(w, s, &w->jobs[i]);
}

static void step(struct world *w, struct sched *s, struct strbuf *log)
{
    struct sched_decisions d = { 0 };
    int64_t wake;

    for (uint32_t k = below(8); k && w->njobs < MAXJ; k--)
        assert_int_equal(sched_job_put(s, &make_job(w)->in), 0);
    for (uint32_t k = below(3); k; k--)
        random_event(w, s);
    assert_int_equal(sched_pass(s, w->now_us, &d, &wake), 0);
    assert_true(wake > w->now_us);
    write_log(log, &d);
    if (w->loose) {
        for (size_t i = 0; i < d.n; i++)
            if (d.items[i].kind == SCHED_START)
                apply_start(w, &d.items[i]);
    } else {
        check_pass(w, &d);
    }
    sched_decisions_done(&d);
    if (chance(70)) {
        assert_int_equal(sched_backfill(s, w->now_us, &d), 0);
        write_log(log, &d);
        check_backfill(w, &d);
        sched_decisions_done(&d);
    }
    w->now_us += MIN_US * (1 + below(10));
    finish_due(w, s);
}

static void run_world(uint64_t seed, struct strbuf *log)
{
    struct world *w = calloc(1, sizeof(*w));
    struct sched *s = NULL;
    uint32_t pending = 0;

    assert_non_null(w);
    rng = seed;
    make_world(w, &s);
    for (uint32_t i = 0; i < 10; i++)
        step(w, s, log);
    for (uint32_t i = 0; i < w->njobs; i++)
        pending += w->jobs[i].state == PENDING;
    assert_int_equal(sched_pending(s), pending);
    for (uint32_t i = 0; i < w->njobs; i++)
        free(w->jobs[i].alloc.nodes);
    sched_free(s);
    free(w);
}

static uint64_t first_seed = 1, count_seeds = 3000;

static void test_worlds(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < count_seeds; i++) {
        uint64_t seed = (first_seed + i) * UINT64_C(0x9e3779b97f4a7c15);
        _cleanup_val_(strbuf_done) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;

        if (getenv("SCHED_SEEDS"))
            fprintf(stderr, "seed %llu\n", (unsigned long long)(first_seed + i));
        run_world(seed, &once);
        if (i % 4 == 0) {
            run_world(seed, &twice);
            assert_string_equal(strbuf_str(&once), strbuf_str(&twice));
        }
    }
}

/* With SCHED_SEEDS=first:count in the environment: those worlds, each announced. */
int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_worlds) };
    const char *seeds = getenv("SCHED_SEEDS");

    if (seeds)
        (void)sscanf(seeds, "%lu:%lu", &first_seed,
                     &count_seeds); /* absent numbers keep their defaults */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
