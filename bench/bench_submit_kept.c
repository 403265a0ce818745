/* bench_submit_kept.c - acknowledged submissions a second over kept connections to a controller
 *
 * Held jobs with one script between them go to the slurmctld of $SLURM_CONF over C connections, P
 * requests in flight on each.  A submission counts when its answer is here, which the controller
 * sends when the job is on disk.  One thread: what it costs is part of what is measured.  Without
 * $SLURM_CONF there is no controller to measure; `bench/run kept` makes one.  -t: over TCP, and
 * encrypted when the configuration says so, instead of the local socket.  -r SECONDS: the jobs are
 * not held, and sleep so long.  -P: in this partition.  -T: tasks of each job.  -a: each is an
 * array with these indexes.  -x: external jobs, which start at once where there is room, then are
 * updated and cancelled, each job once. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "conf/tls/conf_tls.h"
#include "wire/client.h"
#include "wire/tls/tlsctx.h"

#define MAX_CONNECTIONS 256u
#define ANSWER_MS 30000

enum phase { SUBMIT, UPDATE, END, PHASES };

struct load {
    enum phase phase;
    bool external;
    uint32_t *ids; /* of external jobs, in the order of their answers */
    uint64_t jobs, sent, acked, refused;
    uint32_t connections, in_flight;
    struct client *client[MAX_CONNECTIONS];
    Pst__SubmitRequest req;
    Pst__JobRecord job;
    bool released;
    uint32_t sleep_s, tasks;
    char *partition; /* NULL: the default */
    char *array;     /* NULL: no arrays */
    char script[64];
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_submit_kept: %s: %s\n", what, why);
    exit(1);
}

static void connect_all(struct load *l, const char *conf_path, bool tcp)
{
    struct err err = { .text = "" };
    _cleanup_(conf_free) struct conf *conf = NULL;
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    struct tls_config config = { .kind = TLS_NONE };
    struct client_target target = { .try_local = !tcp, .timeout_ms = ANSWER_MS };

    if (conf_load(conf_path, CONF_CLIENT, &conf, NULL, &err) < 0)
        die(conf_path, err.text);
    (void)conf_ctld_host(conf, 0, &target.host); /* without one the local socket alone is tried */
    target.port = conf_ctld_port(conf);
    target.cluster = conf_str(conf, CONF_CLUSTER_NAME);
    target.key_file = conf_key_file(conf);
    target.use_munge = conf_use_munge(conf);
    target.program = "bench_submit_kept";
    if (tcp && conf_tls(conf, CONF_TLS_COMMAND, &config) < 0)
        die("TLSType", "out of memory");
    if (tls_ctx_load(&config, &tls, &err) < 0)
        die("TLSType", err.text);
    target.tls = tls;
    for (uint32_t i = 0; i < l->connections; i++)
        if (client_connect(&target, conf_slurm_uid(conf), &l->client[i], &err) < 0)
            die("connect", err.text);
}

/* As an orchestrator asks: nothing is run, so there is no script. */
static void make_external(struct load *l)
{
    pst__submit_request__init(&l->req);
    pst__job_record__init(&l->job);
    l->req.job = &l->job;
    l->job.external = l->job.has_external = true;
    l->job.name = (char *)"pods";
    l->job.partition = l->partition;
    l->job.num_tasks = l->tasks;
    l->job.has_num_tasks = true;
    l->job.mem_per_node_mib = 1;
    l->job.has_mem_per_node_mib = true;
    l->ids = calloc(l->jobs, sizeof(*l->ids));
    if (!l->ids)
        die("jobs", "out of memory");
}

static void make_request(struct load *l)
{
    static uint8_t env[] = "PATH=/usr/bin:/bin\0HOME=/tmp";
    int len = snprintf(l->script, sizeof(l->script),
                       l->sleep_s ? "#!/bin/sh\nsleep %u\n" : "#!/bin/sh\n/bin/true\n", l->sleep_s);

    pst__submit_request__init(&l->req);
    pst__job_record__init(&l->job);
    l->req.job = &l->job;
    l->req.hold = l->req.has_hold = !l->released;
    l->req.script = (ProtobufCBinaryData){ (size_t)len, (uint8_t *)l->script };
    l->job.partition = l->partition;
    l->req.array = l->array;
    l->req.environment = (ProtobufCBinaryData){ sizeof(env), env };
    l->req.has_script = l->req.has_environment = true;
    l->job.batch = l->job.has_batch = true;
    l->job.name = (char *)"kept";
    l->job.work_dir = (char *)"/tmp";
    l->job.std_out = (char *)"/dev/null";
    l->job.num_tasks = l->tasks;
    l->job.has_num_tasks = true;
    l->job.time_limit_min = 10;
    l->job.has_time_limit_min = true;
    l->job.mem_per_node_mib = 1;
    l->job.has_mem_per_node_mib = true;
}

static int send_update(struct client *c, char *id)
{
    Pst__JobUpdateRequest req = PST__JOB_UPDATE_REQUEST__INIT;
    Pst__JobRecord set = PST__JOB_RECORD__INIT;

    req.ids = &id;
    req.n_ids = 1;
    req.set = &set;
    set.admin_comment = (char *)"{\"pods\":[\"ns/pod-0\",\"ns/pod-1\"]}";
    return client_send_nonblock(c, OP_JOB_UPDATE, 0, client_next_id(c), &req.base);
}

static int send_cancel(struct client *c, char *id)
{
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;

    req.ids = &id;
    req.n_ids = 1;
    req.has_verb = true;
    req.verb = PST__JOB_VERB__VERB_CANCEL;
    return client_send_nonblock(c, OP_JOB_ACTION, 0, client_next_id(c), &req.base);
}

