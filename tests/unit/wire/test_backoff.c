/* test_backoff.c - a request that the controller has no time for is sent again */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/timefmt.h"
#include "wire/client.h"
#include "wire/errors.h"
#include "wire/frame.h"
#include "wire/ops.h"

#define WAIT_MS 20000

/* The controller's side of a connection. */
struct peer {
    int fd;
    int refusals; /* answers that ask for patience, before the last one */
    int last;     /* the code of that; 0: it is a reply without an error */
    int asked;    /* requests that came */
    uint32_t id;  /* of the first */
    bool same;    /* all others were the same request */
};

static bool read_request(int fd, struct frame *ret_frame)
{
    uint8_t header[FRAME_HEADER_SIZE], body[256];

    return recv(fd, header, sizeof(header), MSG_WAITALL) == (ssize_t)sizeof(header) &&
           frame_decode_header(header, ret_frame) == 0 && ret_frame->len <= sizeof(body) &&
           (!ret_frame->len ||
            recv(fd, body, ret_frame->len, MSG_WAITALL) == (ssize_t)ret_frame->len);
}

static void *answer_requests(void *arg)
{
    struct peer *p = arg;
    struct frame frame;

    for (p->same = true; p->asked <= p->refusals && read_request(p->fd, &frame); p->asked++) {
        int code = p->asked < p->refusals ? SLURMCTLD_COMMUNICATIONS_BACKOFF : p->last;
        uint8_t *buf = NULL;
        size_t len = 0;

        if (p->asked == 0)
            p->id = frame.id;
        p->same &= frame.id == p->id && frame.op == OP_PING;
        if (code)
            (void)frame_pack_error(OP_PING, frame.id, code, NULL, &buf, &len);
        else
            (void)frame_pack(OP_PING, FRAME_REPLY, frame.id, 0, NULL, &buf, &len);
        (void)send(p->fd, buf, len, MSG_NOSIGNAL);
        free(buf);
    }
    return NULL;
}

/* What a request gets from such a peer. */
static int ask(struct peer *p, int timeout_ms, struct client **ret_client)
{
    pthread_t thread;
    int sv[2], r;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    assert_int_equal(client_from_fd(sv[0], ret_client), 0);
    p->fd = sv[1];
    client_set_timeout(*ret_client, timeout_ms);
    assert_int_equal(pthread_create(&thread, NULL, answer_requests, p), 0);
    r = client_call(*ret_client, OP_PING, NULL, NULL);
    (void)shutdown(p->fd, SHUT_RDWR); /* ends the thread if the call failed */
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(p->fd);
    return r;
}

static void test_sent_again(void **state)
{
    struct peer p = { .refusals = 2 };
    struct client *c;
    int64_t began = now_mono_us();

    (void)state;
    assert_int_equal(ask(&p, WAIT_MS, &c), 0);
    assert_int_equal(p.asked, 3);
    assert_true(p.same);
    assert_true(now_mono_us() - began >= 2 * USEC_PER_SEC - 100000); /* a second each */
    c = client_free(c);
}

static void test_waiting_is_no_timeout(void **state)
{
    struct peer p = { .refusals = 2 };
    struct client *c;

    (void)state; /* the second that a pause takes is not the server's */
    assert_int_equal(ask(&p, 1500, &c), 0);
    assert_int_equal(p.asked, 3);
    c = client_free(c);
}

static void test_another_error_is_final(void **state)
{
    struct peer p = { .refusals = 1, .last = ESLURM_INVALID_JOB_ID };
    struct client *c;

    (void)state;
    assert_int_equal(ask(&p, WAIT_MS, &c), -EREMOTEIO);
    assert_int_equal(client_error(c, NULL), ESLURM_INVALID_JOB_ID);
    assert_int_equal(p.asked, 2);
    c = client_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sent_again),
        cmocka_unit_test(test_waiting_is_no_timeout),
        cmocka_unit_test(test_another_error_is_final),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
