/* test_nodegres.c - the node's devices by gres.conf: registered, given to steps, printed */
#include "conf_util.h"

#include "noded/hw/nodegres.h"
#include "stepd/env/env.h"

static struct gres_rows *rows_of(const char *gres_conf, const char *node_gres, struct conf **ret)
{
    struct conf_node node = { .name = (char *)"n1", .gres = (char *)node_gres };
    const struct cpu_map map = { .n = 8, .threads = 2 };
    struct gres_rows *g = NULL;

    *ret = conf_of_two("GresTypes=gpu,shard,nic", "gres.conf", gres_conf, "");
    assert_non_null(*ret);
    assert_int_equal(gres_rows_new(*ret, &node, GPUS_OFF, "/", &map, &g), 0);
    return g;
}

static void expect_text(const struct gres_rows *g, const char *configured, const char *want)
{
    char *text = NULL;

    assert_int_equal(gres_text(g, configured, &text), 0);
    assert_string_equal(text, want);
    free(text);
}

#define TWO_KINDS                                                                                  \
    "Name=gpu Type=a100 File=/dev/nvidia[0-1] Cores=0-1\n"                                         \
    "NodeName=n1 Name=gpu Type=t4 File=/dev/nvidia4 Flags=nvidia_gpu_env\n"                        \
    "NodeName=n2 Name=gpu Type=h100 File=/dev/nvidia9\n"                                           \
    "Name=nic Count=2\n"

/* Devices of a name are numbered through the lines that apply to the node. */
static void test_register(void **state)
{
    Pst__NodeRecord rec = PST__NODE_RECORD__INIT;
    struct conf *conf;
    struct gres_rows *g = rows_of(TWO_KINDS, "gpu:a100:2,gpu:t4:1,nic:2", &conf);

    (void)state;
    assert_null(g->problem);
    expect_text(g, "gpu:9", "gpu:a100:2(0-1),gpu:t4:1(2),nic:2");
    assert_int_equal(gres_topo(g, &rec), 0);
    assert_null(rec.gres_problem);
    assert_int_equal(rec.n_gres_topo, 3);
    assert_string_equal(rec.gres_topo[0]->name, "gpu");
    assert_string_equal(rec.gres_topo[0]->type, "a100");
    assert_string_equal(rec.gres_topo[0]->devices, "0-1");
    assert_string_equal(rec.gres_topo[0]->cores, "0-1");
    assert_true(rec.gres_topo[0]->count == 2);
    assert_string_equal(rec.gres_topo[1]->devices, "2");
    assert_null(rec.gres_topo[1]->cores);
    assert_string_equal(rec.gres_topo[2]->name, "nic");
    assert_null(rec.gres_topo[2]->devices); /* a plain count */
    for (size_t i = 0; i < rec.n_gres_topo; i++)
        pst__gres_topo__free_unpacked(rec.gres_topo[i], NULL);
    free(rec.gres_topo);
    gres_rows_free(g);
    conf_free(conf);
}

/* Without a line of gres.conf what slurm.conf says is believed. */
static void test_nothing(void **state)
{
    struct conf *conf;
    struct gres_rows *g = rows_of("", "gpu:4", &conf);

    (void)state;
    assert_int_equal(g->n, 0);
    assert_null(g->problem);
    expect_text(g, "gpu:4", "gpu:4");
    expect_text(g, NULL, "");
    gres_rows_free(g);
    assert_null(gres_rows_free(NULL));
    conf_free(conf);
}

static void expect_problem(const char *gres_conf, const char *node_gres, const char *want)
{
    struct conf *conf;
    struct gres_rows *g = rows_of(gres_conf, node_gres, &conf);

    if (want)
        assert_string_equal(g->problem, want);
    else
        assert_null(g->problem);
    gres_rows_free(g);
    conf_free(conf);
}

/* Fewer than slurm.conf gives the node is a problem, more is not. */
static void test_problem(void **state)
{
    (void)state;
    expect_problem("Name=gpu File=/dev/nvidia[0-1]\n", "gpu:3",
                   "gres/gpu count reported lower than configured (2 < 3)");
    expect_problem("Name=gpu File=/dev/nvidia[0-1]\n", "gpu:1", NULL);
    expect_problem("Name=gpu File=/dev/nvidia[0-1]\n", NULL, NULL);
    expect_problem(TWO_KINDS, "gpu:t4:2", "gres/gpu count reported lower than configured (1 < 2)");
    expect_problem(TWO_KINDS, "gpu:3", NULL); /* of whatever type */
    expect_problem(TWO_KINDS, "nic:3", "gres/nic count reported lower than configured (2 < 3)");
    expect_problem(TWO_KINDS, "shard:3", NULL); /* gres.conf does not speak of them */
}

static void free_gpus(Pst__StepFile *sf)
{
    for (size_t i = 0; i < sf->n_gpus; i++)
        pst__gpu__free_unpacked(sf->gpus[i], NULL);
    free(sf->gpus);
}

