/* test_fanout.c - requests to many nodes: who is told as lost, and which link leads to a node */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/fanout.h"

#define NODES 7u

struct told {
    size_t lost[NODES]; /* times */
    size_t launched;
};

static void note_lost(void *ctx, uint32_t lo, uint32_t hi, const char *why)
{
    struct told *t = ctx;

    assert_true(lo <= hi && hi < NODES);
    assert_int_not_equal(why[0], '\0');
    for (uint32_t i = lo; i <= hi; i++)
        t->lost[i]++;
}

static void note_launch(void *ctx, const Pst__RelayNode *node)
{
    (void)node;
    ((struct told *)ctx)->launched++;
}

/* A port on which nobody listens. */
static uint16_t closed_port(void)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    (void)close(fd);
    return ntohs(sa.sin_port);
}

/* Every node is tried, also those behind the first of a piece, and told as lost once. */
static void test_nobody_answers(void **state)
{
    static const uint32_t widths[] = { 0, 2, 3, 7, 50 };
    Pst__RelayNode nodes[NODES], *list[NODES];
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    Pst__RelayOpen open = PST__RELAY_OPEN__INIT;
    uint16_t port = closed_port();

    (void)state;
    for (uint32_t i = 0; i < NODES; i++) {
        pst__relay_node__init(&nodes[i]);
        nodes[i].has_number = nodes[i].has_port = nodes[i].has_node_index = true;
        nodes[i].number = nodes[i].node_index = i;
        nodes[i].name = (char *)"n"; /* only read; likewise below */
        nodes[i].addr = (char *)"127.0.0.1";
        nodes[i].port = port;
        list[i] = &nodes[i];
    }
    open.launch = &launch;
    open.nodes = list;
    open.n_nodes = NODES;
    open.has_timeout_ms = open.has_width = true;
    open.timeout_ms = 2000;
    open.cluster = (char *)"test";
    for (size_t w = 0; w < ARRAY_SIZE(widths); w++) {
        struct told t = { .launched = 0 };
        struct fanout f = {
            .open = &open, .program = "test", .launching = note_launch, .lost = note_lost, .ctx = &t
        };
        size_t links = widths[w] < FANOUT_WIDTH_MIN ? FANOUT_WIDTH_MIN : widths[w];

        open.width = widths[w];
        assert_int_equal(fanout_open(&f), 0);
        assert_int_equal(f.n_links, links < NODES ? links : NODES);
        assert_int_equal(t.launched, 0);
        for (uint32_t i = 0; i < NODES; i++) {
            assert_int_equal(t.lost[i], 1);
            assert_null(fanout_find(&f, i));
        }
        assert_null(launch.node_name); /* what differs by node is unset again */
        fanout_done(&f);
        assert_null(f.links);
        assert_int_equal(f.n_links, 0);
    }
}

static void test_no_nodes(void **state)
{
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    Pst__RelayOpen open = PST__RELAY_OPEN__INIT;
    struct fanout f = { .open = &open, .lost = note_lost };

    (void)state;
    open.launch = &launch;
    assert_int_equal(fanout_open(&f), 0);
    assert_int_equal(f.n_links, 0);
    assert_null(fanout_find(&f, 0));
    fanout_done(&f);
}

/* Numbers may have gaps, and a link may be dead. */
static void test_find(void **state)
{
    char alive; /* a client that is never used */
    struct client *c = (struct client *)(void *)&alive;
    struct fan_link links[] = { { .client = c, .lo = 0, .hi = 3, .relay = true },
                                { .client = NULL, .lo = 4, .hi = 4 },
                                { .client = c, .lo = 10, .hi = 10 },
                                { .client = c, .lo = 12, .hi = 90, .relay = true } };
    struct fanout f = { .links = links, .n_links = ARRAY_SIZE(links) };
    static const struct {
        uint32_t number;
        int link; /* -1: none */
    } cases[] = { { 0, 0 },   { 3, 0 },  { 4, -1 }, { 5, -1 }, { 9, -1 },  { 10, 2 },
                  { 11, -1 }, { 12, 3 }, { 50, 3 }, { 90, 3 }, { 91, -1 }, { UINT32_MAX, -1 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_ptr_equal(fanout_find(&f, cases[i].number),
                         cases[i].link < 0 ? NULL : &links[cases[i].link]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_answers),
        cmocka_unit_test(test_no_nodes),
        cmocka_unit_test(test_find),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
