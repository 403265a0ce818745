/* test_xdisplay.c - the display of a job in its extern step: made, used, gone with its
 * connection */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "stepd/xdisplay.h"
#include "stepd/shared/spool.h"
#include "stepd/step.h"
#include "wire/client.h"
#include "wire/x11/xaddress.h"
#include "wire/x11/xauthority.h"

static uint8_t cookie[XAUTH_COOKIE] = "sixteen bytes ok";

struct place {
    char dir[32];
    struct step s;
    Pst__StepFile sf;
    struct client *user;
    struct pollfd fds[128];
};

static void begin_place(struct place *p)
{
    memset(p, 0, sizeof(*p));
    (void)snprintf(p->dir, sizeof(p->dir), "/tmp/xdisplay.XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    assert_int_equal(chdir(p->dir), 0);
    pst__step_file__init(&p->sf);
    p->sf.step_dir = p->dir;
    p->s.sf = &p->sf;
    p->s.uid = geteuid();
    p->s.gid = getegid();
    assert_int_equal(xdisplay_begin(&p->s), 0);
    assert_true(xdisplay_poll_room(&p->s) <= ARRAY_SIZE(p->fds));
}

static void end_place(struct place *p)
{
    p->user = client_free(p->user);
    xdisplay_done(&p->s);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(p->dir), 0); /* no file was left */
}

static void ask(struct place *p, size_t cookie_len)
{
    Pst__StepOrder order = PST__STEP_ORDER__INIT;
    int fd[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    p->user = client_free(p->user);
    assert_int_equal(client_from_fd(fd[0], &p->user), 0);
    order.has_attach_id = order.has_x11_cookie = true;
    order.attach_id = 5;
    order.x11_cookie = (ProtobufCBinaryData){ cookie_len, cookie };
    xdisplay_take(&p->s, fd[1], &order);
    xdisplay_advance(&p->s);
}

static void turn(struct place *p)
{
    size_t n = xdisplay_poll_fill(&p->s, p->fds);

    if (n > 0 && poll(p->fds, (nfds_t)n, 0) > 0)
        xdisplay_poll_done(&p->s, p->fds, n);
}

static unsigned told_display(void)
{
    ProtobufCMessage *msg = NULL;
    unsigned display;

    assert_int_equal(spool_get_msg(".", "x11", &pst__step_x11__descriptor, &msg), 0);
    display = ((const Pst__StepX11 *)msg)->display;
    protobuf_c_message_free_unpacked(msg, NULL);
    return display;
}

static int connect_program(unsigned display)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)(XADDRESS_PORT + display)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&in, sizeof(in)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void test_a_display_is_made_and_carries_programs(void **state)
{
    struct place p;
    struct frame f;
    struct stat st;
    struct xauth_cookie got;
    struct xauth_want want = { .local_name = "any" };
    char buf[256];
    ProtobufCMessage *msg = NULL;
    FILE *file;
    size_t n;
    int program;

    (void)state;
    begin_place(&p);
    ask(&p, XAUTH_COOKIE);
    assert_int_equal(client_recv(p.user, 1000, &f), 1);
    assert_int_equal(f.id, 5);
    assert_int_equal(f.flags, FRAME_REPLY);
    want.display = told_display();
    assert_true(want.display >= 10);
    assert_int_equal(stat("x11.0", &st), 0); /* programs of X lock the file in it */
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat("x11.0/xauthority", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    file = fopen("x11.0/xauthority", "re");
    assert_non_null(file);
    n = fread(buf, 1, sizeof(buf), file);
    (void)fclose(file);
    assert_int_equal(xauthority_find(buf, n, &want, &got), 0);
    assert_memory_equal(got.bytes, cookie, XAUTH_COOKIE);

    program = connect_program(want.display);
    assert_true(program >= 0);
    assert_int_equal(write(program, "first", 5), 5);
    for (unsigned i = 0; i < 1000 && (!msg || PB_AS(step_io, msg)->data.len == 0); i++) {
        turn(&p);
        if (client_recv(p.user, 10, &f) <= 0)
            continue;
        if (msg) /* the number of the tunnel, before any byte */
            protobuf_c_message_free_unpacked(msg, NULL);
        assert_int_equal(frame_unpack_request(&f, &msg, NULL), 0);
    }
    assert_non_null(msg);
    assert_int_equal(PB_AS(step_io, msg)->tunnel, 1);
    assert_memory_equal(PB_AS(step_io, msg)->data.data, "first", 5);
    protobuf_c_message_free_unpacked(msg, NULL);

    /* with the connection all goes */
    p.user = client_free(p.user);
    for (unsigned i = 0; i < 100 && xdisplay_poll_fill(&p.s, p.fds) > 0; i++)
        turn(&p);
    assert_int_equal(read(program, buf, 1), 0);
    (void)close(program);
    assert_int_equal(connect_program(want.display), -1);
    assert_int_equal(access("x11.0", F_OK), -1);
    end_place(&p);
}

static void test_two_jobs_have_two_displays(void **state)
{
    struct place a, b;
    unsigned first;

    (void)state;
    begin_place(&a);
    ask(&a, XAUTH_COOKIE);
    first = told_display();
    begin_place(&b);
    ask(&b, XAUTH_COOKIE);
    assert_true(told_display() != first);
    end_place(&b);
    assert_int_equal(chdir(a.dir), 0);
    end_place(&a);
}

static void test_what_is_no_cookie_makes_no_display(void **state)
{
    struct place p;
    struct frame f;

    (void)state;
    begin_place(&p);
    ask(&p, 3);
    assert_true(client_recv(p.user, 1000, &f) < 0); /* closed */
    assert_int_equal(xdisplay_poll_fill(&p.s, p.fds), 0);
    p.s.stage = KILL_ALL; /* a job that ends gets none either */
    ask(&p, XAUTH_COOKIE);
    assert_true(client_recv(p.user, 1000, &f) < 0);
    end_place(&p);
}

static void test_without_a_home_there_is_a_sentence(void **state)
{
    struct place p;
    struct frame f;
    Pst__Error *e = NULL;

    (void)state;
    begin_place(&p);
    p.sf.x11_home = true;
    ask(&p, XAUTH_COOKIE);
    assert_int_equal(client_recv(p.user, 1000, &f), 1);
    assert_true(f.flags & FRAME_ERROR);
    assert_int_equal(FRAME_UNPACK(error, &f, &e, NULL), 0);
    assert_non_null(strstr(e->text, "no display could be made"));
    pst__error__free_unpacked(e, NULL);
    attach_done(&p.s);
    end_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_display_is_made_and_carries_programs),
        cmocka_unit_test(test_two_jobs_have_two_displays),
        cmocka_unit_test(test_what_is_no_cookie_makes_no_display),
        cmocka_unit_test(test_without_a_home_there_is_a_sentence),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
