/* test_gresplace.c - devices of a node: whether they are enough, which ones a job gets, and CPUs
 * near them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/select/fit.h"
#include "sched/select/gresbind.h"
#include "sched/select/gresfit.h"
#include "sched/select/grespick.h"
#include "sched/select/joblayout.h"
#include "sched/select/nodeview.h"
#include "sched/state/alloc.h"
#include "sched/state/fits.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"

#define NOW INT64_C(1700000000000000)
#include "sched_inner.h"

/* One node of two sockets with four CPUs each.  GPUs 0 and 1 are near socket 0, 2 and 3 near
 * socket 1; GPUs 0 and 3, and 1 and 2, are linked.  Device 2 of the other kind is shared: ten
 * shares each of two GPUs. */
static const uint64_t socket0 = 0x0f, socket1 = 0xf0;
static const uint64_t *const near_gpus[] = { &socket0, &socket0, &socket1, &socket1 };
static const int32_t links[] = { -1, 0, 0, 9, 0, -1, 9, 0, 0, 9, -1, 0, 9, 0, 0, -1 };

static struct sched *node_with(const struct sched_gres_spec *gres, size_t n)
{
    const struct sched_node node = { .id = 0,
                                     .name = "n",
                                     .cpus = 8,
                                     .sockets = 2,
                                     .cores_per_socket = 4,
                                     .threads_per_core = 1,
                                     .mem_mib = 8000,
                                     .weight = 1,
                                     .gres = gres,
                                     .ngres = n,
                                     .schedulable = true };

    return inner_single((struct sched_params){ .select = SCHED_SELECT_CORE }, &node);
}

static struct sched *gpu_node(bool linked)
{
    const struct sched_gres_spec gpu = { .name = "gpu",
                                         .type = "a100",
                                         .count = 4,
                                         .indexed = true,
                                         .near_cpus = near_gpus,
                                         .links = linked ? links : NULL };

    return node_with(&gpu, 1);
}

static struct sched *shard_node(void)
{
    static const struct sched_gres_share shares[] = { { 0, 10 }, { 3, 10 } };
    const struct sched_gres_spec gres[] = {
        { .name = "gpu", .count = 4, .indexed = true, .near_cpus = near_gpus },
        { .name = "shard", .count = 20, .indexed = true, .shares = shares, .nshares = 2 },
    };

    return node_with(gres, 2);
}

static struct sched_job asks(uint32_t tasks, struct sched_gres_req *req)
{
    struct sched_job j = inner_job(1, LOW, tasks);

    req->name = req->name ? req->name : "gpu";
    j.gres = req;
    j.ngres = 1;
    return j;
}

static struct pick pick_for(struct sched *s, struct sched_job j)
{
    const struct entry *e = inner_put(s, j)->entries[0];
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part] };

    pick_init(&p);
    return p;
}

/* Devices that the job gets, *ret_cpus the CPUs; 0 it does not fit. */
static uint64_t devices_of(struct sched *s, struct sched_job j, uint64_t *ret_cpus)
{
    struct pick p = pick_for(s, j);
    struct sched_alloc a = { 0 };
    uint64_t devices = 0;

    *ret_cpus = 0;
    if (pick_layout(&p, &a) == 1) {
        assert_int_equal(a.nodes[0].ngres, 1);
        devices = a.nodes[0].gres[0].devices[0];
        assert_int_equal(__builtin_popcountll(devices), a.nodes[0].gres[0].count);
        *ret_cpus = a.nodes[0].cpu_bits[0];
        alloc_done(&a);
    }
    sched_job_remove(s, j.id);
    return devices;
}

/* ---- near ------------------------------------------------------------------------------------ */

static void test_near(void **state)
{
    struct sched *s = shard_node();
    const struct node *n = &s->nodes[0];

    (void)state;
    assert_int_equal(*gres_near(n, &n->gres[0], 1), socket0);
    assert_int_equal(*gres_near(n, &n->gres[0], 2), socket1);
    assert_int_equal(*gres_near(n, &n->gres[1], 9), socket0); /* the last share of GPU 0 */
    assert_int_equal(*gres_near(n, &n->gres[1], 10), socket1);
    assert_null(gres_near(n, &n->gres[1], 20)); /* there is no such share */
    sched_free(s);
}

