/* test_cglimit.c - limits as files of a cgroup: which are written, in which order of size, and what
 * happens where one cannot be */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "folder_util.h"
#include "stepd/cgroup/cgroup_int.h"

struct machine {
    struct cgroup_tree tree;
};

/* DIR/s/job_7 of version 2, DIR/CONTROLLER/s/job_7 of version 1, with the files of the list. */
static void machine_init(struct machine *m, enum cgroup_kind kind, const char *const *files)
{
    char path[CGI_PATH];

    *m = (struct machine){
        .tree = { .kind = kind, .root = "s", .use = CGROUP_MEMORY | CGROUP_CPUSET | CGROUP_DEVICES }
    };
    folder_make(m->tree.mount, sizeof(m->tree.mount), "cglimit");
    for (size_t i = 0; files[i]; i++) {
        enum cgroup_ctrl ctrl = strncmp(files[i], "memory", 6) == 0   ? CGROUP_MEMORY
                                : strncmp(files[i], "cpuset", 6) == 0 ? CGROUP_CPUSET
                                                                      : CGROUP_DEVICES;
        FILE *f;

        assert_int_equal(cgi_path(&m->tree, ctrl, "job_7", files[i], path), 0);
        for (char *p = path + strlen(m->tree.mount) + 1; (p = strchr(p, '/')); *p++ = '/') {
            *p = '\0';
            assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        }
        f = fopen(path, "we");
        assert_non_null(f);
        assert_int_equal(fclose(f), 0);
    }
}

static void machine_done(const struct machine *m)
{
    folder_remove(m->tree.mount);
}

static void expect_file(const struct machine *m, enum cgroup_ctrl ctrl, const char *file,
                        const char *text)
{
    char path[CGI_PATH], found[128];

    assert_int_equal(cgi_path(&m->tree, ctrl, "job_7", file, path), 0);
    assert_int_equal(cgi_read(path, found, sizeof(found)), 0);
    assert_string_equal(found, text);
}

static void expect_bytes(const struct machine *m, const char *file, uint64_t bytes)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, bytes);
    expect_file(m, CGROUP_MEMORY, file, text);
}

static int set_limits(const struct machine *m, const struct cgroup_limits *l, struct err *err)
{
    err->text[0] = '\0';
    return cgi_limit(&m->tree, "job_7", l, err);
}

static void test_version_two(void **state)
{
    static const char *const files[] = { "cpuset.cpus", "memory.max", "memory.high",
                                         "memory.swap.max", NULL };
    struct machine m;
    struct err err;

    (void)state;
    machine_init(&m, CGROUP_V2, files);
    assert_int_equal(set_limits(&m, &(struct cgroup_limits){ 0 }, &err), 0);
    expect_file(&m, CGROUP_MEMORY, "memory.max", ""); /* no limit was asked for */
    expect_file(&m, CGROUP_CPUSET, "cpuset.cpus", "");
    assert_int_equal(set_limits(&m,
                                &(struct cgroup_limits){ .cpus = "0-3,8",
                                                         .ram_max = UINT64_MAX,
                                                         .ram_high = UINT64_MAX,
                                                         .has_swap = true },
                                &err),
                     0);
    expect_file(&m, CGROUP_CPUSET, "cpuset.cpus", "0-3,8");
    expect_bytes(&m, "memory.max", UINT64_MAX);
    expect_file(&m, CGROUP_MEMORY, "memory.high", ""); /* no lower than the limit itself */
    expect_bytes(&m, "memory.swap.max", 0);            /* none at all, which is a limit */
    assert_int_equal(
        set_limits(&m, &(struct cgroup_limits){ .ram_max = 4096, .ram_high = 4095 }, &err), 0);
    expect_bytes(&m, "memory.high", 4095);
    machine_done(&m);
}

/* Without its limit no task runs: a file that is missing is an error, but for swap that the kernel
 * does not have. */
static void test_missing(void **state)
{
    static const char *const no_swap[] = { "cpuset.cpus", "memory.max", NULL };
    static const char *const no_memory[] = { "cpuset.cpus", NULL };
    const struct cgroup_limits limits = { .ram_max = 7, .swap_max = 9, .has_swap = true };
    struct machine m;
    struct err err;

    (void)state;
    machine_init(&m, CGROUP_V2, no_swap);
    assert_int_equal(set_limits(&m, &limits, &err), 0);
    expect_bytes(&m, "memory.max", 7);
    machine_done(&m);
    machine_init(&m, CGROUP_V2, no_memory);
    assert_int_equal(set_limits(&m, &limits, &err), -ENOENT);
    assert_string_equal(err.text, "cannot set memory.max=7 of job_7: No such file or directory");
    m.tree.use = CGROUP_CPUSET; /* memory is not limited on this node */
    assert_int_equal(set_limits(&m, &limits, &err), 0);
    machine_done(&m);
}

/* Version 1 counts memory and swap together, and that limit may never be below memory's. */
static void test_version_one(void **state)
{
    static const char *const files[] = { "memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
                                         "memory.soft_limit_in_bytes", "memory.swappiness", NULL };
    struct machine m;
    struct err err;

    (void)state;
    machine_init(&m, CGROUP_V1, files);
    assert_int_equal(cgi_put(&m.tree, CGROUP_MEMORY, "job_7", files[1], "50"), 0);
    assert_int_equal(set_limits(&m,
                                &(struct cgroup_limits){ .ram_max = 100,
                                                         .ram_high = 60,
                                                         .swap_max = 20,
                                                         .has_swap = true,
                                                         .has_swappiness = true },
                                &err),
                     0);
    expect_bytes(&m, files[0], 100);
    expect_bytes(&m, files[1], 120);
    expect_bytes(&m, files[2], 60);
    expect_bytes(&m, files[3], 0);
    machine_done(&m);
}

/* No hierarchy of devices, and more devices than a program for the kernel may name. */
static void test_devices(void **state)
{
    static const char *const files[] = { "devices.deny", NULL };
    static struct cgroup_device many[513];
    const struct cgroup_device one = { .block = true, .major = 8, .minor = UINT32_MAX };
    struct machine m;
    struct err err;

    (void)state;
    machine_init(&m, CGROUP_V1, files);
    assert_int_equal(set_limits(&m, &(struct cgroup_limits){ .deny = &one, .n_deny = 1 }, &err), 0);
    expect_file(&m, CGROUP_DEVICES, "devices.deny", "b 8:4294967295 rwm");
    assert_int_equal(
        set_limits(&m, &(struct cgroup_limits){ .deny = many, .n_deny = ARRAY_SIZE(many) }, &err),
        -E2BIG);
    assert_string_equal(err.text, "cannot confine job_7 to its devices: Argument list too long");
    m.tree.use &= ~(unsigned)CGROUP_DEVICES;
    assert_int_equal(set_limits(&m, &(struct cgroup_limits){ .deny = &one, .n_deny = 1 }, &err),
                     -ENOTSUP);
    machine_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_two),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_version_one),
        cmocka_unit_test(test_devices),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
