/* test_adopt.c - which job a login belongs to, by slurmd's spool alone, and who answers for it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder_util.h"

#include "base/cleanup.h"
#include "pam/adopt.h"
#include "stepd/shared/ask.h"
#include "stepd/shared/ctl.h"
#include "stepd/shared/spool.h"
#include "stepfile.pb-c.h"

#define USER 4711u

static char spool[256];

static int make_spool(void **state)
{
    (void)state;
    folder_make(spool, sizeof(spool), "adopt");
    return 0;
}

static int remove_spool(void **state)
{
    (void)state;
    folder_remove(spool);
    return 0;
}

static void put_job(uint32_t id, uint64_t run, uid_t uid, int64_t start_us)
{
    Pst__JobOnNode on_node = PST__JOB_ON_NODE__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    char dir[SPOOL_PATH_MAX];

    job.has_uid = job.has_start_us = job.has_job_id = 1;
    job.job_id = id;
    job.uid = uid;
    job.start_us = start_us;
    on_node.job = &job;
    assert_int_equal(spool_make_job(spool, id, run), 0);
    spool_job_dir(spool, id, run, dir, sizeof(dir));
    assert_int_equal(spool_put_msg(dir, "job", &on_node.base), 0);
}

static void put_mark(uint32_t id, uint64_t run, const char *name, const char *bytes)
{
    char dir[SPOOL_PATH_MAX];

    spool_job_dir(spool, id, run, dir, sizeof(dir));
    assert_int_equal(spool_write(dir, name, bytes, strlen(bytes), 0600, (uid_t)-1, (gid_t)-1), 0);
}

static void expect_jobs(uid_t uid, size_t count, uint32_t newest)
{
    struct adopt_job job = { .job_id = 99 };
    size_t got = 99;

    assert_int_equal(adopt_find(spool, uid, &job, &got), 0);
    assert_int_equal(got, count);
    assert_int_equal(job.job_id, newest);
}

static void test_find(void **state)
{
    struct adopt_job job;
    size_t n;

    (void)state;
    expect_jobs(USER, 0, 99); /* written only when there is a job */
    put_job(5, 1, USER, 3000);
    put_job(6, 1, USER + 1, 9000);
    expect_jobs(USER, 1, 5);
    put_job(4, 1, USER, 5000); /* started last, whatever its number */
    put_job(7, 1, USER, 4000);
    expect_jobs(USER, 3, 4);
    expect_jobs(USER + 1, 1, 6);
    expect_jobs(USER + 2, 0, 99);
    expect_jobs(0, 0, 99);       /* root has none of them either */
    put_mark(4, 1, "clean", ""); /* over: a login is no part of it any more */
    expect_jobs(USER, 2, 7);
    assert_int_equal(adopt_find("/nowhere/at/all", USER, &job, &n), -ENOENT);
}