static void test_steps(void **state)
{
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    struct conf *conf;
    struct gres_rows *g = rows_of(TWO_KINDS, "gpu:a100:2,gpu:t4:1", &conf);

    (void)state;
    assert_int_equal(gres_step_gpus(g, &sf), 0);
    assert_int_equal(sf.n_gpus, 3);
    assert_string_equal(sf.gpus[1]->path, "/dev/nvidia1");
    assert_int_equal(sf.gpus[1]->number, 1);
    assert_int_equal(sf.gpus[1]->minor, 1);
    assert_string_equal(sf.gpus[1]->cores, "0-1");
    assert_null(sf.gpus[1]->uuid);
    assert_string_equal(sf.gpus[2]->path, "/dev/nvidia4");
    assert_int_equal(sf.gpus[2]->number, 2); /* among the node's */
    assert_int_equal(sf.gpus[2]->minor, 4);  /* in its file's name */
    assert_true(sf.gpus[2]->env & GPU_ENV_CUDA);
    free_gpus(&sf);
    gres_rows_free(g);
    conf_free(conf);
}

static void note_file(void *ctx, const char *name, uint32_t index, const char *path)
{
    char *all = ctx;
    size_t len = strlen(all);

    (void)snprintf(all + len, 256 - len, "%s%u=%s ", name, index, path);
}

static void test_files(void **state)
{
    struct conf *conf;
    struct gres_rows *g = rows_of("Name=nic File=/dev/nic[3,5]\n" TWO_KINDS, NULL, &conf);
    char all[256] = "";

    (void)state;
    gres_files(g, note_file, all);
    assert_string_equal(all, "nic0=/dev/nic3 nic1=/dev/nic5 gpu0=/dev/nvidia0 gpu1=/dev/nvidia1 "
                             "gpu2=/dev/nvidia4 ");
    gres_rows_free(g);
    conf_free(conf);
}

/* Flags=CountOnly: a number, without devices, variables or a look at the machine. */
static void test_counts(void **state)
{
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    struct conf *conf;
    struct gres_rows *g =
        rows_of("Name=gpu File=/dev/nvidia[0-3] Flags=CountOnly\nName=nic File=/dev/nic[0-1]\n",
                "gpu:4,nic:2", &conf);
    char all[256] = "";

    (void)state;
    expect_text(g, "gpu:4,nic:2", "gpu:4,nic:2(0-1)"); /* the numbers of files */
    assert_int_equal(gres_step_gpus(g, &sf), 0);
    assert_int_equal(sf.n_gpus, 0);
    gres_files(g, note_file, all);
    assert_string_equal(all, "nic0=/dev/nic0 nic1=/dev/nic1 ");
    free_gpus(&sf);
    gres_rows_free(g);
    conf_free(conf);
}

/* A line of shares with files says which GPUs are shared; without, all are. */
static void test_shares(void **state)
{
    Pst__NodeRecord rec = PST__NODE_RECORD__INIT;
    struct conf *conf;
    struct gres_rows *g = rows_of("Name=gpu File=/dev/nvidia[0-3]\n"
                                  "Name=shard Count=8 File=/dev/nvidia[2-3]\n",
                                  "gpu:4,shard:8", &conf);

    (void)state;
    assert_null(g->problem);
    assert_int_equal(gres_topo(g, &rec), 0);
    for (size_t i = 0; i < rec.n_gres_topo; i++) {
        const Pst__GresTopo *t = rec.gres_topo[i];

        if (strcmp(t->name, "shard") == 0)
            assert_string_equal(t->devices, "2-3");
        pst__gres_topo__free_unpacked(rec.gres_topo[i], NULL);
    }
    assert_true(rec.n_gres_topo >= 2);
    free(rec.gres_topo);
    gres_rows_free(g);
    conf_free(conf);
}

static void expect_how(const char *gres_conf, enum gpus_how want, enum gpus_how dynamic)
{
    struct conf *conf = conf_of_two("GresTypes=gpu", "gres.conf", gres_conf, "");

    assert_non_null(conf);
    assert_int_equal(gres_how(conf, "n1"), want);
    assert_int_equal(gres_how_dynamic(conf, "n1"), dynamic);
    conf_free(conf);
}

/* The last line that says it for the node, else for all. */
static void test_how(void **state)
{
    (void)state;
    expect_how("", GPUS_OFF, GPUS_FULL);
    expect_how("AutoDetect=nvidia\n", GPUS_NVIDIA, GPUS_NVIDIA);
    expect_how("AutoDetect=nvidia\nNodeName=n[1-2] AutoDetect=off\n", GPUS_OFF, GPUS_OFF);
    expect_how("NodeName=n2 AutoDetect=nvidia\n", GPUS_OFF, GPUS_FULL);
    expect_how("Name=gpu File=/dev/nvidia0\n", GPUS_OFF, GPUS_OFF);
}

static void test_print(void **state)
{
    struct conf *conf;
    struct gres_rows *g =
        rows_of("Name=gpu Type=t4 File=/dev/nvidia[0-1]\nName=nic Count=2\n", "gpu:2,nic:2", &conf);
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    assert_non_null(f);
    gres_print(f, g);
    assert_int_equal(fclose(f), 0);
    assert_non_null(strstr(text, "Gres Name=gpu Type=t4 Count=1 Index=0 File=/dev/nvidia0 "));
    assert_non_null(strstr(text, "Gres Name=gpu Type=t4 Count=1 Index=1 File=/dev/nvidia1 "));
    assert_non_null(strstr(text, "Gres Name=nic Type=(null) Count=2 "));
    free(text);
    gres_rows_free(g);
    conf_free(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_problem),  cmocka_unit_test(test_steps),
        cmocka_unit_test(test_files),    cmocka_unit_test(test_counts),
        cmocka_unit_test(test_shares),   cmocka_unit_test(test_how),
        cmocka_unit_test(test_print),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("nodegres", tests, NULL, NULL);
}
