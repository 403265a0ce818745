/* test_x11.c - cookies, first messages, displays, and many connections in one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "wire/client.h"
#include "wire/ops.h"
#include "wire/x11/tunnel.h"
#include "wire/x11/xaddress.h"
#include "wire/x11/xauthority.h"
#include "wire/x11/xsetup.h"

static const struct xauth_cookie shown = { "shown-by-program", 16 },
                                 real = { "of-the-display", 14 };

/* ---- .Xauthority ----------------------------------------------------------------------------- */

static void test_entries_are_found_by_address_and_number(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT, left = STRBUF_INIT;
    struct xauth_want want = { .local_name = "here", .display = 3 };
    struct xauth_cookie got = { .len = 0 };
    const uint8_t addr[4] = { 10, 0, 0, 1 };

    (void)state;
    xauthority_add(&sb, XAUTH_LOCAL, "there", 3, &shown);
    xauthority_add(&sb, XAUTH_LOCAL, "here", 4, &shown);
    assert_int_equal(xauthority_find(sb.buf, sb.len, &want, &got), -ENOENT);
    xauthority_add(&sb, XAUTH_LOCAL, "here", 3, &real);
    assert_int_equal(xauthority_find(sb.buf, sb.len, &want, &got), 0);
    assert_int_equal(got.len, real.len);
    assert_memory_equal(got.bytes, real.bytes, real.len);
    assert_int_equal(xauthority_find(sb.buf, sb.len - 1, &want, &got), -ENOENT); /* cut */

    want = (struct xauth_want){ .addr = addr, .addr_len = 4, .display = 3 };
    assert_int_equal(xauthority_find(sb.buf, sb.len, &want, &got), -ENOENT);
    xauthority_add(&sb, XAUTH_INTERNET, "\x0a", 3, &shown); /* a byte is no address */
    assert_int_equal(xauthority_find(sb.buf, sb.len, &want, &got), -ENOENT);
    xauthority_add(&sb, XAUTH_WILD, "", 3, &shown);
    assert_int_equal(xauthority_find(sb.buf, sb.len, &want, &got), 0);

    xauthority_without(sb.buf, sb.len, "here", 3, &left);
    assert_true(left.len < sb.len);
    want = (struct xauth_want){ .local_name = "here", .display = 4 };
    assert_int_equal(xauthority_find(left.buf, left.len, &want, &got), 0);
}

/* ---- the first message ----------------------------------------------------------------------- */

static size_t make_setup(char order, const struct xauth_cookie *cookie, uint8_t *to)
{
    static const char name[] = "MIT-MAGIC-COOKIE-1";
    size_t n = sizeof(name) - 1;

    memset(to, 0, 64);
    to[0] = (uint8_t)order;
    to[order == 'B' ? 3 : 2] = 11;
    to[order == 'B' ? 7 : 6] = (uint8_t)n;
    to[order == 'B' ? 9 : 8] = (uint8_t)cookie->len;
    memcpy(to + 12, name, n);
    memcpy(to + 12 + 20, cookie->bytes, cookie->len);
    return 12 + 20 + 16;
}

static void test_one_cookie_for_another(void **state)
{
    (void)state;
    for (const char *order = "Bl"; *order; order++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
        uint8_t msg[64];
        size_t n = make_setup(*order, &shown, msg);

        for (size_t k = 0; k < n; k++)
            assert_int_equal(xsetup_swap(msg, k, &shown, &real, &sb), 0); /* more is needed */
        assert_int_equal(sb.len, 0);
        assert_int_equal(xsetup_swap(msg, n + 8, &shown, &real, &sb), (long)n);
        assert_int_equal(sb.len, 12 + 20 + 16);
        assert_memory_equal(sb.buf + 32, real.bytes, real.len);
        assert_int_equal(sb.buf[*order == 'B' ? 9 : 8], real.len);

        strbuf_reset(&sb);
        msg[40] ^= 1;
        assert_int_equal(xsetup_swap(msg, n, &shown, &real, &sb), -EACCES);
        msg[40] ^= 1;
        msg[14] = 'X';
        assert_int_equal(xsetup_swap(msg, n, &shown, &real, &sb), -EACCES);
        assert_int_equal(sb.len, 0);
    }
    assert_int_equal(xsetup_swap("GET / HTTP/1.0\r\n", 16, &shown, &real, NULL), -EBADMSG);
}

/* ---- DISPLAY --------------------------------------------------------------------------------- */

