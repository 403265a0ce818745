/* test_stepx11.c - connections for X programs: passed to the extern step, kept for it, refused */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "noded/jobs/jobtable.h"
#include "noded/steps/stepx11.h"
#include "stepd/shared/ctl.h"
#include "stepd/shared/spool.h"
#include "wire/client.h"
#include "wire/frame.h"

struct place {
    struct noded d;
    struct njob *job;
    struct nstep *ext;
    int stepd; /* the step daemon's end */
};

static void begin_place(struct place *p)
{
    Pst__JobOnNode *on = malloc(sizeof(*on));

    memset(p, 0, sizeof(*p));
    assert_non_null(on);
    pst__job_on_node__init(on);
    on->job = malloc(sizeof(*on->job));
    assert_non_null(on->job);
    pst__job_record__init(on->job);
    on->job->job_id = 7;
    on->run_id = 9;
    assert_int_equal(jobs_add_take(&p->d.jobs, on, &p->job), 0);
    p->stepd = -1;
}

static void add_extern(struct place *p, enum step_phase phase)
{
    int fd[2];

    if (!p->ext)
        assert_int_equal(job_add_step(p->job, STEP_ID_EXTERN, &p->ext), 0);
    p->ext->phase = phase;
    if (phase != STEP_RUNS)
        return;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
    p->ext->ctl_fd = fd[0];
    p->stepd = fd[1];
}

static void end_place(struct place *p)
{
    jobs_remove(&p->d.jobs, p->job);
    if (p->stepd >= 0)
        (void)close(p->stepd);
}

/* Returns the caller's end of the offered connection. */
static struct client *offer(struct place *p, uint32_t id)
{
    static uint8_t cookie[16];
    Pst__AttachStep attach = PST__ATTACH_STEP__INIT;
    struct client *c;
    int fd[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    attach.has_x11_cookie = true;
    attach.x11_cookie = (ProtobufCBinaryData){ sizeof(cookie), cookie };
    x11_offer(&p->d, p->job, &attach, fd[1], id);
    (void)close(fd[1]); /* it stayed ours */
    assert_int_equal(client_from_fd(fd[0], &c), 0);
    return c;
}

static void hears_refusal(struct client *c, uint32_t id)
{
    struct frame f;

    assert_int_equal(client_recv(c, 1000, &f), 1);
    assert_int_equal(f.id, id);
    assert_true(f.flags & FRAME_ERROR);
    assert_true(client_recv(c, 1000, &f) < 0);
    assert_null(client_free(c));
}

static void step_daemon_gets(struct place *p, uint32_t id)
{
    ProtobufCMessage *msg = NULL;
    int fd = -1;

    assert_int_equal(ctl_recv_fd(p->stepd, &pst__step_order__descriptor, &msg, &fd), 1);
    assert_true(fd >= 0);
    assert_int_equal(((const Pst__StepOrder *)msg)->attach_id, id);
    assert_int_equal(((const Pst__StepOrder *)msg)->x11_cookie.len, 16);
    (void)close(fd);
    protobuf_c_message_free_unpacked(msg, NULL);
}

static void test_a_running_extern_step_gets_it(void **state)
{
    struct place p;
    struct client *c;

    (void)state;
    begin_place(&p);
    add_extern(&p, STEP_RUNS);
    c = offer(&p, 3);
    step_daemon_gets(&p, 3);
    assert_null(p.job->x11_order);
    assert_null(client_free(c));
    end_place(&p);
}

static void test_it_waits_for_the_prolog(void **state)
{
    struct place p;
    struct client *older, *newer;

    (void)state;
    begin_place(&p);
    add_extern(&p, STEP_WAITS);
    older = offer(&p, 1);
    newer = offer(&p, 2);
    hears_refusal(older, 1); /* one waits at most */
    x11_extern_changed(&p.d, p.job);
    assert_non_null(p.job->x11_order);
    add_extern(&p, STEP_RUNS);
    x11_extern_changed(&p.d, p.job);
    step_daemon_gets(&p, 2);
    assert_null(client_free(newer));
    end_place(&p);
}

static void test_without_an_extern_step_it_is_refused(void **state)
{
    struct place p;
    struct client *c;

    (void)state;
    begin_place(&p);
    hears_refusal(offer(&p, 4), 4);
    add_extern(&p, STEP_WAITS);
    c = offer(&p, 5);
    p.ext->phase = STEP_ENDED; /* the prolog failed */
    x11_extern_changed(&p.d, p.job);
    hears_refusal(c, 5);
    end_place(&p);
}

static void test_a_step_learns_of_the_display(void **state)
{
    char dir[] = "/tmp/stepx11.XXXXXX", at[128];
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    Pst__StepX11 x = PST__STEP_X11__INIT;
    struct place p;

    (void)state;
    begin_place(&p);
    assert_non_null(mkdtemp(dir));
    p.d.spool = dir;
    sf.launch = &launch;
    assert_int_equal(spool_make_job(dir, 7, 9), 0);
    assert_int_equal(spool_make_step(dir, 7, 9, STEP_ID_EXTERN), 0);
    spool_step_dir(dir, 7, 9, STEP_ID_EXTERN, at, sizeof(at));
    p.job->on->job->has_x11 = true;
    p.job->on->job->x11 = 1;
    assert_int_equal(x11_fill_step(&p.d, p.job, &sf), 0);
    assert_false(sf.has_x11_display); /* not yet */
    x.has_display = true;
    x.display = 12;
    x.authority = at;
    assert_int_equal(spool_put_msg(at, "x11", &x.base), 0);
    assert_int_equal(x11_fill_step(&p.d, p.job, &sf), 0);
    assert_true(sf.has_x11_display && sf.x11_display == 12);
    assert_string_equal(sf.x11_authority, at);
    free(sf.x11_authority);
    assert_int_equal(spool_remove_job(dir, 7, 9), 0);
    assert_int_equal(rmdir(dir), 0);
    end_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_running_extern_step_gets_it),
        cmocka_unit_test(test_it_waits_for_the_prolog),
        cmocka_unit_test(test_without_an_extern_step_it_is_refused),
        cmocka_unit_test(test_a_step_learns_of_the_display),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
