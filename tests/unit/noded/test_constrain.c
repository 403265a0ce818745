/* test_constrain.c - which devices a step may not use */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "noded/noded.h"
#include "noded/plan/constrain.h"

/* Numbers of the devices that are denied: those of /dev/null, zero and full are 3, 5 and 7. */
static uint32_t denied(struct gres_row *all, size_t n, const char *devices)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\nTaskPlugin=task/cgroup\n"
                               "GresTypes=gpu\nNodeName=n1 RealMemory=100\nPartitionName=p "
                               "Nodes=ALL\n",
                      cgroup[] = "ConstrainDevices=yes\n";
    const struct conf_text files[] = { { "slurm.conf", text, sizeof(text) - 1 },
                                       { "cgroup.conf", cgroup, sizeof(cgroup) - 1 } };
    struct gres_rows rows = { .rows = all, .n = n };
    struct noded d = { .name = (char *)"n1", .gres = &rows, .spool = (char *)"/spool" };
    Pst__GresAlloc gres = PST__GRES_ALLOC__INIT, *list[] = { &gres };
    Pst__AllocGroup group = PST__ALLOC_GROUP__INIT, *groups[] = { &group };
    Pst__Alloc alloc = PST__ALLOC__INIT;
    Pst__JobRecord record = PST__JOB_RECORD__INIT;
    Pst__JobOnNode job = PST__JOB_ON_NODE__INIT;
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    struct conf *conf = NULL;
    uint32_t mask = 0;

    assert_int_equal(conf_load_text(files, 2, CONF_FULL, &conf, NULL, NULL), 0);
    d.conf = conf;
    d.node = conf_find_node(conf, "n1");
    assert_non_null(d.node);
    d.cgroups.kind = CGROUP_V2;
    d.cgroups.use = CGROUP_DEVICES;
    gres.name = (char *)"gpu";
    gres.devices = (char *)devices;
    group.nodes = 1;
    group.gres = list;
    group.n_gres = 1;
    alloc.nodes = (char *)"n1";
    alloc.groups = groups;
    alloc.n_groups = 1;
    record.job_id = 7;
    record.alloc = &alloc;
    job.job = &record;
    sf.job = &job;
    assert_int_equal(constrain_plan(&d, &sf), 0);
    for (size_t i = 0; i < sf.cgroup->step->n_deny; i++) {
        assert_int_equal(sf.cgroup->step->deny[i]->major, 1);
        assert_false(sf.cgroup->step->deny[i]->block);
        mask |= 1u << sf.cgroup->step->deny[i]->minor;
    }
    pst__cgroup_plan__free_unpacked(sf.cgroup, NULL);
    conf_free(conf);
    return mask;
}

static void test_devices(void **state)
{
    struct gres_row row = { .name = (char[]){ "gpu" },
                            .file = (char[]){ "/dev/null,/dev/zero,/dev/full" },
                            .count = 3 };

    (void)state;
    assert_int_equal(denied(&row, 1, "0"), 1u << 5 | 1u << 7);
    assert_int_equal(denied(&row, 1, "0-1"), 1u << 7);
    assert_int_equal(denied(&row, 1, ""), 1u << 3 | 1u << 5 | 1u << 7);
}

/* Parts of a device: each has files of its own, and that of the whole. */
static void test_parts(void **state)
{
    struct gres_row rows[] = {
        { .name = (char[]){ "gpu" }, .file = (char[]){ "/dev/null,/dev/zero" }, .count = 1 },
        { .name = (char[]){ "gpu" }, .file = (char[]){ "/dev/null,/dev/full" }, .count = 1 },
    };

    (void)state;
    assert_int_equal(denied(rows, 2, "0"), 1u << 7);
    assert_int_equal(denied(rows, 2, "1"), 1u << 5);
    assert_int_equal(denied(rows, 2, "0-1"), 0);
    assert_int_equal(denied(rows, 2, ""), 1u << 3 | 1u << 5 | 1u << 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_parts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
