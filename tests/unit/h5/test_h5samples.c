/* test_h5samples.c - lines of samples as rows: of tasks and of the node, cut, mixed and wrong */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "h5/h5samples.h"

static void add(struct h5_samples *s, const char *text)
{
    assert_int_equal(h5samples_add(s, text, strlen(text)), 0);
}

static const struct h5_series *find(const struct h5_samples *s, enum h5_kind kind, uint32_t task)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->series[i].kind == kind && s->series[i].task == task)
            return &s->series[i];
    fail_msg("there is no such series");
    return NULL;
}

static const union h5_cell *row(const struct h5_series *x, size_t i)
{
    return x->cells + i * h5_tables[x->kind].n;
}

static void test_tasks(void **state)
{
    struct h5_samples s = { 0 };
    const struct h5_series *x;

    (void)state;
    add(&s, "CPUTime,job=7,step=0,task=1,host=n1 value=0.5 1000000\n"
            "RSS,job=7,step=0,task=1,host=n1 value=5290260 1000000\n"
            "CPUTime,job=7,step=0,task=2,host=n1 value=0.25 1000000\n");
    add(&s, "CPUTime,job=7,step=0,task=1,host=n1 value=1.5 1003999\n");
    add(&s, "RSS,job=7,step=0,task=1,host=n1 value=2 1003999\n"); /* of the same sample */
    add(&s, "RSS,job=7,step=0,task=1,host=n1 value=3 1003999\n"); /* the next, at the same time */
    assert_int_equal(h5samples_end(&s), 0);
    assert_int_equal(s.n, 2);
    x = find(&s, H5_TASK, 1);
    assert_int_equal(x->rows, 3);
    assert_int_equal(row(x, 0)[H5_COLUMN_ELAPSED].count, 0);
    assert_int_equal(row(x, 0)[H5_COLUMN_EPOCH].count, 1000);
    assert_true(row(x, 0)[3].real == 0.5);
    assert_int_equal(row(x, 0)[5].count, 5290260);
    assert_int_equal(row(x, 1)[H5_COLUMN_ELAPSED].count, 3);
    assert_true(row(x, 1)[3].real == 1.5);
    assert_int_equal(row(x, 1)[5].count, 2);
    assert_int_equal(row(x, 2)[5].count, 3);
    assert_true(row(x, 2)[3].real == 0);
    assert_int_equal(find(&s, H5_TASK, 2)->rows, 1);
    h5samples_done(&s);
}

static void test_node(void **state)
{
    struct h5_samples s = { 0 };

    (void)state;
    add(&s, "Power,job=7,step=-5,task=Energy,host=n1 value=99.6 1000\n"
            "InMB,job=7,step=-5,task=Network,host=n1 value=1 1000\n"
            "OutMB,job=7,step=-5,task=Network,host=n1 value=2 1000\n"
            "ReadMB,job=7,step=-5,task=Filesystem,host=n1 value=3 2000\n"
            "WriteMB,job=7,step=-5,task=Filesystem,host=n1 value=4 2000\n"
            "PacketsIn,job=7,step=-5,task=Network,host=n1 value=900 1000\n"
            "Writes,job=7,step=-5,task=Filesystem,host=n1 value=8 2000\n");
    assert_int_equal(h5samples_end(&s), 0);
    assert_int_equal(row(find(&s, H5_ENERGY, 0), 0)[2].count, 100);
    assert_int_equal(row(find(&s, H5_NETWORK, 0), 0)[2].count, 900);
    assert_int_equal(row(find(&s, H5_NETWORK, 0), 0)[3].count,
                     0); /* PacketsOut: nothing was said */
    assert_true(row(find(&s, H5_NETWORK, 0), 0)[5].real == 2);
    assert_true(row(find(&s, H5_FILESYSTEM, 0), 0)[3].real == 3);
    assert_int_equal(row(find(&s, H5_FILESYSTEM, 0), 0)[4].count, 8);
    assert_int_equal(row(find(&s, H5_FILESYSTEM, 0), 0)[H5_COLUMN_ELAPSED].count, 1);
    h5samples_done(&s);
}

static void test_many(void **state)
{
    struct h5_samples s = { 0 };
    char line[128];

    (void)state;
    for (unsigned at = 0; at < 50; at++)
        for (unsigned task = 0; task < 300; task++) {
            (void)snprintf(line, sizeof(line), "RSS,job=7,step=0,task=%u,host=n value=%u %u\n",
                           task, at, 1000 * (at + 1));
            add(&s, line);
        }
    assert_int_equal(h5samples_end(&s), 0);
    assert_int_equal(s.n, 300);
    for (uint32_t task = 0; task < 300; task++) {
        const struct h5_series *x = find(&s, H5_TASK, task);

        assert_int_equal(x->rows, 50);
        assert_int_equal(row(x, 49)[5].count, 49);
        assert_int_equal(row(x, 49)[H5_COLUMN_ELAPSED].count, 49);
    }
    h5samples_done(&s);
}

static void test_wrong(void **state)
{
    static const char *const rows[] = {
        "\n",
        "RSS\n",
        "RSS,job=7,step=0,task=1,host=n1 value=1\n",
        "RSS,job=7,step=0,task=1,host=n1 value=nan 1000\n",
        "RSS,job=7,step=0,task=1,host=n1 value=inf 1000\n",
        "RSS,job=7,step=0,task=x,host=n1 value=1 1000\n",
        "RSS,job=7,step=0,task=99999999999,host=n1 value=1 1000\n",
        "RSS,job=7,step=0,task=1,host=n1 value=1 -5\n",
        "RSS,job=7,step=0,task=1,host=n1 value=1 1000 x\n",
        "Nothing,job=7,step=0,task=1,host=n1 value=1 1000\n",
        "RSS,job=7,step=0,task=Energy,host=n1 value=1 1000\n",
        "RSS,job=7,step=0,host=n1 value=1 1000,task=1\n",
        "RSS,job=7,step=0,task=1,host=n1 value=1 1000", /* no end of line */
    };
    struct h5_samples s = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        add(&s, rows[i]);
    assert_int_equal(h5samples_end(&s), 0);
    assert_int_equal(s.n, 0);
    assert_false(s.begun);
    add(&s, "RSS,job=7,step=0,task=1,host=n1 value=-3 1000\n"
            "VMSize,job=7,step=0,task=1,host=n1 value=1e300 1000\n");
    assert_int_equal(h5samples_end(&s), 0);
    assert_int_equal(row(&s.series[0], 0)[5].count, 0);
    assert_int_equal(row(&s.series[0], 0)[6].count, (uint64_t)9e18);
    h5samples_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_wrong),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
