/* test_connlog.c - lines about connections: which flag asks for them, and what of a peer is told */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "logfile_util.h"
#include "wire/frame.h"
#include "wire/ops.h"
#include "wire/server/connlog.h"
#include "wire/server/server_impl.h"

/* What was logged since the last call is this line, or nothing (""). */
static void expect_line(const char *line)
{
    _cleanup_free_ char *text = logfile_take();

    if (line[0] ? !strstr(text, line) || strchr(text, '\n')[1] : text[0])
        fail_msg("`%s` instead of `%s`", text, line);
}

static const struct conn kim = {
    .id = 7,
    .peer = { .uid = 1000, .addr = "10.0.0.9", .host = "login1", .program = "squeue" },
};

static void test_network(void **state)
{
    (void)state;
    logflags_set("Protocol,AuditRPCs");
    connlog_network(&kim, "opened");
    expect_line("");
    logflags_set("Network");
    connlog_network(&kim, "opened");
    expect_line("] Network: connection 7 opened: addr=10.0.0.9 uid=1000 program=\"squeue\"\n");
}

static void test_frames(void **state)
{
    (void)state;
    logflags_set("Network,AuditRPCs");
    connlog_frame(&kim, OP_PING, "in", 0, 12);
    expect_line("");
    logflags_set("Protocol");
    connlog_frame(&kim, OP_PING, "in", 0, 12);
    expect_line("] Protocol: connection 7 in: ping request, 12 bytes\n");
    connlog_frame(&kim, OP_PING, "out", FRAME_REPLY, 90);
    expect_line("] Protocol: connection 7 out: ping reply, 90 bytes\n");
    connlog_frame(&kim, OP_PING, "out", FRAME_REPLY | FRAME_ERROR, 30);
    expect_line("] Protocol: connection 7 out: ping error, 30 bytes\n");
    connlog_frame(&kim, OP_MAX_ + 5, "in", 0, 1);
    expect_line("] Protocol: connection 7 in: unknown request, 1 bytes\n");
}

static void test_audit(void **state)
{
    (void)state;
    logflags_set("Network,Protocol");
    server_log_request(&kim.peer, OP_PING);
    expect_line("");
    logflags_set("AuditRPCs");
    server_log_request(&kim.peer, OP_PING);
    expect_line("] AuditRPCs: ping uid=1000 addr=10.0.0.9 host=\"login1\"\n");
}

/* A peer chooses its names: none may end the line and begin one of its own. */
static void test_hostile_names(void **state)
{
    struct conn evil = kim;

    (void)state;
    (void)snprintf(evil.peer.program, sizeof(evil.peer.program), "%s", "x\n[2026] error: lies");
    logflags_set("Network");
    connlog_network(&evil, "opened");
    expect_line("uid=1000 program=\"x\\x0a[2026] error: lies\"\n");
}

/* Asked for by no flag. */
static void test_closed(void **state)
{
    struct conn c = kim;

    (void)state;
    logflags_set(NULL);
    (void)snprintf(c.link.why, sizeof(c.link.why), "peer broke the protocol");
    connlog_closed(&c);
    expect_line(
        "connection closed: peer broke the protocol addr=10.0.0.9 uid=1000 program=\"squeue\" "
        "host=\"login1\"\n");
    c.link.slow = true;
    connlog_closed(&c);
    expect_line("slow connection closed: peer broke the protocol addr=10.0.0.9 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network), cmocka_unit_test(test_frames),
        cmocka_unit_test(test_audit),   cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_closed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, logfile_open, logfile_close);
}
