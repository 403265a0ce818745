/* test_gpuuse.c - how busy GPUs are: what amdgpu tells in /sys, what slurmd wrote down, and whose
 * a GPU is that several tasks see */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder_util.h"

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/step.h"
#include "stepd/task/gpu.h"
#include "stepd/use/gpuuse.h"

#define DEVICE "sys/class/drm/renderD%u/device"

static char root[256], listed[300];

static int make_root(void **state)
{
    (void)state;
    folder_make(root, sizeof(root), "gpuuse");
    (void)snprintf(listed, sizeof(listed), "%s/%s", root, GPUUSE_FILE);
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    folder_remove(root);
    return 0;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* The folder of a driver for renderD<minor>; NULL: it has no such file. */
static void put_driver(unsigned minor, const char *mem, const char *busy)
{
    char path[512];
    size_t top;

    (void)snprintf(path, sizeof(path), "%s/" DEVICE "/", root, minor);
    top = strlen(root) + 1;
    for (char *p = path + top; (p = strchr(p, '/')); p++) {
        *p = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *p = '/';
    }
    if (mem) {
        (void)snprintf(path, sizeof(path), "%s/" DEVICE "/mem_info_vram_used", root, minor);
        write_text(path, mem);
    }
    if (busy) {
        (void)snprintf(path, sizeof(path), "%s/" DEVICE "/gpu_busy_percent", root, minor);
        write_text(path, busy);
    }
}

static void test_amd(void **state)
{
    struct gpu_use use = { 1, 1 };

    (void)state;
    put_driver(128, "17179869184\n", "37\n");
    put_driver(129, "5\n", NULL);
    put_driver(130, "much\n", "1\n");
    put_driver(131, "5\n", "250\n");
    assert_int_equal(gpuuse_read(root, 128, &use), 0);
    assert_true(use.mem_bytes == UINT64_C(17179869184));
    assert_int_equal(use.busy_pct, 37);
    assert_int_equal(gpuuse_read(root, 129, &use), -ENOENT);
    assert_int_equal(gpuuse_read(root, 130, &use), -ENOENT);
    assert_int_equal(gpuuse_read(root, 132, &use), -ENOENT);
    assert_int_equal(use.busy_pct, 37); /* written on success only */
    assert_int_equal(gpuuse_read(root, 131, &use), 0);
    assert_int_equal(use.busy_pct, 100); /* no GPU is busier */
}

/* What slurmd wrote so many seconds ago. */
static void write_list(int64_t seconds, const char *lines)
{
    char text[512];

    (void)snprintf(text, sizeof(text), "%" PRId64 "\n%s", now_mono_us() - seconds * USEC_PER_SEC,
                   lines);
    write_text(listed, text);
}

static void test_listed(void **state)
{
    struct gpu_use use = { 1, 1 };

    (void)state;
    assert_int_equal(gpuuse_listed(listed, 0, &use), -ENOENT); /* no such file */
    write_list(1, "0 1024 50\n3 8589934592 7\n");
    assert_int_equal(gpuuse_listed(listed, 3, &use), 0);
    assert_true(use.mem_bytes == UINT64_C(8589934592));
    assert_int_equal(use.busy_pct, 7);
    assert_int_equal(gpuuse_listed(listed, 1, &use), -ENOENT);
    write_list(120, "0 1024 50\n"); /* slurmd has gone */
    assert_int_equal(gpuuse_listed(listed, 0, &use), -ENOENT);
    write_list(-3600, "0 1024 50\n"); /* from before the node was started anew */
    assert_int_equal(gpuuse_listed(listed, 0, &use), -ENOENT);
    write_text(listed, "");
    assert_int_equal(gpuuse_listed(listed, 0, &use), -ENOENT);
    write_list(1, "0 1024\n");
    assert_int_equal(gpuuse_listed(listed, 0, &use), -ENOENT);
}

/* A step of three tasks with two GPUs of a node. */
struct sample {
    Pst__Gpu gpus[2], *table[2];
    Pst__GresAlloc gres, *gres_list[1];
    Pst__AllocGroup group, *groups[1];
    Pst__Alloc alloc;
    Pst__StepRecord record;
    Pst__LaunchStep launch;
    Pst__StepFile sf;
    struct task tasks[3];
    struct step step;
};

static const struct step_events events = { .gpu_task = gpu_first_task };

static void fill_sample(struct sample *s, const char *tres_bind)
{
    *s = (struct sample){ 0 };
    for (uint32_t i = 0; i < 2; i++) {
        pst__gpu__init(&s->gpus[i]);
        s->gpus[i].has_number = s->gpus[i].has_minor = 1;
        s->gpus[i].number = i;
        s->gpus[i].minor = i ? 3 : 128;
        s->gpus[i].path = (char *)(i ? "/dev/nvidia3" : "/dev/dri/renderD128");
        s->table[i] = &s->gpus[i];
    }
    pst__gres_alloc__init(&s->gres);
    s->gres.name = (char *)"gpu";
    s->gres.devices = (char *)"0-1";
    s->gres_list[0] = &s->gres;
    pst__alloc_group__init(&s->group);
    s->group.nodes = s->group.has_nodes = 1;
    s->group.gres = s->gres_list;
    s->group.n_gres = 1;
    s->groups[0] = &s->group;
    pst__alloc__init(&s->alloc);
    s->alloc.groups = s->groups;
    s->alloc.n_groups = 1;
    pst__step_record__init(&s->record);
    s->record.alloc = &s->alloc;
    pst__launch_step__init(&s->launch);
    s->launch.tres_bind = (char *)tres_bind;
    pst__step_file__init(&s->sf);
    s->sf.gpus = s->table;
    s->sf.n_gpus = 2;
    s->sf.machine_root = root;
    s->sf.gpu_use_path = listed;
    s->sf.step = &s->record;
    s->sf.launch = &s->launch;
    s->step.sf = &s->sf;
    s->step.on = &events;
    s->step.launch = &s->launch;
    s->step.tasks = s->tasks;
    s->step.n_tasks = 3;
    gpu_prepare(&s->step);
}

static void expect_uses(const struct gpuuse *g, const uint64_t *mem, const uint32_t *busy)
{
    struct gpu_use uses[3] = { 0 };

    gpuuse_look(g, uses);
    for (size_t i = 0; i < 3; i++) {
        assert_true(uses[i].mem_bytes == mem[i]);
        assert_int_equal(uses[i].busy_pct, busy[i]);
    }
}

static void test_tasks(void **state)
{
    static const uint64_t both[] = { 1000 + 24, 0, 0 }, shared[] = { 1000, 0, 24 };
    static const uint64_t amd[] = { 1000, 0, 0 };
    static const uint32_t both_busy[] = { 90, 0, 0 }, shared_busy[] = { 40, 0, 50 };
    static const uint32_t amd_busy[] = { 40, 0, 0 };
    struct sample s;
    struct gpuuse *g;

    (void)state;
    put_driver(128, "1000\n", "40\n");
    write_list(1, "3 24 50\n");
    fill_sample(&s, NULL); /* each task sees both: they are of the first */
    g = gpuuse_new(&s.step);
    assert_non_null(g);
    expect_uses(g, both, both_busy);
    write_list(600, "3 24 50\n"); /* the next look will do */
    expect_uses(g, amd, amd_busy);
    gpuuse_free(g);
    gpu_done(&s.step);

    write_list(1, "3 24 50\n");
    fill_sample(&s, "gres/gpu:single:2"); /* tasks 0 and 1 on the first, 2 on the next */
    g = gpuuse_new(&s.step);
    assert_non_null(g);
    expect_uses(g, shared, shared_busy);
    gpuuse_free(g);
    gpu_done(&s.step);

    fill_sample(&s, NULL);
    s.gpus[0].path = (char *)"/dev/other0";
    s.sf.gpu_use_path = NULL;
    assert_null(gpuuse_new(&s.step)); /* no driver tells */
    gpu_done(&s.step);
    gpuuse_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_amd, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_listed, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_tasks, make_root, remove_root),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("gpuuse", tests, NULL, NULL);
}