/* The record of a run, not of an earlier one. */
static void test_runs(void **state)
{
    struct adopt_job job = { 0 };
    size_t n = 0;

    (void)state;
    put_job(5, 11, USER, 1000);
    put_mark(5, 11, "clean", "");
    put_job(5, 12, USER, 2000);
    assert_int_equal(adopt_find(spool, USER, &job, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(job.run_id, 12);
    assert_int_equal(job.start_us, 2000);
}

/* What is just coming, damaged or no job's is no job of anyone. */
static void test_damage(void **state)
{
    (void)state;
    assert_int_equal(spool_make_job(spool, 8, 1), 0);
    put_job(9, 1, USER, 1000);
    put_mark(9, 1, "job", "\xff\xff\xff");
    put_job(10, 1, USER, 1000);
    put_mark(10, 1, "job", ""); /* no record in it */
    expect_jobs(USER, 0, 99);
    expect_jobs(0, 0, 99);
}

/* ---- the extern step ------------------------------------------------------------------------- */

struct server {
    int listen_fd, pass_fd;
    Pst__StepNews answer;
    Pst__StepOrder order;
    bool silent; /* the connection is closed without a word */
    pthread_t thread;
};

static void *serve_one(void *arg)
{
    struct server *s = arg;
    ProtobufCMessage *msg = NULL;
    struct pollfd p = { .events = POLLIN };

    p.fd = s->listen_fd;
    if (poll(&p, 1, 10000) != 1 || ctl_accept(s->listen_fd, &p.fd) < 0)
        return NULL;
    if (poll(&p, 1, 10000) == 1 && ctl_recv(p.fd, &pst__step_order__descriptor, &msg) == 1) {
        s->order = *(const Pst__StepOrder *)msg;
        protobuf_c_message_free_unpacked(msg, NULL);
        if (!s->silent)
            (void)ctl_send_fd(p.fd, &s->answer.base, s->pass_fd);
    }
    (void)close(p.fd);
    return NULL;
}

static void begin_server(struct server *s)
{
    char dir[SPOOL_PATH_MAX], *here = getcwd(NULL, 0);

    put_job(5, 1, USER, 1000);
    assert_int_equal(spool_make_step(spool, 5, 1, STEP_ID_EXTERN), 0);
    spool_step_dir(spool, 5, 1, STEP_ID_EXTERN, dir, sizeof(dir));
    assert_non_null(here);
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(ctl_listen("sock", &s->listen_fd), 0);
    assert_int_equal(chdir(here), 0);
    free(here);
}

static int join_once(struct server *s, int *ret_ns, int *ret_flags)
{
    static const struct adopt_job job = { .job_id = 5, .run_id = 1 };
    int r;

    assert_int_equal(pthread_create(&s->thread, NULL, serve_one, s), 0);
    r = adopt_join(spool, &job, ret_ns, ret_flags);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    return r;
}

static void test_join(void **state)
{
    static const struct adopt_job job = { .job_id = 5, .run_id = 1 };
    struct server s = { .pass_fd = -1 };
    int ns = -2, flags = -2, pair[2];

    (void)state;
    assert_int_equal(adopt_join(spool, &job, &ns, &flags), -ENOENT);
    pst__step_news__init(&s.answer);
    begin_server(&s);
    s.answer.has_adopted = s.answer.adopted = 1;
    assert_int_equal(join_once(&s, &ns, &flags), 0);
    assert_int_equal(ns, -1); /* the job has no namespaces of its own */
    assert_true(s.order.adopt);
    assert_false(s.order.script);

    assert_int_equal(pipe(pair), 0); /* any descriptor */
    s.pass_fd = pair[0];
    s.answer.has_ns_flags = 1;
    s.answer.ns_flags = 0x20000;
    assert_int_equal(join_once(&s, &ns, &flags), 0);
    assert_true(ns >= 0 && ns != pair[0]);
    assert_int_equal(flags, 0x20000);
    assert_int_equal(close(ns), 0);

    ns = -2;
    s.answer.adopted = 0; /* refused: nothing is handed out, and no descriptor left */
    assert_int_equal(join_once(&s, &ns, &flags), -EREMOTEIO);
    assert_int_equal(ns, -2);
    s.silent = true;
    assert_true(join_once(&s, &ns, &flags) < 0);
    assert_int_equal(ns, -2);

    assert_int_equal(close(s.listen_fd), 0); /* its daemon has gone, the socket is there */
    assert_int_equal(adopt_join(spool, &job, &ns, &flags), -ECONNREFUSED);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* Prologs and epilogs say that they are scripts. */
static void test_script(void **state)
{
    struct server s = { .pass_fd = -1 };
    char dir[SPOOL_PATH_MAX];
    int ns, flags;

    (void)state;
    pst__step_news__init(&s.answer);
    s.answer.has_adopted = s.answer.adopted = 1;
    begin_server(&s);
    spool_step_dir(spool, 5, 1, STEP_ID_EXTERN, dir, sizeof(dir));
    assert_int_equal(pthread_create(&s.thread, NULL, serve_one, &s), 0);
    assert_int_equal(ask_adopt(dir, true, &ns, &flags), 0);
    assert_int_equal(pthread_join(s.thread, NULL), 0);
    assert_true(s.order.adopt && s.order.script);
    assert_int_equal(close(s.listen_fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_find, make_spool, remove_spool),
        cmocka_unit_test_setup_teardown(test_runs, make_spool, remove_spool),
        cmocka_unit_test_setup_teardown(test_damage, make_spool, remove_spool),
        cmocka_unit_test_setup_teardown(test_join, make_spool, remove_spool),
        cmocka_unit_test_setup_teardown(test_script, make_spool, remove_spool),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("adopt", tests, NULL, NULL);
}