static void send_one(struct load *l, struct client *c)
{
    char id[16] = "";
    int r;

    if (l->sent == l->jobs)
        return;
    if (l->phase != SUBMIT)
        (void)snprintf(id, sizeof(id), "%u", l->ids[l->sent]);
    if (l->phase == SUBMIT)
        r = client_send_nonblock(c, OP_JOB_SUBMIT, 0, client_next_id(c), &l->req.base);
    else
        r = l->phase == UPDATE ? send_update(c, id) : send_cancel(c, id);
    if (r < 0)
        die("send", client_strerror(c, r));
    l->sent++;
}

static bool took_effect(const Pst__JobActionReply *reply)
{
    for (size_t i = 0; i < reply->n_results; i++)
        if (reply->results[i]->code)
            return false;
    return true;
}

/* False: the answer refuses the request, or what it asked of the job. */
static bool take_answer(struct load *l, const struct frame *frame)
{
    Pst__SubmitReply *submitted = NULL;
    Pst__JobActionReply *done = NULL;
    bool good = false;

    if (frame->flags & FRAME_ERROR)
        return false;
    if (!l->external)
        return true;
    if (l->phase == SUBMIT && FRAME_UNPACK(submit_reply, frame, &submitted, NULL) >= 0) {
        l->ids[l->acked] = submitted->job_id;
        good = submitted->job_id > 0;
        pst__submit_reply__free_unpacked(submitted, NULL);
    } else if (l->phase != SUBMIT && FRAME_UNPACK(job_action_reply, frame, &done, NULL) >= 0) {
        good = took_effect(done);
        pst__job_action_reply__free_unpacked(done, NULL);
    }
    return good;
}

static void take_answers(struct load *l, struct client *c)
{
    struct frame frame;
    int r;

    while ((r = client_recv(c, 0, &frame)) > 0) {
        if (take_answer(l, &frame))
            l->acked++;
        else
            l->refused++;
        send_one(l, c);
    }
    if (r < 0)
        die("receive", client_strerror(c, r));
    r = client_flush(c);
    if (r < 0 && r != -EAGAIN)
        die("send", client_strerror(c, r));
}

static void run(struct load *l)
{
    struct pollfd fds[MAX_CONNECTIONS];

    for (uint32_t k = 0; k < l->in_flight; k++)
        for (uint32_t i = 0; i < l->connections; i++)
            send_one(l, l->client[i]);
    while (l->acked + l->refused < l->jobs) {
        for (uint32_t i = 0; i < l->connections; i++)
            fds[i] = (struct pollfd){ .fd = client_fd(l->client[i]),
                                      .events = client_out_pending(l->client[i]) ? POLLIN | POLLOUT
                                                                                 : POLLIN };
        if (poll(fds, l->connections, ANSWER_MS) <= 0)
            die("wait", "no answer in time");
        for (uint32_t i = 0; i < l->connections; i++)
            if (fds[i].revents)
                take_answers(l, l->client[i]);
    }
}

static uint64_t number(const char *text, uint64_t min, uint64_t max)
{
    uint64_t n;

    if (parse_u64(text, min, max, &n) < 0)
        die(text, "not a number in range");
    return n;
}

static void report(const struct load *l, int64_t us)
{
    static const char *const names[PHASES] = { "submit", "update", "end" };
    struct rusage used;
    double seconds = (double)us / 1e6;

    (void)getrusage(RUSAGE_SELF, &used); /* cannot fail for ourselves */
    printf("{\"bench\": \"%s\", \"what\": \"%s\", \"connections\": %u, \"in_flight\": %u, "
           "\"acked\": %llu, "
           "\"refused\": %llu, \"seconds\": %.3f, \"per_s\": %.0f, \"client_cpu_us\": %.1f}\n",
           l->external ? "external" : "submit_kept", names[l->phase], l->connections, l->in_flight,
           (unsigned long long)l->acked, (unsigned long long)l->refused, seconds,
           (double)l->acked / seconds,
           ((double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
            (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec)) /
               (double)l->jobs);
}

int main(int argc, char **argv)
{
    static struct load l = { .jobs = 20000, .connections = 8, .in_flight = 32, .tasks = 1 };
    const char *conf_path = getenv("SLURM_CONF");
    bool tcp = false;
    int64_t start;
    int c;

    while ((c = getopt(argc, argv, "a:n:c:p:P:r:tT:x")) != -1) {
        if (c == 't')
            tcp = true;
        else if (c == 'x')
            l.external = true;
        else if (c == 'n')
            l.jobs = number(optarg, 1, 10000000);
        else if (c == 'c')
            l.connections = (uint32_t)number(optarg, 1, MAX_CONNECTIONS);
        else if (c == 'p')
            l.in_flight = (uint32_t)number(optarg, 1, 65536);
        else if (c == 'P')
            l.partition = optarg;
        else if (c == 'a')
            l.array = optarg;
        else if (c == 'T')
            l.tasks = (uint32_t)number(optarg, 1, 65536);
        else if (c == 'r') {
            l.released = true;
            l.sleep_s = (uint32_t)number(optarg, 0, 86400);
        } else
            return 2;
    }
    if (!conf_path) {
        fprintf(stderr,
                "bench_submit_kept: no controller is named by SLURM_CONF; see `bench/run kept`\n");
        return 0;
    }
    connect_all(&l, conf_path, tcp);
    if (l.external)
        make_external(&l);
    else
        make_request(&l);
    for (; l.phase < (l.external ? PHASES : UPDATE) && !l.refused; l.phase++) {
        l.sent = l.acked = 0;
        start = now_mono_us();
        run(&l);
        report(&l, now_mono_us() - start);
    }
    free(l.ids);
    for (uint32_t i = 0; i < l.connections; i++)
        l.client[i] = client_free(l.client[i]);
    return l.refused ? 1 : 0;
}
