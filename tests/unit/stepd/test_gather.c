/* test_gather.c - the readers of the kernel's counters, below a made root */
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
#include <unistd.h>

#include "base/cleanup.h"
#include "folder_util.h"
#include "stepd/use/energy.h"
#include "stepd/use/nodeio.h"

static char root[64];

/* A file below root with its folders. */
static void put(const char *file, const char *text)
{
    char path[512];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s%s", root, file);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        (void)mkdir(path, 0700);
        *p = '/';
    }
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
}

static void zone(const char *name, const char *what, const char *energy, const char *range)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "/sys/class/powercap/%s/name", name);
    put(path, what);
    (void)snprintf(path, sizeof(path), "/sys/class/powercap/%s/energy_uj", name);
    put(path, energy);
    (void)snprintf(path, sizeof(path), "/sys/class/powercap/%s/max_energy_range_uj", name);
    put(path, range);
}

static int make_root(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof(root), "/tmp/penstock-gather-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return folder_unlink(root);
}

/* Two packages and the memory of one; parts of a package and the whole platform do not count. */
static void test_rapl(void **state)
{
    struct energy e;

    (void)state;
    zone("intel-rapl:0", "package-0\n", "1000\n", "5000\n");
    zone("intel-rapl:0:0", "core\n", "7\n", "5000\n");
    zone("intel-rapl:0:1", "dram\n", "20\n", "5000\n");
    zone("intel-rapl:1", "package-1\n", "4900\n", "5000\n");
    zone("intel-rapl:2", "psys\n", "0\n", "5000\n");
    zone("intel-rapl-mmio:0", "package-0\n", "0\n", "5000\n");
    assert_int_equal(energy_begin(&e, ENERGY_RAPL, root), 0);
    assert_int_equal(e.n, 3);
    assert_int_equal(e.first_uj, 5920);
    zone("intel-rapl:0", "package-0\n", "1500\n", "5000\n");
    zone("intel-rapl:0:0", "core\n", "4007\n", "5000\n");
    zone("intel-rapl:0:1", "dram\n", "25\n", "5000\n");
    zone("intel-rapl:1", "package-1\n", "300\n", "5000\n"); /* went round: 100 and 300 */
    zone("intel-rapl:2", "psys\n", "4000\n", "5000\n");
    energy_look(&e);
    assert_int_equal(e.used_uj, 500 + 5 + 400);
    energy_look(&e);
    assert_int_equal(e.used_uj, 905);
    put("/sys/class/powercap/intel-rapl:0/energy_uj",
        "x"); /* not to be read now: nothing is lost */
    energy_look(&e);
    assert_int_equal(e.used_uj, 905);
    put("/sys/class/powercap/intel-rapl:0/energy_uj", "1600\n");
    energy_look(&e);
    assert_int_equal(e.used_uj, 1005);
}

/* Without a range a counter that is smaller than before has begun anew. */
static void test_unknown_range(void **state)
{
    struct energy e;

    (void)state;
    zone("intel-rapl:0", "package-0\n", "1000\n", "?\n");
    assert_int_equal(energy_begin(&e, ENERGY_RAPL, root), 0);
    put("/sys/class/powercap/intel-rapl:0/energy_uj", "10\n");
    energy_look(&e);
    assert_int_equal(e.used_uj, 0);
    put("/sys/class/powercap/intel-rapl:0/energy_uj", "15\n");
    energy_look(&e);
    assert_int_equal(e.used_uj, 5);
}

static void test_pm_counters(void **state)
{
    struct energy e;

    (void)state;
    assert_int_equal(energy_begin(&e, ENERGY_PM_COUNTERS, root), -ENOENT);
    put("/sys/cray/pm_counters/energy", "5000000000 J 1700000000000000 us\n");
    assert_int_equal(energy_begin(&e, ENERGY_PM_COUNTERS, root), 0);
    assert_int_equal(e.first_uj, UINT64_C(5000000000000000));
    put("/sys/cray/pm_counters/energy", "5000000123 J 1700000001000000 us\n");
    energy_look(&e);
    assert_int_equal(e.used_uj, 123000000);
}

static void test_unreadable(void **state)
{
    struct energy e;

    (void)state;
    assert_int_equal(energy_begin(&e, ENERGY_RAPL, root), -ENOENT);
    zone("intel-rapl:0:0", "core\n", "1\n", "5000\n");
    assert_int_equal(energy_begin(&e, ENERGY_RAPL, root), -ENOENT);
    zone("intel-rapl:0", "package-0\n", "no number\n", "5000\n");
    assert_int_equal(energy_begin(&e, ENERGY_RAPL, root), -EBADMSG);
    assert_int_equal(e.n, 0);
}

static void test_nodeio(void **state)
{
    struct nodeio n = { .root = root, .interfaces = "ib0,,gone,eth1", .kind = NODEIO_NET };
    char line[300];

    (void)state;
    assert_int_equal(nodeio_begin(&n), -ENOENT);
    put("/sys/class/net/ib0/statistics/rx_bytes", "18446744073709551000\n");
    put("/sys/class/net/ib0/statistics/tx_bytes", "7\n");
    put("/sys/class/net/ib0/statistics/rx_packets", "20\n");
    put("/sys/class/net/ib0/statistics/tx_packets", "5\n");
    assert_int_equal(nodeio_begin(&n), 0);
    put("/sys/class/net/ib0/statistics/rx_bytes", "18446744073709551010\n");
    put("/sys/class/net/ib0/statistics/tx_bytes", "3\n"); /* the interface was made anew */
    put("/sys/class/net/ib0/statistics/rx_packets", "24\n");
    put("/sys/class/net/ib0/statistics/tx_packets", "2\n");
    nodeio_look(&n);
    assert_int_equal(n.sum.in, 10);
    assert_int_equal(n.sum.out, 3);
    assert_int_equal(n.sum.n_in, 4);
    assert_int_equal(n.sum.n_out, 2);
    n.kind = NODEIO_LUSTRE;
    assert_int_equal(nodeio_begin(&n), -ENOENT);
    put("/sys/kernel/debug/lustre/llite/a/stats",
        "snapshot_time 17 secs.nsecs\nread_bytes 3 samples [bytes] 1 9 40\nwrite_bytes 3 samples [bytes] 1 9 50 77\n");
    put("/sys/kernel/debug/lustre/llite/b/stats",
        "read_bytes 1 samples [bytes] 2 2 2\nread_bytes x\nopen 5 samples [regs]\n");
    assert_int_equal(nodeio_begin(&n), 0);
    assert_int_equal(n.last.in, 42);
    assert_int_equal(n.last.n_in, 4);
    assert_int_equal(n.last.out, 50);
    assert_int_equal(n.last.n_out, 3);
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    put("/sys/kernel/debug/lustre/llite/b/stats", line);
    nodeio_look(&n);
    assert_int_equal(n.sum.out, 0);
    assert_int_equal(n.sum.n_out, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_rapl), TEST(test_unknown_range),
                                        TEST(test_pm_counters), TEST(test_unreadable),
                                        TEST(test_nodeio) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
