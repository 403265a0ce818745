/* test_jobuser.c - who a job's user is: by his own host, by this one, by nobody */
#include "stepd/shared/jobuser.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOBODY_HAS 1999999999u

static void test_told(void **state)
{
    uint32_t gids[] = { NOBODY_HAS, 7 };
    Pst__ClientIdent id = PST__CLIENT_IDENT__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    struct job_user u;

    (void)state;
    id.name = "faraway";
    id.home = "/far";
    id.gids = gids;
    id.n_gids = 2;
    job.uid = job.gid = NOBODY_HAS;
    job.client_ident = &id;
    on.job = &job;
    assert_int_equal(jobuser_find(&on, &u), 0);
    assert_true(u.named);
    assert_string_equal(u.name, "faraway");
    assert_string_equal(u.home, "/far");
    assert_string_equal(u.gecos, "");
    assert_ptr_equal(u.gids, gids);
    assert_int_equal(u.ngids, 2);
    jobuser_done(&u);
    job.user_name = "other"; /* as the controller says */
    on.gids = gids + 1;      /* those of the launch win */
    on.n_gids = 1;
    assert_int_equal(jobuser_find(&on, &u), 0);
    assert_string_equal(u.name, "other");
    assert_int_equal(u.ngids, 1);
    assert_int_equal(u.gids[0], 7);
    jobuser_done(&u);
}

static void test_known_here(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    struct job_user u;

    (void)state;
    on.job = &job; /* root */
    assert_int_equal(jobuser_find(&on, &u), 0);
    assert_true(u.named);
    assert_string_equal(u.name, "root");
    assert_true(u.ngids > 0);
    jobuser_done(&u);
}

static void test_unknown(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    struct job_user u;

    (void)state;
    job.uid = job.gid = NOBODY_HAS;
    on.job = &job;
    assert_int_equal(jobuser_find(&on, &u), 0);
    assert_false(u.named);
    assert_string_equal(u.name, "1999999999");
    assert_string_equal(u.shell, "");
    assert_int_equal(u.ngids, 1);
    assert_int_equal(u.gids[0], NOBODY_HAS);
    jobuser_done(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_known_here),
        cmocka_unit_test(test_unknown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
