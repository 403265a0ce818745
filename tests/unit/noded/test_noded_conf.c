/* test_noded_conf.c - what slurmd reads out of configuration and folders */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "folder_util.h"
#include "noded/noded.h"
#include "noded/hw/gatherconf.h"
#include "noded/hw/selfline.h"
#include "noded/link/claim.h"

static void test_intervals(void **state)
{
    static const struct {
        const char *text, *kind;
        int64_t want;
    } cases[] = {
        { NULL, "task", -1 },
        { "", "task", -1 },
        { "30", "task", 30 },
        { "30", "energy", -1 },
        { "0", "task", 0 },
        { "task=10", "task", 10 },
        { "Task=10", "task", 10 },
        { "energy=5,task=10", "task", 10 },
        { "energy=5,task=10", "energy", 5 },
        { "tasks=10", "task", -1 },
        { "task=", "task", -1 },
        { "task=x", "task", -1 },
        { "5,energy=7", "task", 5 },
        { "task=99999999999999999999999999", "task", -1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(gather_interval(cases[i].text, cases[i].kind), cases[i].want);
}

/* ---- GPUs of a made machine ------------------------------------------------------------------ */

static char root[] = "/tmp/penstock-gpus-XXXXXX";

__attribute__((format(printf, 2, 3))) static void put(const char *text, const char *fmt, ...)
{
    char path[512], *p;
    size_t at = strlen(root);
    va_list ap;
    FILE *f;

    memcpy(path, root, at);
    va_start(ap, fmt);
    (void)vsnprintf(path + at, sizeof(path) - at, fmt, ap);
    va_end(ap);
    for (p = path + at + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        (void)mkdir(path, 0700);
        *p = '/';
    }
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static void nvidia(const char *pci, unsigned minor, const char *model)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "Model: \t\t %s\nGPU UUID: \t GPU-%u\nDevice Minor: \t %u\n",
                   model, minor, minor);
    put(text, "/proc/driver/nvidia/gpus/%s/information", pci);
}

static void test_gpus(void **state)
{
    struct gpu_found *found = NULL;

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(gpus_find(root, GPUS_FULL, &found), 0);
    free(found);
    put("Radeon Instinct MI210\n", "/sys/bus/pci/drivers/amdgpu/0000:83:00.0/product_name");
    put("", "/sys/bus/pci/drivers/amdgpu/0000:83:00.0/drm/renderD129/dev");
    put("8-15\n", "/sys/bus/pci/drivers/amdgpu/0000:83:00.0/local_cpulist");
    put("1a2b\n", "/sys/bus/pci/drivers/amdgpu/0000:83:00.0/unique_id");
    put("", "/sys/bus/pci/drivers/amdgpu/module/x");
    put("", "/dev/dri/renderD129");
    assert_int_equal(gpus_find(root, GPUS_NVIDIA, &found), 0);
    free(found);
    assert_int_equal(gpus_find(root, GPUS_FULL, &found), 1);
    assert_string_equal(found[0].type, "radeon_instinct_mi210");
    assert_string_equal(found[0].file, "/dev/dri/renderD129");
    assert_string_equal(found[0].uuid, "GPU-1a2b");
    assert_string_equal(found[0].cpus, "8-15");
    assert_int_equal(found[0].minor, 129);
    free(found);

    nvidia("0000:21:00.0", 1, "Tesla T4");
    nvidia("0000:02:00.0", 0, "  NVIDIA A100-SXM4-40GB  ");
    nvidia("0000:03:00.0", 2, "No file");
    nvidia("0000:04:00.0", 3, "");
    put("Model: broken\n", "/proc/driver/nvidia/gpus/0000:05:00.0/information");
    put("", "/proc/driver/nvidia/gpus/abc/information");
    put("", "/dev/nvidia0");
    put("", "/dev/nvidia1");
    put("", "/dev/nvidia3");
    assert_int_equal(gpus_find(root, GPUS_FULL, &found), 2);
    assert_string_equal(found[0].type, "nvidia_a100-sxm4-40gb");
    assert_string_equal(found[0].uuid, "GPU-0");
    assert_string_equal(found[0].cpus, "");
    assert_string_equal(found[1].type, "tesla_t4");
    assert_string_equal(found[1].file, "/dev/nvidia1");
    free(found);
    assert_int_equal(gpus_find(root, GPUS_AMD, &found), 1);
    free(found);
}

static void test_detection_words(void **state)
{
    enum gpus_how how;

    (void)state;
    assert_int_equal(gpus_how_parse("NVidia", &how), 0);
    assert_int_equal(how, GPUS_NVIDIA);
    assert_int_equal(gpus_how_parse("nrt", &how), -EOPNOTSUPP);
    assert_int_equal(gpus_how_parse("", &how), -EINVAL);
    assert_string_equal(gpus_how_word(GPUS_FULL), "full");
}

static int clean(void **state)
{
    (void)state;
    return strchr(root, 'X') ? 0 : folder_unlink(root);
}

/* ---- a node that describes itself ------------------------------------------------------------ */

static struct conf *plain_conf(void)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\nNodeName=n1\n"
                               "PartitionName=p Nodes=ALL\n";
    struct conf_text file = { "slurm.conf", text, sizeof(text) - 1 };
    struct conf *c = NULL;
    struct err err = { .text = "" };

    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &c, NULL, &err), 0);
    return c;
}

