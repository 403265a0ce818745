/* test_noded_conf.c - what slurmd reads out of configuration and folders */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "noded/noded.h"
#include "noded/hw/gatherconf.h"

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

static int remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
    (void)sb;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int clean(void **state)
{
    (void)state;
    return strchr(root, 'X') ? 0 : nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_intervals),
                                        cmocka_unit_test(test_gpus),
                                        cmocka_unit_test(test_detection_words) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, clean);
}
