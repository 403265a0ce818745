/* test_slurmlink.c - a slurmrestd that tells of ever more jobs: what is kept of them is bounded */
#include "kube_util.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "kube/bridge/slurmlink.h"

#define ROOM (64u << 10)
#define JOBS 500u

/* A slurmrestd that answers whatever is asked with its stream. */
struct fake {
    int listens, talks;
    struct strbuf out;
    size_t sent;
};

static void fake_begin(struct fake *f, char *url, size_t size)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(at);

    *f = (struct fake){ .talks = -1, .out = STRBUF_INIT };
    f->listens = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(f->listens >= 0 && bind(f->listens, (struct sockaddr *)&at, sizeof(at)) == 0);
    assert_int_equal(listen(f->listens, 5), 0);
    assert_int_equal(getsockname(f->listens, (struct sockaddr *)&at, &len), 0);
    (void)snprintf(url, size, "http://127.0.0.1:%d", ntohs(at.sin_port));
    strbuf_add(&f->out, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
}

static void fake_end(struct fake *f)
{
    assert_int_equal(close(f->listens), 0);
    if (f->talks >= 0)
        assert_int_equal(close(f->talks), 0);
    strbuf_done(&f->out);
}

/* The first caller is the stream; others are never answered. */
static void fake_talk(struct fake *f)
{
    ssize_t n;

    if (f->talks < 0)
        f->talks = accept4(f->listens, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (f->talks < 0 || f->sent == f->out.len)
        return;
    n = send(f->talks, f->out.buf + f->sent, f->out.len - f->sent, MSG_NOSIGNAL);
    f->sent += n > 0 ? (size_t)n : 0;
}

static void tell_job(struct fake *f, unsigned id, const char *state, const char *nodes)
{
    strbuf_addf(&f->out,
                "{\"event\":\"change\",\"entity\":\"WATCH_JOB\",\"id\":%u,\"job\":{\"job_id\":%u,"
                "\"job_state\":[\"%s\"],\"nodes\":\"%s\",\"admin_comment\":\"{"
                "\\\"gang\\\":\\\"pod/%u\\\",\\\"uids\\\":[\\\"u%u\\\"],"
                "\\\"pods\\\":[\\\"n/p%u\\\"],\\\"attempt\\\":0}\"}}\n",
                id, id, state, nodes, id, id, id);
}

struct told {
    struct slurmlink *link;
    unsigned changes, last;
    size_t most;
    bool forgets;
};

static void hear_job(void *ctx, const struct slurmjob *job)
{
    struct told *t = ctx;

    t->changes++;
    t->last = job->id;
    t->most = MAX(t->most, slurmlink_bytes(t->link));
    if (t->forgets)
        slurmlink_forget(t->link, job->id);
}

static void hear_node(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
}

static void hear_nothing(void *ctx)
{
    (void)ctx;
}

static void play(struct fake *f, struct kubeloop *loop)
{
    int64_t end = now_mono_us() + 20 * USEC_PER_SEC;

    while (f->sent < f->out.len && now_mono_us() < end) {
        fake_talk(f);
        assert_int_equal(kubeloop_turn(loop, 5), 0);
    }
    for (int i = 0; i < 20; i++)
        assert_int_equal(kubeloop_turn(loop, 5), 0);
    assert_int_equal(f->sent, f->out.len);
}

static void test_bounded(void **state)
{
    struct told t = { 0 };
    const struct slurmlink_heard heard = {
        hear_job, hear_node, hear_nothing, hear_nothing, &t, ROOM
    };
    const struct kubeserver_options options = { .program = "test" };
    char url[64], long_list[40000];
    struct kubeconfig config = { .server = url };
    struct kubeloop *loop = NULL;
    struct kubeserver *s = NULL;
    struct fake f;
    unsigned kept;

    (void)state;
    fake_begin(&f, url, sizeof(url));
    assert_int_equal(kubeloop_new(&loop), 0);
    assert_int_equal(kubeserver_new(loop, &config, &options, &s), 0);
    assert_int_equal(slurmlink_new(s, "", &heard, &t.link), 0);
    for (unsigned id = 1; id <= JOBS; id++)
        tell_job(&f, id, "RUNNING", "n1");
    play(&f, loop);
    kept = t.changes;
    assert_true(kept > 10 && kept < JOBS / 4);
    assert_true(t.most <= ROOM && slurmlink_bytes(t.link) <= ROOM);
    assert_null(slurmlink_job(t.link, JOBS));

    /* One that is kept goes on being told; it cannot grow beyond the room. */
    tell_job(&f, 1, "COMPLETED", "n1");
    memset(long_list, 'n', sizeof(long_list) - 1);
    long_list[sizeof(long_list) - 1] = '\0';
    tell_job(&f, 2, "COMPLETED", long_list);
    play(&f, loop);
    assert_int_equal(t.changes, kept + 1);
    assert_int_equal(slurmlink_job(t.link, 1)->state, SLURMJOB_ENDED);
    assert_int_equal(slurmlink_job(t.link, 2)->state, SLURMJOB_RUNNING);

    /* What is forgotten makes room: for any number, one after the other. */
    t.forgets = true;
    for (unsigned id = 1; id <= kept; id++)
        tell_job(&f, id, "COMPLETED", "n1");
    for (unsigned id = JOBS + 1; id <= 2 * JOBS; id++)
        tell_job(&f, id, "COMPLETED", "n1");
    play(&f, loop);
    assert_int_equal(t.last, 2 * JOBS);
    assert_int_equal(slurmlink_bytes(t.link), 0);

    s = kubeserver_free(s);
    t.link = slurmlink_free(t.link);
    loop = kubeloop_free(loop);
    fake_end(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_bounded) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
