/* test_userentry.c - lines of passwd and group: as his own host told, and as this one knows */
#include "cli/format/userentry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/shared/spool.h"

#define NOBODY_HAS 1999999999u

static void assert_put(const Pst__JobOnNode *on, const char *text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    assert_int_equal(userentry_put(&sb, on), 0);
    assert_string_equal(strbuf_str(&sb), text);
}

static void test_told_by_his_host(void **state)
{
    uint32_t gids[] = { NOBODY_HAS, 0 };
    Pst__ClientIdent id = PST__CLIENT_IDENT__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;

    (void)state;
    id.name = "faraway";
    id.gecos = "Far Away";
    id.home = "/far";
    id.shell = "/bin/sh";
    id.gids = gids;
    id.n_gids = 2;
    job.uid = job.gid = NOBODY_HAS;
    job.client_ident = &id;
    on.job = &job;
    assert_put(&on, "User:\nfaraway:x:1999999999:1999999999:Far Away:/far:/bin/sh\nGroups:\n"
                    "1999999999:x:1999999999:faraway\nroot:x:0:faraway\n\n");
    on.gids = gids + 1; /* those of the launch win */
    on.n_gids = 1;
    job.user_name = "other"; /* as the controller calls him */
    assert_put(&on, "User:\nother:x:1999999999:1999999999:Far Away:/far:/bin/sh\nGroups:\n"
                    "root:x:0:other\n\n");
}

static void test_known_here(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    on.job = &job; /* uid 0 */
    assert_int_equal(userentry_put(&sb, &on), 0);
    assert_memory_equal(strbuf_str(&sb), "User:\nroot:x:0:0:", 17);
    assert_non_null(strstr(strbuf_str(&sb), "\nGroups:\nroot:x:0:root\n"));
}

static void test_known_nowhere(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;

    (void)state;
    job.uid = job.gid = NOBODY_HAS;
    on.job = &job;
    assert_put(&on, "User:\n1999999999:x:1999999999:1999999999:::\nGroups:\n"
                    "1999999999:x:1999999999:1999999999\n\n");
}

#define ENTRY "User:\nu:x:1999999999:0:::\nGroups:\nroot:x:0:u\n\n"

/* Steps in the order of their numbers; those that have ended, and jobs that are clean, are not. */
static void test_steps_of_a_node(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    char spool[] = "/tmp/userentry.XXXXXX", dir[SPOOL_PATH_MAX];
    static const uint32_t steps[] = { 3, 0, 7, STEP_ID_BATCH };
    uint32_t gid = 0;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    size_t n;

    (void)state;
    job.has_uid = job.has_gid = true;
    job.uid = NOBODY_HAS;
    job.user_name = "u";
    on.job = &job;
    on.gids = &gid;
    on.n_gids = 1;
    assert_non_null(mkdtemp(spool));
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        assert_int_equal(spool_make_step(spool, 12, 5, steps[i]), 0);
    spool_job_dir(spool, 12, 5, dir, sizeof(dir));
    assert_int_equal(spool_put_msg(dir, "job", &on.base), 0);
    spool_step_dir(spool, 12, 5, 7, dir, sizeof(dir));
    assert_int_equal(spool_write(dir, "exit", "", 0, 0600, (uid_t)-1, (gid_t)-1), 0);
    assert_int_equal(spool_make_step(spool, 13, 6, 0), 0); /* its file is not there yet */
    assert_int_equal(userentry_spool(&sb, spool, &n), 0);
    assert_int_equal(n, 4);
    assert_string_equal(strbuf_str(&sb),
                        "JobId=12.0:\n" ENTRY "JobId=12.3:\n" ENTRY "JobId=12.batch:\n" ENTRY);
    spool_job_dir(spool, 13, 6, dir, sizeof(dir));
    assert_int_equal(spool_write(dir, "job", "\xff", 1, 0600, (uid_t)-1, (gid_t)-1), 0);
    assert_int_equal(userentry_spool(&sb, spool, &n), -EBADMSG);
    assert_int_equal(spool_write(dir, "job", "", 0, 0600, (uid_t)-1, (gid_t)-1), 0);
    assert_int_equal(userentry_spool(&sb, spool, &n), -EBADMSG); /* a message without a job */
    assert_int_equal(spool_remove_job(spool, 12, 5), 0);
    assert_int_equal(spool_remove_job(spool, 13, 6), 0);
    assert_int_equal(userentry_spool(&sb, spool, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(rmdir(spool), 0);
    assert_int_equal(userentry_spool(&sb, spool, &n), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_by_his_host),
        cmocka_unit_test(test_known_here),
        cmocka_unit_test(test_known_nowhere),
        cmocka_unit_test(test_steps_of_a_node),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
