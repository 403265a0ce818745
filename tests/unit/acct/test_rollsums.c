/* test_rollsums.c - the sums of a window, and the numbers of what they are of */
#include "acct_util.h"

#include "acct/sql/db.h"
#include "acct/usage/rollsums.h"

static void forget_window(struct roll *w)
{
    for (size_t i = 0; i < w->nwho; i++)
        free(w->who[i].key);
    free(w->who);
    namemap_done(&w->who_by_key);
    free(w->sums);
}

static uint64_t sum_of_all(const struct roll *w)
{
    uint64_t all = 0;

    for (size_t i = 0; i < w->sums_cap; i++)
        all += w->sums[i].key ? w->sums[i].secs : 0;
    return all;
}

/* The table of sums grows twice; each sum keeps what it had, and none counts for another. */
static void test_sums_grow(void **state)
{
    struct roll w = { 0 };

    (void)state;
    for (int turn = 0; turn < 2; turn++)
        for (unsigned hour = 0; hour < 100; hour++)
            for (size_t who = 0; who < 50; who++)
                assert_int_equal(roll_add(&w, hour, who, (unsigned)who % 3, 1 + who), 0);
    assert_int_equal(w.nsums, 100 * 50);
    assert_true(w.sums_cap > 2 * w.nsums);
    assert_int_equal(sum_of_all(&w), 2 * 100 * (50 * 51 / 2));
    for (size_t i = 0; i < w.sums_cap; i++) {
        size_t who = w.sums[i].key >> 8 & 0xff;

        if (w.sums[i].key)
            assert_int_equal(w.sums[i].secs, 2 * (1 + who));
    }
    forget_window(&w);
}

static void open_window(struct world *world, struct roll *w)
{
    struct err err = { .text = "" };

    *w = (struct roll){ .source = 1 };
    assert_int_equal(acct_db_open(world->db, &w->db, &err), 0);
    assert_int_equal(roll_load_tres(w), 0);
    assert_int_equal(roll_load_who(w), 0);
}

/* Numbers that a window made are those of the next one. */
static void test_numbers_stay(void **state)
{
    struct world *world = *state;
    Pst__JobRecord one = PST__JOB_RECORD__INIT, two = PST__JOB_RECORD__INIT;
    unsigned cpu, license, again;
    size_t first, second, same;
    struct roll w;
    int64_t id;

    world->acct = open_db(world->db); /* makes the tables */
    open_window(world, &w);
    one.account = (char *)"chem";
    two.account = (char *)"phys";
    SET(&one, uid, 7);
    SET(&two, uid, 7);
    assert_int_equal(sql_begin(w.db), 0);
    assert_int_equal(roll_tres(&w, "cpu", &cpu), 0);
    assert_int_equal(roll_tres(&w, "license/matlab", &license), 0);
    assert_true(license != cpu);
    id = w.tres_ids[license];
    assert_true(id > 1000 && id != w.tres_ids[cpu]);
    assert_int_equal(roll_who(&w, &one, &first), 0);
    assert_int_equal(roll_who(&w, &two, &second), 0);
    assert_int_equal(roll_who(&w, &one, &same), 0);
    assert_int_equal(same, first);
    assert_true(second != first);
    assert_int_equal(sql_commit(w.db), 0);
    forget_window(&w);
    w.db = sql_close(w.db);

    open_window(world, &w);
    assert_int_equal(w.nwho, 2);
    assert_int_equal(roll_tres(&w, "license/matlab", &again), 0);
    assert_true(w.tres_ids[again] == id);
    assert_int_equal(roll_who(&w, &two, &same), 0);
    assert_int_equal(w.nwho, 2); /* it was there */
    forget_window(&w);
    w.db = sql_close(w.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_grow),
        cmocka_unit_test_setup_teardown(test_numbers_stay, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("rollsums", tests, NULL, NULL);
}
