/* test_gpumap.c - files that say which job has which GPU */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder_util.h"
#include "noded/noded.h"
#include "noded/plan/gpumap.h"
#include "noded/plan/gpumig.h"

static char folder[] = "/tmp/penstock-gpumap-XXXXXX";

static struct njob *add_job(struct noded *d, uint32_t id, const char *name, const char *devices)
{
    Pst__JobOnNode *on = malloc(sizeof(*on));
    Pst__GresAlloc *g = malloc(sizeof(*g));
    struct njob *job = NULL;

    assert_true(on && g);
    pst__job_on_node__init(on);
    pst__gres_alloc__init(g);
    g->name = strdup(name);
    g->devices = strdup(devices);
    g->has_count = true;
    g->count = 1;
    on->job = malloc(sizeof(*on->job));
    on->gres = malloc(sizeof(g));
    assert_true(on->job && on->gres);
    pst__job_record__init(on->job);
    on->job->has_job_id = on->has_run_id = true;
    on->job->job_id = id;
    on->run_id = id;
    on->gres[0] = g;
    on->n_gres = 1;
    assert_int_equal(jobs_add_take(&d->jobs, on, &job), 0);
    return job;
}

/* The file's text; "": there is none. */
static const char *told(const char *name)
{
    static char text[100];
    char path[100];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/map/%s", folder, name);
    f = fopen(path, "r");
    text[f ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
    if (f)
        (void)fclose(f);
    return text;
}

static struct conf *read_conf(void)
{
    char path[100];
    struct conf *c = NULL;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/slurm.conf", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(f,
                  "ClusterName=x\nSlurmctldHost=h\nSlurmdParameters=gpu_job_map=%s/map,"
                  "devices_root=%s\n",
                  folder, folder);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(conf_load(path, CONF_CLIENT, &c, NULL, NULL), 0);
    return c;
}

static void put_text(const char *name, const char *text)
{
    char path[100];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/map/%s", folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void test_jobs_come_and_go(void **state)
{
    struct gres_row row = { .name = (char[]){ "gpu" },
                            .file = (char[]){ "/dev/nvidia[0-1]" },
                            .count = 2 };
    struct gres_rows rows = { .rows = &row, .n = 1 };
    struct noded d = { .name = (char *)"n1", .gres = &rows, .conf = read_conf() };
    struct njob *one = add_job(&d, 7, "gpu", "0-1"), *two;

    (void)state;
    gpumap_begin(&d);
    assert_string_equal(told("0"), "7");
    assert_string_equal(told("1"), "7");
    put_text("1", "wrong");
    put_text("5", "a GPU that the node has not");
    put_text("note", "somebody else's");
    two = add_job(&d, 8, "shard", "1");
    two->on->gres[0]->shares = strdup("1");
    gpumap_begin(&d);
    assert_true(strcmp(told("1"), "7\n8") == 0 || strcmp(told("1"), "8\n7") == 0);
    assert_string_equal(told("5"), "");
    assert_string_equal(told("note"), "somebody else's");
    one->clean = true; /* all of it is over */
    gpumap_update(&d);
    assert_string_equal(told("0"), "");
    assert_string_equal(told("1"), "8");
    jobs_remove(&d.jobs, one);
    jobs_remove(&d.jobs, two);
    gpumap_update(&d);
    assert_string_equal(told("1"), "");
    conf_free(d.conf);
}

/* What the driver says of a part: the number of its capability device. */
static void put_part(const char *gpu, const char *part, const char *text)
{
    char path[300];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/proc/driver/nvidia/capabilities/%s/mig/%s", folder, gpu,
                   part);
    for (char *at = path + strlen(folder) + 1; at; at = strchr(at + 1, '/')) {
        *at = *at == '/' ? '\0' : *at;
        (void)mkdir(path, 0755); /* it may be there */
        *at = *at ? *at : '/';
    }
    (void)mkdir(path, 0755);
    (void)snprintf(path + strlen(path), sizeof(path) - strlen(path), "/access");
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Two parts of one GPU, a whole one, and a line whose files the driver does not know. */
static void test_parts(void **state)
{
    struct gres_row all[] = {
        { .name = (char[]){ "gpu" },
          .file = (char[]){ "/dev/nvidia0,/dev/nvidia-caps/nvidia-cap66,"
                            "/dev/nvidia-caps/nvidia-cap67" },
          .count = 1 },
        { .name = (char[]){ "gpu" },
          .file = (char[]){ "/dev/nvidia0,/dev/nvidia-caps/nvidia-cap75" },
          .count = 1 },
        { .name = (char[]){ "gpu" }, .file = (char[]){ "/dev/nvidia1" }, .count = 1 },
        { .name = (char[]){ "gpu" },
          .file = (char[]){ "/dev/nvidia2,/dev/nvidia-caps/nvidia-cap99" },
          .count = 1 },
    };
    struct gres_rows rows = { .rows = all, .n = 4 };
    struct noded d = { .name = (char *)"n1", .gres = &rows, .conf = read_conf() };
    struct njob *both, *second;
    struct gpumig mig;

    (void)state;
    put_part("gpu0", "gi7", "DeviceFileMinor: 66\nDeviceFileMode: 292\n");
    put_part("gpu0", "gi8", "DeviceFileMinor: 75\n");
    put_part("gpu0", "gi9", "DeviceFileMinor: x\n");
    put_part("gpu0", "other", "DeviceFileMinor: 99\n");
    assert_true(gpumig_find(folder, "/dev/nvidia-caps/nvidia-cap75", &mig));
    assert_true(mig.gpu == 0 && mig.part == 8);
    assert_false(gpumig_find(folder, "/dev/nvidia-caps/nvidia-cap", &mig));
    assert_false(gpumig_find(folder, "/dev/nvidia0", &mig));
    assert_false(gpumig_find("/nowhere", "/dev/nvidia-caps/nvidia-cap75", &mig));
    put_text("0", "of an earlier day");
    put_text("0.3", "a part that is not there any more");
    put_text("0.3.1", "somebody else's");
    both = add_job(&d, 11, "gpu", "0-1");
    second = add_job(&d, 12, "gpu", "1-3");
    gpumap_begin(&d);
    assert_string_equal(told("0"), "");
    assert_string_equal(told("0.3"), "");
    assert_string_equal(told("0.3.1"), "somebody else's");
    assert_string_equal(told("0.7"), "11");
    assert_true(strcmp(told("0.8"), "11\n12") == 0 || strcmp(told("0.8"), "12\n11") == 0);
    assert_string_equal(told("1"), "12");
    assert_string_equal(told("2"), "12");
    both->clean = true;
    gpumap_update(&d);
    assert_string_equal(told("0.7"), "");
    assert_string_equal(told("0.8"), "12");
    jobs_remove(&d.jobs, both);
    jobs_remove(&d.jobs, second);
    gpumap_update(&d);
    assert_string_equal(told("0.8"), "");
    conf_free(d.conf);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_come_and_go),
        cmocka_unit_test(test_parts),
    };
    int r;

    if (!mkdtemp(folder))
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    r = cmocka_run_group_tests(tests, NULL, NULL);
    (void)folder_unlink(folder); /* the test's own */
    return r;
}