/* CPUs near the devices where there are enough; where binding is enforced no others. */
static void test_near_cpus(void **state)
{
    struct sched_gres_req one = { .per_node = 1 }, all = { .per_node = 4 };
    struct sched *s = gpu_node(false);
    struct sched_job j = asks(2, &one);
    uint64_t cpus;

    (void)state;
    assert_int_equal(devices_of(s, j, &cpus), 1);
    assert_int_equal(cpus, 0x03);
    (void)inner_run(s, 100, LOW, 0, 0x07, 0, 60); /* three CPUs of socket 0 are held */
    assert_int_equal(devices_of(s, j, &cpus), 4); /* so a GPU of the other socket */
    assert_int_equal(cpus, 0x30);
    j.num_tasks = 5;
    assert_int_not_equal(devices_of(s, j, &cpus), 0);
    assert_int_equal(cpus, 0xf8); /* of both */
    j.gres_bind = SCHED_BIND_ENFORCE;
    assert_int_equal(devices_of(s, j, &cpus), 0);
    j = asks(5, &all); /* all four: all CPUs are near one of them */
    j.gres_bind = SCHED_BIND_ENFORCE;
    assert_int_equal(devices_of(s, j, &cpus), 15);
    assert_int_equal(cpus, 0xf8);
    j = asks(2, &one);
    j.gres_bind = SCHED_BIND_NONE;
    assert_int_not_equal(devices_of(s, j, &cpus), 0);
    assert_int_equal(cpus, 0x18); /* wherever */
    sched_free(s);
}

static void test_covers(void **state)
{
    struct sched_gres_req one = { .per_node = 1 };
    struct sched *s = gpu_node(false);
    struct sched_job j = asks(2, &one);
    uint64_t device = 1, cpus = 0x03;
    struct sched_alloc_gres g = {
        .name = "gpu", .type = "a100", .count = 1, .devices = &device, .ndevice_words = 1
    };
    struct sched_alloc_node an = { .cpu_bits = &cpus, .ncpu_words = 1, .gres = &g, .ngres = 1 };
    struct pick p;

    (void)state;
    g.name = s->gres_tab.names[s->nodes[0].gres[0].name];
    g.type = s->gres_tab.names[s->nodes[0].gres[0].type];
    j.gres_bind = SCHED_BIND_ENFORCE;
    p = pick_for(s, j);
    assert_true(gres_covers(&p, &an));
    cpus = 0x13;
    assert_false(gres_covers(&p, &an)); /* CPU 4 is far from GPU 0 */
    device = 0x5;
    assert_true(gres_covers(&p, &an));
    cpus = 0x13;
    device = 1;
    sched_job_remove(s, 1);
    j.gres_bind = SCHED_BIND_DEFAULT;
    p = pick_for(s, j);
    assert_true(gres_covers(&p, &an));
    sched_free(s);
}

/* Tasks begin on the last socket near the devices where CPUs and devices go together. */
static void test_near_last(void **state)
{
    struct sched_gres_req node = { .per_node = 2 }, task = { .per_task = 1 };
    struct sched *s = gpu_node(false);
    const struct fit f = { .id = 0, .tasks = 2, .hold = 2 };
    struct sched_job j = asks(2, &node);
    struct pick p = pick_for(s, j);

    (void)state;
    assert_false(gres_near_last(&p, &f));
    j.cpus_per_gpu = 1;
    sched_job_remove(s, 1);
    p = pick_for(s, j);
    assert_true(gres_near_last(&p, &f));
    j = asks(2, &task);
    sched_job_remove(s, 1);
    p = pick_for(s, j);
    assert_true(gres_near_last(&p, &f));
    j.gres_bind = SCHED_BIND_NONE;
    sched_job_remove(s, 1);
    p = pick_for(s, j);
    assert_false(gres_near_last(&p, &f));
    sched_free(s);
}

/* ---- how much -------------------------------------------------------------------------------- */

