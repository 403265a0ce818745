/* test_gpus.c - the GPUs of a machine that a folder shows: which are found, in what order, and
 * what is known of each */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "noded/hw/gpus.h"

struct machine {
    char root[64];
};

static int make_machine(void **state)
{
    struct machine *m = calloc(1, sizeof(*m));

    assert_non_null(m);
    (void)snprintf(m->root, sizeof(m->root), "/tmp/penstock-gpus-XXXXXX");
    assert_non_null(mkdtemp(m->root));
    *state = m;
    return 0;
}

static int remove_machine(void **state)
{
    struct machine *m = *state;
    char command[128];
    FILE *p;

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", m->root);
    p = popen(command, "re");
    assert_non_null(p);
    assert_int_equal(pclose(p), 0);
    free(m);
    return 0;
}

/* Write a file below the root, with the folders above it. */
static void put_file(const struct machine *m, const char *path, const char *text)
{
    char full[512];
    FILE *f;

    (void)snprintf(full, sizeof(full), "%s%s", m->root, path);
    for (char *p = full + strlen(m->root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *p = '/';
    }
    f = fopen(full, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void put_nvidia(const struct machine *m, const char *pci, const char *text)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", pci);
    put_file(m, path, text);
}

static void test_nvidia(void **state)
{
    const struct machine *m = *state;
    _cleanup_free_ struct gpu_found *g = NULL;

    assert_int_equal(gpus_find(m->root, GPUS_FULL, &g), 0);
    free(g);
    put_nvidia(m, "0000:47:00.0",
               "Model: \t\t NVIDIA H100 80GB HBM3 \nIRQ:   \t\t 12\nGPU UUID: \t GPU-1\n"
               "Device Minor: \t 0\n");
    put_nvidia(m, "0000:07:00.0", "Model: T4 (x)\nDevice Minor: 10\n");
    put_nvidia(m, "0000:08:00.0", "Model: T4\nDevice Minor: 3\n");   /* no device file */
    put_nvidia(m, "0000:09:00.0", "Model: T4\n");                    /* no number */
    put_nvidia(m, "0000:0a:00.0", "Model: T4\nDevice Minor: 0x\n");  /* no number either */
    put_nvidia(m, "0000:0b:00.0", "Modell: T4\nDevice Minor: 10\n"); /* no model */
    put_nvidia(m, "version", "Model: T4\nDevice Minor: 10\n");       /* no address */
    put_file(m, "/dev/nvidia0", "");
    put_file(m, "/dev/nvidia10", "");
    put_file(m, "/sys/bus/pci/drivers/nvidia/0000:47:00.0/local_cpulist", "0-3,8\n");
    assert_int_equal(gpus_find(m->root, GPUS_AMD, &g), 0);
    free(g);
    assert_int_equal(gpus_find(m->root, GPUS_NVML, &g), 2);
    assert_string_equal(g[0].pci, "0000:07:00.0");
    assert_string_equal(g[0].type, "t4_x");
    assert_string_equal(g[0].file, "/dev/nvidia10");
    assert_string_equal(g[0].uuid, "");
    assert_string_equal(g[0].cpus, "");
    assert_string_equal(g[1].pci, "0000:47:00.0");
    assert_string_equal(g[1].type, "nvidia_h100_80gb_hbm3");
    assert_string_equal(g[1].uuid, "GPU-1");
    assert_string_equal(g[1].file, "/dev/nvidia0");
    assert_string_equal(g[1].cpus, "0-3,8");
    assert_int_equal(g[1].minor, 0);
    assert_int_equal(g[1].how, GPUS_NVIDIA);
}

static void test_amd(void **state)
{
    const struct machine *m = *state;
    _cleanup_free_ struct gpu_found *g = NULL;

    put_file(m, "/sys/bus/pci/drivers/amdgpu/0000:03:00.0/drm/renderD128/dev", "");
    put_file(m, "/sys/bus/pci/drivers/amdgpu/0000:03:00.0/product_name", "Instinct MI300X\n");
    put_file(m, "/sys/bus/pci/drivers/amdgpu/0000:03:00.0/unique_id", "abc\n");
    put_file(m, "/sys/bus/pci/drivers/amdgpu/0000:04:00.0/drm/renderD129/dev", "");
    put_file(m, "/sys/bus/pci/drivers/amdgpu/0000:05:00.0/drm/card1/dev", ""); /* no render node */
    put_file(m, "/sys/bus/pci/drivers/amdgpu/bind", "");
    put_file(m, "/dev/dri/renderD128", "");
    put_file(m, "/dev/dri/renderD129", "");
    assert_int_equal(gpus_find(m->root, GPUS_FULL, &g), 2);
    assert_string_equal(g[0].type, "instinct_mi300x");
    assert_string_equal(g[0].uuid, "GPU-abc");
    assert_string_equal(g[0].file, "/dev/dri/renderD128");
    assert_string_equal(g[1].type, "amd");
    assert_string_equal(g[1].uuid, "");
    assert_int_equal(g[1].minor, 129);
    assert_int_equal(g[1].how, GPUS_AMD);
    free(g);
    assert_int_equal(gpus_find(m->root, GPUS_OFF, &g), 0);
    assert_null(g);
}

static void test_words(void **state)
{
    static const struct {
        const char *word;
        int r;
        enum gpus_how how;
    } rows[] = {
        { "off", 0, GPUS_OFF },       { "NVIDIA", 0, GPUS_NVIDIA }, { "nvml", 0, GPUS_NVML },
        { "amd", 0, GPUS_AMD },       { "Full", 0, GPUS_FULL },     { "rsmi", 0, GPUS_AMD },
        { "oneapi", -EOPNOTSUPP, 0 }, { "", -EINVAL, 0 },           { "nvidi", -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        enum gpus_how how = GPUS_OFF;

        assert_int_equal(gpus_how_parse(rows[i].word, &how), rows[i].r);
        assert_int_equal(how, rows[i].how);
        if (rows[i].r == 0) /* rsmi and amd look at the same files */
            assert_int_equal(strcasecmp(gpus_how_word(how),
                                        strcmp(rows[i].word, "rsmi") == 0 ? "amd" : rows[i].word),
                             0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nvidia, make_machine, remove_machine),
        cmocka_unit_test_setup_teardown(test_amd, make_machine, remove_machine),
        cmocka_unit_test(test_words),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
