/* down.c - penstock down: cancel the jobs, ask the daemons to end, make sure that they did
 *
 * Asking comes first, signals by pid file second, and only to processes that procs.c vouches for.
 */

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "penstock/penstock.h"
#include "api.pb-c.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "wire/client.h"
#include "wire/ops.h"

#define CALL_MS 5000
#define JOBS_S 15 /* for cancelled jobs to be over: KillWait is 5 s */
#define ASK_S 10  /* for daemons to end when asked */
#define TERM_S 5  /* when told by a signal */
#define KILL_S 5
#define POLL_MS 50

static int cancel_jobs(struct client *client)
{
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    int64_t deadline = now_mono_us() + JOBS_S * USEC_PER_SEC;
    struct census sum = { 0 };
    int r;

    req.has_verb = 1;
    req.verb = PST__JOB_VERB__VERB_CANCEL;
    req.filter = &filter;
    r = client_call(client, OP_JOB_ACTION, &req.base, NULL);
    while (r == 0) {
        r = instance_census(client, &sum);
        if (r < 0 || sum.pending + sum.running + sum.completing == 0)
            break;
        if (now_mono_us() >= deadline) {
            say("%u jobs do not end", sum.pending + sum.running + sum.completing);
            break;
        }
        (void)poll(NULL, 0, POLL_MS); /* between two questions; an early wake-up is harmless */
    }
    return r;
}

static void ask_to_end(const struct instance *in, bool keep_jobs)
{
    Pst__ShutdownRequest req = PST__SHUTDOWN_REQUEST__INIT;
    struct conf *conf = NULL;
    struct client *client = NULL;
    struct err err = { .text = "" };
    int r = instance_load(in, &conf, &err);

    if (r == 0)
        r = instance_connect(conf, CALL_MS, &client, &err);
    if (r == 0 && !keep_jobs)
        r = cancel_jobs(client);
    if (r == 0)
        r = client_call(client, OP_SHUTDOWN, &req.base, NULL);
    if (r < 0)
        say("the controller was not asked: %s",
            err.text[0] ? err.text : client_strerror(client, r));
    if (client)
        client_free(client);
    conf_free(conf);
}

/* Escalate until nothing is left; gives how many processes are. */
static size_t make_sure(const struct procs *p)
{
    size_t left = procs_wait(p, now_mono_us() + ASK_S * USEC_PER_SEC);

    if (left) {
        say("%zu daemons did not end when asked: SIGTERM", left);
        procs_signal(p, SIGTERM);
        left = procs_wait(p, now_mono_us() + TERM_S * USEC_PER_SEC);
    }
    if (left) {
        say("%zu daemons did not end on SIGTERM: SIGKILL", left);
        procs_signal(p, SIGKILL);
        left = procs_wait(p, now_mono_us() + KILL_S * USEC_PER_SEC);
    }
    return left;
}

/* Steps outlive daemons; here no daemon will come back for them. */
static size_t end_steps(const struct instance *in)
{
    _cleanup_val_(procs_done) struct procs steps = { 0 };
    size_t left;

    if (procs_find_steps(in, &steps) < 0 || !steps.n)
        return 0;
    procs_signal(&steps, SIGTERM);
    left = procs_wait(&steps, now_mono_us() + TERM_S * USEC_PER_SEC);
    if (left) {
        procs_signal(&steps, SIGKILL);
        left = procs_wait(&steps, now_mono_us() + KILL_S * USEC_PER_SEC);
    }
    return left;
}

int cmd_down(int argc, char **argv)
{
    static const struct option longs[] = { { "dir", required_argument, NULL, 'd' },
                                           { "keep-jobs", no_argument, NULL, 'k' },
                                           { NULL, 0, NULL, 0 } };
    _cleanup_val_(procs_done) struct procs running = { 0 };
    const char *dir = NULL;
    bool keep_jobs = false;
    struct instance in;
    struct err err = { .text = "" };
    size_t left;
    int c;

    while ((c = getopt_long(argc, argv, "d:k", longs, NULL)) != -1) {
        if (c == 'd')
            dir = optarg;
        else if (c == 'k')
            keep_jobs = true;
        else
            return bad_option();
    }
    if (optind < argc)
        return usage_error("unexpected argument: %s", argv[optind]);
    if (instance_init(&in, dir, &err) < 0)
        return say_error("%s", err.text);
    if (!instance_exists(&in))
        return say_error("there is no cluster in %s", in.dir);
    if (procs_find(&in, &running) < 0)
        return say_error("cannot read %s/run", in.dir);
    if (!running.n) {
        say("the cluster in %s does not run", in.dir);
        return STATUS_OK;
    }
    ask_to_end(&in, keep_jobs);
    left = make_sure(&running);
    if (!keep_jobs)
        left += end_steps(&in);
    if (left)
        return say_error("%zu processes of the cluster do not end", left);
    say("the cluster in %s is down", in.dir);
    return STATUS_OK;
}