/* Tasks that the node holds of the job by CPUs, memory and devices; 0: it is no good. */
static uint32_t fits(struct sched *s, struct sched_job j)
{
    struct pick p = pick_for(s, j);
    struct geometry g = pick_geometry(&p, &s->nodes[0]);
    struct fit f = { .id = 0, .tasks = 100 };
    bool good = gres_fit(&p, 0, &g, 8, &f);

    sched_job_remove(s, j.id);
    return good ? f.tasks : 0;
}

static void test_fit(void **state)
{
    struct sched_gres_req node = { .per_node = 4 }, task = { .per_task = 2 },
                          other = { .name = "fpga", .per_node = 1 },
                          typed = { .type = "h100", .per_node = 1 };
    struct sched *s = gpu_node(false);
    struct sched_job j = asks(1, &node);

    (void)state;
    assert_int_equal(fits(s, j), 100); /* devices limit no tasks */
    node.per_node = 5;
    assert_int_equal(fits(s, j), 0);
    assert_int_equal(fits(s, asks(1, &task)), 2); /* four GPUs, two for each */
    assert_int_equal(fits(s, asks(1, &other)), 0);
    assert_int_equal(fits(s, asks(1, &typed)), 0);
    typed.type = "a100";
    assert_int_equal(fits(s, asks(1, &typed)), 100);
    node.per_node = 2;
    j.tasks_per_gpu = 3;
    assert_int_equal(fits(s, j), 6);
    j.tasks_per_gpu = 0;
    j.cpus_per_gpu = 4; /* eight CPUs: two GPUs */
    assert_int_equal(fits(s, j), 100);
    j.cpus_per_gpu = 5;
    assert_int_equal(fits(s, j), 0);
    j.cpus_per_gpu = 0;
    j.mem_per_gpu_mib = 4000;
    assert_int_equal(fits(s, j), 100);
    j.mem_per_gpu_mib = 4001;
    assert_int_equal(fits(s, j), 0);
    sched_free(s);
}

/* Shares come from one device unless several may serve a job, or each task has its own. */
static void test_fit_shares(void **state)
{
    struct sched_gres_req node = { .name = "shard", .per_node = 10 },
                          task = { .name = "shard", .per_task = 4 };
    struct sched *s = shard_node();
    struct sched_job j = asks(1, &node);

    (void)state;
    assert_int_equal(fits(s, j), 100);
    node.per_node = 11;
    assert_int_equal(fits(s, j), 0);
    s->params.several_shared = true;
    assert_int_equal(fits(s, j), 100);
    assert_int_equal(fits(s, asks(1, &task)), 4); /* two on each device */
    s->params.several_shared = false;
    j = asks(1, &task);
    assert_int_equal(fits(s, j), 2);
    j.one_task_per_share = true;
    assert_int_equal(fits(s, j), 2); /* one on each */
    sched_free(s);
}

/* --gres=gpu:N of each socket. */
static void test_fit_sockets(void **state)
{
    struct sched_gres_req req = { .per_node = 4, .per_socket = 2 };
    struct sched *s = gpu_node(false);
    struct sched_job j = asks(2, &req);
    struct pick p = pick_for(s, j);
    uint64_t bits = 0x01, device = 8;
    struct sched_alloc_gres g = {
        .name = "gpu", .type = "a100", .count = 1, .devices = &device, .ndevice_words = 1
    };
    struct sched_alloc_node an = {
        .cpus = 1, .cpu_bits = &bits, .ncpu_words = 1, .gres = &g, .ngres = 1
    };
    const struct sched_alloc a = { .nodes = &an, .nnodes = 1 };

    (void)state;
    assert_true(gres_fit_sockets(&p, 0, 0));
    assert_int_equal(
        sched_job_running(s, 100, "low", &a, NOW, NOW + 3600 * INT64_C(1000000), false), 0);
    assert_false(gres_fit_sockets(&p, 0, 0)); /* GPU 3 is held: socket 1 has one left */
    sched_job_remove(s, 1);
    req.per_node = 2; /* one socket with two */
    p = pick_for(s, j);
    assert_true(gres_fit_sockets(&p, 0, 0));
    sched_free(s);
}