static void test_selfline(void **state)
{
    struct conf *conf = plain_conf();
    struct err err = { .text = "" };
    char *line = NULL;

    (void)state;
    assert_int_equal(
        selfline_make(conf, "z1", "host", "CPUs=2 RealMemory=100 Feature=a,b", &line, &err), 0);
    assert_string_equal(line, "NodeName=z1 NodeHostname=host CPUs=2 RealMemory=100 Feature=a,b");
    free(line);
    /* of the machine what is not given, and nothing of what is */
    assert_int_equal(selfline_make(conf, "z1", "host", "realmemory=100", &line, &err), 0);
    assert_non_null(strstr(line, " CPUs="));
    assert_non_null(strstr(line, " ThreadsPerCore="));
    assert_null(strstr(line, " RealMemory="));
    free(line);
    assert_int_equal(selfline_make(conf, "z1", "h", "NodeHostname=x ThreadsPerCore=1", &line, &err),
                     0);
    assert_null(strstr(line, " CPUs="));
    assert_null(strstr(line, "NodeHostname=h "));
    assert_non_null(strstr(line, " RealMemory="));
    free(line);
    assert_int_equal(selfline_make(conf, "z1", "h", "NodeName=n1", &line, &err), -EINVAL);
    assert_int_equal(selfline_make(conf, "z1", "h", "State=DOWN", &line, &err), -EINVAL);
    assert_int_equal(selfline_make(conf, "z1", "h", "Feature=a\nx=1", &line, &err), -EINVAL);
    assert_int_equal(selfline_check_static("Topology=t:b1", &err), 0);
    assert_int_equal(selfline_check_static("Topology=t:b1 CPUs=2", &err), -EINVAL);
    assert_int_equal(selfline_check_static("CPUs=2", &err), -EINVAL);
    assert_int_equal(selfline_check_static("", &err), -EINVAL);
    conf_free(conf);
}

/* No controller answers: a sentence, after MessageTimeout. */
static void test_claim_unheard(void **state)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h(127.0.0.1)\nSlurmctldPort=1\n"
                               "MessageTimeout=1\nNodeName=n1\nPartitionName=p Nodes=ALL\n";
    struct conf_text file = { "slurm.conf", text, sizeof(text) - 1 };
    struct conf *c = NULL;
    struct err err = { .text = "" };
    struct claimed got = { 0 };

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &c, NULL, &err), 0);
    assert_true(claim_node(c, "host", NULL, &got, &err) < 0);
    assert_non_null(strstr(err.text, "-F: no node can be had"));
    assert_null(got.name);
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_intervals),
                                        cmocka_unit_test(test_selfline),
                                        cmocka_unit_test(test_claim_unheard),
                                        cmocka_unit_test(test_gpus),
                                        cmocka_unit_test(test_detection_words) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, clean);
}