static void test_displays(void **state)
{
    static const struct {
        const char *text, *host;
        unsigned display;
        int r;
    } cases[] = {
        { ":0", "", 0, 0 },
        { "unix:3.1", "", 3, 0 },
        { "localhost:10.0", "localhost", 10, 0 },
        { "[::1]:2", "::1", 2, 0 },
        { "::1:2", "::1", 2, 0 },
        { ":59535", "", 59535, 0 },
        { ":59536", "", 0, -EINVAL },
        { "", "", 0, -EINVAL },
        { "host", "", 0, -EINVAL },
        { "host:", "", 0, -EINVAL },
        { "host:1x", "", 0, -EINVAL },
        { "host:1.", "", 0, -EINVAL },
        { "/private/tmp/launch:0", "", 0, -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = { .text = "" };
        struct xaddress a = { .host = "" };

        assert_int_equal(xaddress_parse(cases[i].text, &a, &err), cases[i].r);
        assert_true((cases[i].r < 0) == (err.text[0] != '\0'));
        assert_string_equal(a.host, cases[i].host);
        assert_int_equal(a.display, cases[i].display);
    }
}

static void test_a_server_is_found_by_its_address(void **state)
{
    struct xaddress a = { .host = "127.0.0.1", .display = 1 };
    struct xaddress_at at[2];
    size_t n = 0;

    (void)state;
    assert_int_equal(xaddress_look_up(&a, at, 2, &n, NULL), 0);
    assert_int_equal(n, 1);
    a.host[0] = '\0';
    assert_int_equal(xaddress_look_up(&a, at, 2, &n, NULL), 0);
    assert_string_equal((const char *)at[0].sa + 2, "/tmp/.X11-unix/X1");
}

/* ---- tunnels --------------------------------------------------------------------------------- */

/* Two ends in one process: programs at the node's, a server at the user's. */
struct world {
    struct client *client[2];
    struct tunnels *node, *user;
    int server; /* our end of the last opened connection; -1 none */
    unsigned opened;
};

/* The first four bytes are the message; "BAD!" is refused. */
static long open_server(void *ctx, const void *data, size_t len, struct strbuf *sb, int *ret_fd)
{
    struct world *w = ctx;
    int fd[2];

    if (len < 4)
        return 0;
    if (memcmp(data, "BAD!", 4) == 0)
        return -EACCES;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
    strbuf_add(sb, "hello ");
    *ret_fd = fd[0];
    w->server = fd[1];
    w->opened++;
    return 4;
}

static void begin_world(struct world *w)
{
    int fd[2];

    *w = (struct world){ .server = -1 };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(client_from_fd(fd[i], &w->client[i]), 0);
    assert_int_equal(tunnels_new(w->client[0], NULL, NULL, &w->node), 0);
    assert_int_equal(tunnels_new(w->client[1], open_server, w, &w->user), 0);
}

static void end_world(struct world *w)
{
    assert_null(tunnels_free(w->node));
    assert_null(tunnels_free(w->user));
    for (int i = 0; i < 2; i++)
        assert_null(client_free(w->client[i]));
    if (w->server >= 0)
        (void)close(w->server);
}

static void take_frames(struct client *c, struct tunnels *t)
{
    struct frame f;

    (void)client_flush(c);
    while (client_recv(c, 0, &f) > 0) {
        ProtobufCMessage *msg = NULL;

        assert_int_equal(f.op, OP_STEP_IO);
        assert_int_equal(frame_unpack_request(&f, &msg, NULL), 0);
        tunnels_take_frame(t, PB_AS(step_io, msg));
        protobuf_c_message_free_unpacked(msg, NULL);
    }
}

static void turn_world(struct world *w, unsigned turns)
{
    struct pollfd fds[TUNNELS_MAX];

    while (turns-- > 0) {
        for (int i = 0; i < 2; i++) {
            struct tunnels *t = i ? w->user : w->node;

            size_t n = tunnels_poll_fill(t, fds);

            assert_int_equal(n, TUNNELS_MAX);
            if (poll(fds, (nfds_t)n, 0) > 0)
                tunnels_poll_done(t, fds);
            take_frames(w->client[i], t);
        }
    }
}

static int new_program(struct world *w)
{
    int fd[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
    tunnels_add_take(w->node, fd[0]);
    return fd[1];
}

static void test_bytes_pass_both_ways_and_ends_too(void **state)
{
    char buf[64];
    struct world w;
    int program;

    (void)state;
    begin_world(&w);
    program = new_program(&w);
    assert_int_equal(write(program, "xy", 2), 2);
    turn_world(&w, 4);
    assert_int_equal(w.server, -1); /* not enough to decide by */
    assert_int_equal(write(program, "z.later", 7), 7);
    turn_world(&w, 4);
    assert_int_equal(read(w.server, buf, sizeof(buf)), 11);
    assert_memory_equal(buf, "hello later", 11);
    assert_int_equal(write(w.server, "answer", 6), 6);
    turn_world(&w, 4);
    assert_int_equal(read(program, buf, sizeof(buf)), 6);
    (void)close(w.server);
    w.server = -1;
    turn_world(&w, 4);
    assert_int_equal(read(program, buf, sizeof(buf)), 0);
    (void)close(program);
    end_world(&w);
}

static void test_programs_speak_in_any_order(void **state)
{
    int early, late;
    struct world w;

    (void)state;
    begin_world(&w);
    early = new_program(&w);
    late = new_program(&w);
    assert_int_equal(write(late, "late", 4), 4);
    turn_world(&w, 4);
    assert_int_equal(w.opened, 1);
    (void)close(w.server);
    assert_int_equal(write(early, "earl", 4), 4);
    turn_world(&w, 4);
    assert_int_equal(w.opened, 2);
    (void)close(early);
    (void)close(late);
    end_world(&w);
}

static void test_a_refused_program_is_cut_off(void **state)
{
    char buf[8];
    struct world w;
    int program;

    (void)state;
    begin_world(&w);
    program = new_program(&w);
    assert_int_equal(write(program, "BAD!", 4), 4);
    turn_world(&w, 4);
    assert_int_equal(w.opened, 0);
    assert_int_equal(read(program, buf, sizeof(buf)), 0);
    (void)close(program);
    end_world(&w);
}

/* A server that does not read holds TUNNEL_WINDOW and what its socket takes; others go on. */
static void test_a_slow_server_stops_its_own_program(void **state)
{
    static uint8_t big[4u << 20], got[64u << 10];
    int slow, other, first_server;
    size_t sent = 0, received = 0;
    struct world w;
    char buf[32];

    (void)state;
    begin_world(&w);
    slow = new_program(&w);
    for (unsigned i = 0; i < 400; i++) {
        ssize_t n = sent < sizeof(big) ? write(slow, big, sizeof(big) - sent) : -1;

        sent += n > 0 ? (size_t)n : 0;
        turn_world(&w, 1);
    }
    assert_true(sent < sizeof(big)); /* it was stopped */
    first_server = w.server;
    other = new_program(&w);
    assert_int_equal(write(other, "4444quick", 9), 9);
    turn_world(&w, 4);
    assert_int_equal(w.opened, 2);
    assert_int_equal(read(w.server, buf, sizeof(buf)), 11);
    for (unsigned i = 0; i < 10000 && received < sizeof(big) - 4 + 6; i++) {
        ssize_t n = sent < sizeof(big) ? write(slow, big, sizeof(big) - sent) : -1;

        sent += n > 0 ? (size_t)n : 0;
        turn_world(&w, 1);
        n = read(first_server, got, sizeof(got));
        received += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(received, sizeof(big) - 4 + 6); /* "hello " for four bytes */
    (void)close(first_server);
    (void)close(slow);
    (void)close(other);
    end_world(&w);
}

static void test_there_is_a_most_of_programs(void **state)
{
    int programs[TUNNELS_MAX + 1];
    struct world w;
    char c;

    (void)state;
    begin_world(&w);
    for (size_t i = 0; i <= TUNNELS_MAX; i++) {
        assert_int_equal(tunnels_room(w.node), i < TUNNELS_MAX);
        programs[i] = new_program(&w);
    }
    assert_int_equal(read(programs[TUNNELS_MAX], &c, 1), 0); /* closed at once */
    for (size_t i = 0; i <= TUNNELS_MAX; i++)
        (void)close(programs[i]);
    turn_world(&w, 4);
    assert_true(tunnels_room(w.node));
    end_world(&w);
}

/* A hostile node: more than the window, frames for ids that are over. */
static void test_more_than_the_window_ends_the_tunnel(void **state)
{
    static uint8_t bytes[64u << 10];
    Pst__StepIo io = PST__STEP_IO__INIT;
    struct world w;

    (void)state;
    begin_world(&w);
    io.has_tunnel = io.has_data = true;
    io.tunnel = 7;
    io.data = (ProtobufCBinaryData){ sizeof(bytes), bytes };
    memcpy(bytes, "go..", 4);
    for (unsigned i = 0; i < 64; i++)
        tunnels_take_frame(w.user, &io);
    assert_int_equal(w.opened, 1); /* and not again for an id that is over */
    io.tunnel = 3;
    tunnels_take_frame(w.user, &io);
    assert_int_equal(w.opened, 1);
    end_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_found_by_address_and_number),
        cmocka_unit_test(test_one_cookie_for_another),
        cmocka_unit_test(test_displays),
        cmocka_unit_test(test_a_server_is_found_by_its_address),
        cmocka_unit_test(test_bytes_pass_both_ways_and_ends_too),
        cmocka_unit_test(test_programs_speak_in_any_order),
        cmocka_unit_test(test_a_refused_program_is_cut_off),
        cmocka_unit_test(test_a_slow_server_stops_its_own_program),
        cmocka_unit_test(test_there_is_a_most_of_programs),
        cmocka_unit_test(test_more_than_the_window_ends_the_tunnel),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