/* Where binding is enforced tasks count by the CPUs near free devices. */
static void test_fit_bound(void **state)
{
    struct sched_gres_req task = { .per_task = 1 };
    struct sched *s = gpu_node(false);
    struct sched_job j = asks(4, &task);

    (void)state;
    j.gres_bind = SCHED_BIND_ENFORCE;
    j.cpus_per_task = 2;
    assert_int_equal(fits(s, j), 4);
    (void)inner_run(s, 100, LOW, 0, 0x07, 0, 60); /* one CPU is left on socket 0 */
    assert_int_equal(fits(s, j), 2);
    (void)inner_run(s, 101, LOW, 0, 0x38, 0, 60);
    assert_int_equal(fits(s, j), 1);
    sched_free(s);
}

/* ---- which ones ------------------------------------------------------------------------------ */

/* Those that are linked best, before the first ones. */
static void test_linked(void **state)
{
    struct sched_gres_req two = { .per_node = 2 }, three = { .per_node = 3 };
    struct sched *s = gpu_node(true), *plain = gpu_node(false);
    struct sched_job j = asks(1, &two);
    uint64_t cpus;

    (void)state;
    j.gres_bind = SCHED_BIND_NONE;
    assert_int_equal(devices_of(plain, j, &cpus), 0x3);
    j.num_tasks = 8; /* near its CPUs are all four */
    assert_int_equal(devices_of(s, j, &cpus), 0x9);
    j = asks(8, &three);
    assert_int_equal(__builtin_popcountll(devices_of(s, j, &cpus)), 3);
    sched_free(s);
    sched_free(plain);
}

static void test_shares(void **state)
{
    struct sched_gres_req some = { .name = "shard", .per_node = 3 },
                          many = { .name = "shard", .per_node = 12 };
    struct sched *s = shard_node();
    struct sched_job j = asks(1, &some);
    uint64_t cpus;

    (void)state;
    assert_int_equal(devices_of(s, j, &cpus), 0x7);
    assert_int_equal(devices_of(s, asks(1, &many), &cpus), 0); /* of one device */
    s->params.several_shared = true;
    assert_int_equal(__builtin_popcountll(devices_of(s, asks(1, &many), &cpus)), 12);
    s->params.several_shared = false;
    sched_free(s);
}

/* A request of one type, and one of any beside it: the typed one is served first. */
static void test_choose(void **state)
{
    const struct sched_gres_spec gres[] = {
        { .name = "gpu", .type = "a100", .count = 2, .indexed = true },
        { .name = "gpu", .type = "h100", .count = 2, .indexed = true, .first_index = 2 },
        { .name = "nic", .count = 5 },
        { .name = "secret", .count = 1, .explicit_only = true },
    };
    const struct sched_gres_req both[] = { { .name = "gpu", .type = "a100", .per_node = 2 },
                                           { .name = "gpu", .per_node = 1 } };
    const struct fit f = { .id = 0, .tasks = 1, .hold = 1 };
    struct sched *s = node_with(gres, 4);
    struct sched_job j = inner_job(1, LOW, 1);
    uint64_t take[4], cpus = 1;
    struct pick p;

    (void)state;
    j.gres = both;
    j.ngres = 2;
    p = pick_for(s, j);
    assert_int_equal(gres_choose(&p, &f, &cpus, take), 0);
    assert_int_equal(take[0], 2);
    assert_int_equal(take[1], 1);
    assert_int_equal(take[2], 0);
    assert_int_equal(gres_gpus(&p, &f), 0); /* nothing is counted by them */
    sched_job_remove(s, 1);
    j.exclusive = true; /* whole nodes with all that is not kept for those that ask for it */
    p = pick_for(s, j);
    assert_int_equal(gres_choose(&p, &f, &cpus, take), 0);
    assert_int_equal(take[1], 2);
    assert_int_equal(take[2], 5);
    assert_int_equal(take[3], 0);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near),        cmocka_unit_test(test_near_cpus),
        cmocka_unit_test(test_covers),      cmocka_unit_test(test_near_last),
        cmocka_unit_test(test_fit),         cmocka_unit_test(test_fit_shares),
        cmocka_unit_test(test_fit_sockets), cmocka_unit_test(test_fit_bound),
        cmocka_unit_test(test_linked),      cmocka_unit_test(test_shares),
        cmocka_unit_test(test_choose),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
