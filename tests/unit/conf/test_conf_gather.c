/* test_conf_gather.c - acct_gather.conf, and the ways of measuring that slurm.conf may name */
#include "conf_util.h"

#include "base/cleanup.h"

#define NAME "acct_gather.conf"
#define MEASURES "JobAcctGatherType=jobacct_gather/linux\n"
#define INFLUX MEASURES "AcctGatherProfileType=acct_gather_profile/influxdb"

static void test_influx(void **state)
{
    _cleanup_(conf_free) struct conf *c = conf_of_two(
        INFLUX, NAME,
        "ProfileInfluxDBHost=http://db:8086\nProfileInfluxDBDatabase=slurm\n"
        "ProfileInfluxDBUser=u\nProfileInfluxDBPass=p\nProfileInfluxDBDefault=task,energy\n",
        "");
    struct conf_influx x;

    (void)state;
    assert_non_null(c);
    assert_true(conf_gather_influx(c, &x));
    assert_string_equal(x.host, "http://db:8086");
    assert_string_equal(x.database, "slurm");
    assert_string_equal(x.user, "u");
    assert_null(x.policy);
    assert_string_equal(conf_gather_usual(c), "task,energy");
    assert_null(conf_gather_hdf5(c));
    assert_true(x.timeout_s > 0);
    assert_null(conf_gather_interfaces(c));
}

static void test_interfaces(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        conf_of_two("AcctGatherInterconnectType=acct_gather_interconnect/sysfs", NAME,
                    "SysfsInterfaces=ib0,eth1\n", "");
    struct conf_influx x;

    (void)state;
    assert_non_null(c);
    assert_string_equal(conf_gather_interfaces(c), "ib0,eth1");
    assert_false(conf_gather_influx(c, &x));
    assert_null(conf_gather_usual(c));
}

#define HDF5 MEASURES "AcctGatherProfileType=acct_gather_profile/hdf5"

static void test_files(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        conf_of_two(HDF5, NAME, "ProfileHDF5Dir=/shared/profiles\nProfileHDF5Default=All\n", "");
    struct conf_influx x;

    (void)state;
    assert_non_null(c);
    assert_string_equal(conf_gather_hdf5(c), "/shared/profiles");
    assert_string_equal(conf_gather_usual(c), "All");
    assert_false(conf_gather_influx(c, &x));
}

#define TYPE "acct_gather_profile/influxdb"

static void test_wrong(void **state)
{
    static const char *const rows[][3] = {
        { "AcctGatherEnergyType=acct_gather_energy/ipmi", "",
          "slurm.conf:6: error: AcctGatherEnergyType=acct_gather_energy/ipmi is not available; "
          "there is: acct_gather_energy/rapl, acct_gather_energy/pm_counters, "
          "acct_gather_energy/none\n" },
        { "AcctGatherFilesystemType=lustre", "",
          "slurm.conf:6: error: AcctGatherFilesystemType=lustre is not available; there is: "
          "acct_gather_filesystem/lustre, acct_gather_filesystem/none\n" },
        { "AcctGatherInterconnectType=acct_gather_interconnect/sysfs", "",
          "slurm.conf:6: error: acct_gather_interconnect/sysfs needs SysfsInterfaces in "
          "acct_gather.conf\n" },
        { "", "SysfsInterfaces=ib0\n",
          "acct_gather.conf:1: error: SysfsInterfaces needs "
          "AcctGatherInterconnectType=acct_gather_interconnect/sysfs\n" },
        { "", "ProfileInfluxDBUser=u\n",
          "acct_gather.conf:1: error: ProfileInfluxDBUser needs AcctGatherProfileType=" TYPE "\n" },
        { "", "ProfileHDF5Dir=/p\n",
          "acct_gather.conf:1: error: ProfileHDF5Dir needs "
          "AcctGatherProfileType=acct_gather_profile/hdf5\n" },
        { HDF5, "",
          "slurm.conf:7: error: acct_gather_profile/hdf5 needs ProfileHDF5Dir in "
          "acct_gather.conf\n" },
        { HDF5, "ProfileHDF5Dir=/p\nProfileHDF5Default=Tasks\n",
          "acct_gather.conf:2: error: ProfileHDF5Default: Tasks is none of None, All, Energy, "
          "Filesystem, Network, Task\n" },
        { INFLUX, "ProfileInfluxDBHost=h:1\n",
          "slurm.conf:7: error: " TYPE " needs ProfileInfluxDBDatabase in acct_gather.conf\n" },
        { INFLUX, "ProfileInfluxDBHost=h:1\nProfileInfluxDBDatabase=d\nProfileInfluxDBPass=p\n",
          "slurm.conf:7: error: InfluxDB 2 (ProfileInfluxDBPass without ProfileInfluxDBUser) "
          "needs its organization in ProfileInfluxDBRTPolicy\n" },
        { INFLUX, "ProfileInfluxDBHost=ftp://h\nProfileInfluxDBDatabase=d\n",
          "acct_gather.conf:1: error: ProfileInfluxDBHost=ftp://h: write host:port, "
          "http://host:port or https://host:port\n" },
        { INFLUX,
          "ProfileInfluxDBHost=h:1\nProfileInfluxDBDatabase=d\nProfileInfluxDBDefault=task,cpu\n",
          "acct_gather.conf:3: error: ProfileInfluxDBDefault: cpu is none of None, All, Energy, "
          "Filesystem, Network, Task\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_null(conf_of_two(rows[i][0], NAME, rows[i][1], rows[i][2]));
}

/* It loads, and the administrator learns that there will be nothing to see. */
static void test_measures_nothing(void **state)
{
    _cleanup_(conf_free) struct conf *c = conf_of_two(
        "AcctGatherProfileType=" TYPE, NAME, "ProfileInfluxDBHost=h:1\nProfileInfluxDBDatabase=d\n",
        "slurm.conf:6: warning: " TYPE " gets nothing: JobAcctGatherType measures nothing\n");

    (void)state;
    assert_non_null(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_influx),
                                        cmocka_unit_test(test_interfaces),
                                        cmocka_unit_test(test_files), cmocka_unit_test(test_wrong),
                                        cmocka_unit_test(test_measures_nothing) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
