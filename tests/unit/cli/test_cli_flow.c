/* test_cli_flow.c - sbatch, salloc and srun as processes, against a controller and node played here
 *
 * The server thread answers by the job's name and the tasks' program (see on_submit and on_launch);
 * the main thread runs commands and looks at their output.  Commands are looked for beside this
 * program's build folder, or in PENSTOCK_CLI_DIR. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "cli/srun/srun_noalloc.h"
#include "wire/errors.h"
#include "wire/server/server.h"

#define JOB 7u
#define STEP 3u
#define DEADLINE_MS 20000

extern char **environ;

/* ---- the server's side ----------------------------------------------------------------------- */

static struct fake {
    struct server *server;
    struct auth_keys *keys;
    uint8_t launch_key[AUTH_MAC_SIZE]; /* of a credential with a MAC of zeros */
    const char *kid;
    char dir[64], conf[96], cli_dir[PATH_MAX];
    pthread_mutex_t lock;
    Pst__SubmitRequest *submit;   /* the last one */
    Pst__StepCreateRequest *step; /* the last one */
    Pst__LaunchStep *launch;      /* the last one */
    struct conn *held;            /* a queued submission: granted by grant_held() */
    uint32_t held_id;
    int verb; /* of the last job action */
    uint32_t verb_status;
} fake;

struct node_conn { /* a step on the "node", conn_data */
    uint32_t tasks[8];
    size_t n;
    char mode[16];
};

static void keep(ProtobufCMessage **slot, ProtobufCMessage *msg)
{
    (void)pthread_mutex_lock(&fake.lock);
    if (*slot)
        protobuf_c_message_free_unpacked(*slot, NULL);
    *slot = msg;
    (void)pthread_mutex_unlock(&fake.lock);
}

#define SET(m, field, value) ((m)->has_##field = 1, (m)->field = (value))

/* Calls fn with a step of n tasks, half of them on each of two nodes, and the job around it. */
static void with_step(uint32_t tasks, void (*fn)(void *ctx, Pst__JobRecord *, Pst__StepReply *),
                      void *ctx)
{
    Pst__AllocGroup group = PST__ALLOC_GROUP__INIT, *groups[] = { &group };
    Pst__Alloc alloc = PST__ALLOC__INIT;
    Pst__StepRecord step = PST__STEP_RECORD__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__SignedCredential cred = PST__SIGNED_CREDENTIAL__INIT;
    Pst__NodeAddr n1 = PST__NODE_ADDR__INIT, n2 = PST__NODE_ADDR__INIT, *nodes[] = { &n1, &n2 };
    Pst__StepReply reply = PST__STEP_REPLY__INIT;
    uint8_t mac[AUTH_MAC_SIZE] = { 0 };

    SET(&group, nodes, tasks > 1 ? 2 : 1);
    SET(&group, tasks, tasks > 1 ? tasks / 2 : 1);
    SET(&group, cpus, 2);
    alloc.nodes = (char *)(tasks > 1 ? "node[1-2]" : "node1");
    alloc.groups = groups;
    alloc.n_groups = 1;
    SET(&step, job_id, JOB);
    SET(&step, step_id, STEP);
    step.alloc = &alloc;
    SET(&job, job_id, JOB);
    job.name = (char *)"name";
    job.partition = (char *)"debug";
    job.alloc = &alloc;
    SET(&n1, port, server_port(fake.server));
    SET(&n2, port, server_port(fake.server));
    n1.name = (char *)"node1";
    n2.name = (char *)"node2";
    n1.addr = n2.addr = (char *)"127.0.0.1";
    reply.step = &step;
    cred.key_id = (char *)fake.kid;
    cred.has_mac = true;
    cred.mac = (ProtobufCBinaryData){ sizeof(mac), mac };
    reply.credential = &cred;
    reply.has_launch_key = true;
    reply.launch_key = (ProtobufCBinaryData){ sizeof(fake.launch_key), fake.launch_key };
    reply.nodes = nodes;
    reply.n_nodes = group.nodes;
    reply.job = &job;
    fn(ctx, &job, &reply);
}

struct answer {
    struct conn *c;
    uint32_t id, op;
    bool step;
};

static void send_grant(void *ctx, Pst__JobRecord *job, Pst__StepReply *reply)
{
    const struct answer *a = ctx;
    Pst__JobStatus st = PST__JOB_STATUS__INIT;

    SET(&st, job_id, JOB);
    SET(&st, state, PST__JOB_STATE__JOB_RUNNING);
    SET(&st, launched, true);
    st.job = job;
    st.step = a->step ? reply : NULL;
    (void)conn_reply(a->c, a->op, a->id, FRAME_MORE, &st.base);
}

static void send_step(void *ctx, Pst__JobRecord *job, Pst__StepReply *reply)
{
    const struct answer *a = ctx;

    (void)job;
    (void)conn_reply(a->c, a->op, a->id, 0, &reply->base);
}

static void send_state(struct conn *c, unsigned op, uint32_t id, uint32_t flags,
                       Pst__JobState state, uint32_t status)
{
    Pst__JobStatus st = PST__JOB_STATUS__INIT;

    SET(&st, job_id, JOB);
    SET(&st, state, state);
    SET(&st, exit_status, status);
    (void)conn_reply(c, op, id, flags, &st.base);
}

static void on_submit(struct conn *c, const struct frame *f, Pst__SubmitRequest *req)
{
    const char *name = req->job->name ? req->job->name : "";
    Pst__SubmitReply reply = PST__SUBMIT_REPLY__INIT;
    uint32_t tasks = req->step && req->step->has_num_tasks ? req->step->num_tasks : 1;
    struct answer a = { .c = c, .id = f->id, .op = f->op, .step = req->step != NULL };

    if (strcmp(name, "refuse") == 0) {
        (void)conn_error(c, f->op, f->id, ESLURM_INVALID_PARTITION_NAME,
                         "invalid partition specified: nosuch");
    } else if (req->test_only) {
        SET(&reply, job_id, 20);
        SET(&reply, start_us, INT64_C(1700000000000000));
        SET(&reply, cpus, 4);
        reply.nodes = (char *)"node[1-2]";
        reply.partition = (char *)"debug";
        (void)conn_reply(c, f->op, f->id, 0, &reply.base);
    } else if (!req->wait_alloc) {
        SET(&reply, job_id, JOB);
        (void)conn_reply(c, f->op, f->id, 0, &reply.base);
    } else {
        send_state(c, f->op, f->id, FRAME_MORE, PST__JOB_STATE__JOB_PENDING, 0);
        if (strcmp(name, "queued") == 0) {
            (void)pthread_mutex_lock(&fake.lock);
            fake.held = conn_ref(c);
            fake.held_id = f->id;
            (void)pthread_mutex_unlock(&fake.lock);
        } else if (strcmp(name, "gone") == 0) {
            send_state(c, f->op, f->id, 0, PST__JOB_STATE__JOB_CANCELLED, 0);
        } else {
            with_step(tasks, send_grant, &a);
        }
    }
    keep((ProtobufCMessage **)&fake.submit, &req->base);
}

static void on_action(struct conn *c, const struct frame *f, Pst__JobActionRequest *req)
{
    Pst__JobActionResult result = PST__JOB_ACTION_RESULT__INIT, *results[] = { &result };
    Pst__JobActionReply reply = PST__JOB_ACTION_REPLY__INIT;

    (void)pthread_mutex_lock(&fake.lock);
    fake.verb = (int)req->verb;
    fake.verb_status = req->exit_status;
    (void)pthread_mutex_unlock(&fake.lock);
    result.id = req->n_ids ? req->ids[0] : NULL;
    SET(&result, code, 0);
    reply.results = results;
    reply.n_results = 1;
    (void)conn_reply(c, f->op, f->id, 0, &reply.base);
    protobuf_c_message_free_unpacked(&req->base, NULL);
}

/* ---- the node's side ------------------------------------------------------------------------- */

static void oneway(struct conn *c, unsigned op, const ProtobufCMessage *msg)
{
    uint32_t id;

    (void)conn_request(c, op, FRAME_ONEWAY, msg, &id);
}

static void say(struct conn *c, uint32_t task, Pst__StepStream stream, const char *text, bool eof)
{
    Pst__StepIo io = PST__STEP_IO__INIT;

    SET(&io, task_id, task);
    SET(&io, stream, stream);
    io.has_data = text != NULL;
    io.data.data = (uint8_t *)text;
    io.data.len = text ? strlen(text) : 0;
    SET(&io, eof, eof);
    oneway(c, OP_STEP_IO, &io.base);
}

static void task_exit(struct conn *c, uint32_t *tasks, size_t n, uint32_t status)
{
    Pst__StepTaskExit msg = PST__STEP_TASK_EXIT__INIT;

    msg.task_ids = tasks;
    msg.n_task_ids = n;
    SET(&msg, status, status);
    oneway(c, OP_STEP_TASK_EXIT, &msg.base);
}

static void step_done(struct conn *c)
{
    Pst__StepDone msg = PST__STEP_DONE__INIT;

    oneway(c, OP_STEP_DONE, &msg.base);
}

static void play(struct conn *c, struct node_conn *n)
{
    if (strcmp(n->mode, "say") == 0) {
        for (size_t i = 0; i < n->n; i++)
            say(c, n->tasks[i], PST__STEP_STREAM__STREAM_STDOUT, "half ", false);
        for (size_t i = 0; i < n->n; i++)
            say(c, n->tasks[i], PST__STEP_STREAM__STREAM_STDOUT, "line\n", false);
        say(c, n->tasks[0], PST__STEP_STREAM__STREAM_STDERR, "error\n", true);
        task_exit(c, n->tasks, n->n, 0);
        step_done(c);
    } else if (strcmp(n->mode, "exit") == 0) {
        for (size_t i = 0; i < n->n; i++)
            task_exit(c, &n->tasks[i], 1, n->tasks[i] << 8);
        step_done(c);
    } else if (strcmp(n->mode, "burst") == 0) {
        for (int i = 0; i < 1000; i++) /* many frames in one read of srun's */
            say(c, n->tasks[0], PST__STEP_STREAM__STREAM_STDOUT, "x\n", false);
        task_exit(c, n->tasks, n->n, 0);
        step_done(c);
    } else if (strcmp(n->mode, "noinput") == 0) {
        task_exit(c, n->tasks, n->n, 0);
        step_done(c);
    } else if (strcmp(n->mode, "killed") == 0) {
        task_exit(c, n->tasks, n->n, SIGKILL);
        step_done(c);
    }
}

static void on_launch(struct conn *c, Pst__LaunchStep *req)
{
    Pst__StepStarted started = PST__STEP_STARTED__INIT;
    struct node_conn *n = calloc(1, sizeof(*n));

    assert_non_null(n);
    n->n = MIN(req->n_task_ids, ARRAY_SIZE(n->tasks));
    memcpy(n->tasks, req->task_ids, n->n * sizeof(n->tasks[0]));
    (void)snprintf(n->mode, sizeof(n->mode), "%s", req->n_argv ? req->argv[0] : "");
    if (strcmp(n->mode, "cat") == 0 && req->has_stdin_task && req->stdin_task != n->tasks[0])
        (void)snprintf(n->mode, sizeof(n->mode), "noinput"); /* its task reads /dev/null */
    conn_set_data(c, n);
    SET(&started, node_index, req->node_index);
    started.task_ids = n->tasks;
    started.n_task_ids = n->n;
    if (strcmp(n->mode, "nolaunch") == 0)
        started.error = (char *)"no room";
    oneway(c, OP_STEP_STARTED, &started.base);
    if (started.error)
        step_done(c);
    keep((ProtobufCMessage **)&fake.launch, &req->base);
    play(c, n);
}

static void on_step_io(struct conn *c, const Pst__StepIo *io)
{
    struct node_conn *n = conn_data(c);

    if (!n || strcmp(n->mode, "cat") != 0)
        return;
    if (io->data.len) {
        Pst__StepIo taken = PST__STEP_IO__INIT;

        SET(&taken, credit, (uint32_t)io->data.len);
        oneway(c, OP_STEP_IO, &taken.base);
    }
    for (size_t i = 0; i < n->n; i++) {
        if (io->has_task_id && io->task_id != n->tasks[i])
            continue;
        if (io->has_data) {
            Pst__StepIo out = *io;

            SET(&out, task_id, n->tasks[i]);
            SET(&out, stream, PST__STEP_STREAM__STREAM_STDOUT);
            oneway(c, OP_STEP_IO, &out.base);
        }
    }
    if (io->eof) {
        task_exit(c, n->tasks, n->n, 0);
        step_done(c);
    }
}

static void on_step_signal(struct conn *c, const Pst__StepSignal *sig)
{
    struct node_conn *n = conn_data(c);

    if (!n || strcmp(n->mode, "wait") != 0)
        return;
    task_exit(c, n->tasks, n->n, sig->terminate ? SIGTERM : sig->signal);
    step_done(c);
}

static void on_request(void *ctx, struct conn *c, const struct frame *f)
{
    struct answer a = { .c = c, .id = f->id, .op = f->op };
    ProtobufCMessage *msg = NULL;

    (void)ctx;
    if (frame_unpack(f, frame_message(f), &msg, NULL) < 0) {
        conn_close(c);
        return;
    }
    switch (f->op) {
    case OP_JOB_SUBMIT:
        on_submit(c, f, (Pst__SubmitRequest *)msg);
        return;
    case OP_JOB_ACTION:
        on_action(c, f, (Pst__JobActionRequest *)msg);
        return;
    case OP_LAUNCH_STEP:
        conn_unseal(c);
        on_launch(c, (Pst__LaunchStep *)msg);
        return;
    case OP_STEP_CREATE:
        if (!((Pst__StepCreateRequest *)msg)->no_allocate &&
            ((Pst__StepCreateRequest *)msg)->job_id != JOB)
            (void)conn_error(c, f->op, f->id, ESLURM_INVALID_JOB_ID, NULL);
        else
            with_step(((Pst__StepCreateRequest *)msg)->spec->num_tasks, send_step, &a);
        keep((ProtobufCMessage **)&fake.step, msg);
        return;
    case OP_JOB_WAIT:
        if (!((Pst__JobWaitRequest *)msg)->attach)
            send_state(c, f->op, f->id, 0, PST__JOB_STATE__JOB_FAILED, 3 << 8);
        break;
    case OP_STEP_IO:
        on_step_io(c, (const Pst__StepIo *)msg);
        break;
    case OP_STEP_SIGNAL:
        on_step_signal(c, (const Pst__StepSignal *)msg);
        break;
    default:
        break;
    }
    protobuf_c_message_free_unpacked(msg, NULL);
}

static void on_close(void *ctx, struct conn *c)
{
    (void)ctx;
    free(conn_data(c));
    conn_set_data(c, NULL);
}

static void grant_held(void)
{
    struct answer a = { .op = OP_JOB_SUBMIT, .step = true };

    (void)pthread_mutex_lock(&fake.lock);
    a.c = fake.held;
    a.id = fake.held_id;
    fake.held = NULL;
    (void)pthread_mutex_unlock(&fake.lock);
    assert_non_null(a.c);
    with_step(1, send_grant, &a);
    conn_unref(a.c);
}

/* ---- running commands ------------------------------------------------------------------------ */

struct run {
    struct strbuf out, err;
    int status;           /* exit status, or 1000 + signal */
    const char *grant_on; /* when standard error shows this text ... */
    int signal;           /* ... send this signal, or grant when 0 */
};

static void run_done(struct run *r)
{
    strbuf_done(&r->out);
    strbuf_done(&r->err);
}

static void react(struct run *r, pid_t pid)
{
    if (!r->grant_on || !strstr(strbuf_str(&r->err), r->grant_on))
        return;
    r->grant_on = NULL;
    if (r->signal)
        (void)kill(pid, r->signal);
    else
        grant_held();
}

static void collect(struct run *r, pid_t pid, int out, int err)
{
    struct pollfd fds[] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN } };
    struct strbuf *bufs[] = { &r->out, &r->err };

    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        if (poll(fds, 2, DEADLINE_MS) <= 0) {
            (void)kill(pid, SIGKILL);
            fail_msg("the command hangs; stdout: %.200s, stderr: %s", strbuf_str(&r->out),
                     strbuf_str(&r->err));
        }
        for (size_t i = 0; i < 2; i++) {
            char buf[4096];
            ssize_t n = fds[i].revents ? read(fds[i].fd, buf, sizeof(buf)) : -2;

            if (n > 0)
                strbuf_addn(bufs[i], buf, (size_t)n);
            else if (n != -2)
                fds[i].fd = -1;
        }
        react(r, pid);
    }
}

/* Run "NAME args..." by the shell's rules, with `input` as standard input. */
static void run(struct run *r, const char *line, const char *input)
{
    int in[2], out[2], err[2], status;
    posix_spawn_file_actions_t fa;
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)line, NULL };
    pid_t pid;

    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    (void)posix_spawn_file_actions_init(&fa);
    (void)posix_spawn_file_actions_adddup2(&fa, in[0], 0);
    (void)posix_spawn_file_actions_adddup2(&fa, out[1], 1);
    (void)posix_spawn_file_actions_adddup2(&fa, err[1], 2);
    assert_int_equal(posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&fa);
    (void)close(in[0]);
    (void)close(out[1]);
    (void)close(err[1]);
    if (input)
        assert_int_equal(write(in[1], input, strlen(input)), (ssize_t)strlen(input));
    (void)close(in[1]);
    collect(r, pid, out[0], err[0]);
    (void)close(out[0]);
    (void)close(err[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    /* What the server's thread kept of its requests is there to be looked at. */
    (void)pthread_mutex_lock(&fake.lock);
    (void)pthread_mutex_unlock(&fake.lock);
}

static void expect(const char *line, const char *input, int status, const char *out,
                   const char *err)
{
    struct run r = { 0 };

    run(&r, line, input);
    assert_string_equal(strbuf_str(&r.err), err);
    assert_string_equal(strbuf_str(&r.out), out);
    assert_int_equal(r.status, status);
    run_done(&r);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_sbatch(void **state)
{
    (void)state;
    expect("sbatch -n2 -J x --wrap true", NULL, 0, "Submitted batch job 7\n", "");
    assert_string_equal(fake.submit->job->name, "x");
    assert_int_equal(fake.submit->job->num_tasks, 2);
    assert_true(fake.submit->job->batch);
    assert_memory_equal(fake.submit->script.data,
                        "#!/bin/sh\n# This script was created by sbatch --wrap.\n\ntrue\n",
                        fake.submit->script.len);
    assert_string_equal(fake.submit->job->submit_line, "sbatch -n2 -J x --wrap true");
    assert_non_null(memmem(fake.submit->environment.data, fake.submit->environment.len,
                           "\0SLURM_NTASKS=2", 16 - 1));
    expect("sbatch --parsable", "#!/bin/sh\n#SBATCH -n 1\n", 0, "7\n", "");
    assert_string_equal(fake.submit->job->name, "sbatch");
    expect("sbatch -Q --wrap true", NULL, 0, "", "");
    expect("sbatch -M demo --wrap true", NULL, 0, "Submitted batch job 7 on cluster demo\n", "");
    expect("sbatch --parsable -M demo --wrap true", NULL, 0, "7;demo\n", "");
    expect("sbatch --wait --wrap 'exit 3'", NULL, 3, "Submitted batch job 7\n", "");
}

static void test_sbatch_refused(void **state)
{
    (void)state;
    expect("sbatch -J refuse --wrap true", NULL, 1, "",
           "sbatch: error: invalid partition specified: nosuch\n"
           "sbatch: error: Batch job submission failed: Invalid partition name specified\n");
    expect("SLURM_EXIT_ERROR=77 sbatch -Jrefuse --wrap true", NULL, 77, "",
           "sbatch: error: invalid partition specified: nosuch\n"
           "sbatch: error: Batch job submission failed: Invalid partition name specified\n");
    expect("sbatch --test-only -J refuse --wrap true", NULL, 1, "",
           "sbatch: error: invalid partition specified: nosuch\n"
           "allocation failure: Invalid partition name specified\n");
    expect(
        "TZ=UTC sbatch --test-only --wrap true", NULL, 0, "",
        "sbatch: Job 20 to start at 2023-11-14T22:13:20 a using 4 processors on nodes node[1-2] in "
        "partition debug\n");
}

static void test_salloc(void **state)
{
    (void)state;
    expect("salloc sh -c 'echo $SLURM_JOB_ID $SLURM_JOB_NODELIST $SLURM_TASKS_PER_NODE'", NULL, 0,
           "7 node1 2\n",
           "salloc: Granted job allocation 7\nsalloc: Nodes node1 are ready for job\n"
           "salloc: Relinquishing job allocation 7\n");
    assert_int_equal(fake.verb, PST__JOB_VERB__VERB_COMPLETE);
    assert_int_equal(fake.verb_status, 0);
    assert_string_equal(fake.submit->job->name, "interactive");
    expect("salloc -Q sh -c 'exit 9'", NULL, 9, "", "");
    assert_int_equal(fake.verb_status, 9 << 8);
    expect("salloc nosuchcmd", NULL, 1, "",
           "salloc: Granted job allocation 7\nsalloc: Nodes node1 are ready for job\n"
           "salloc: error: _fork_command: Unable to find command \"nosuchcmd\"\n"
           "salloc: Relinquishing job allocation 7\n");
    fake.verb = 0;
    expect("salloc --no-shell", NULL, 0, "",
           "salloc: Granted job allocation 7\nsalloc: Nodes node1 are ready for job\n");
    assert_int_equal(fake.verb, 0);
    expect("salloc -J refuse true", NULL, 1, "",
           "salloc: error: invalid partition specified: nosuch\n"
           "salloc: error: Job submit/allocate failed: Invalid partition name specified\n");
    expect("salloc -J gone true", NULL, 1, "",
           "salloc: Job has been cancelled\nsalloc: Job allocation 7 has been revoked.\n"
           "salloc: error: Job submit/allocate failed: Job/step already completing or completed\n");
}

static void test_salloc_queued(void **state)
{
    struct run r = { .grant_on = "queued" };

    (void)state;
    run(&r, "salloc -J queued echo got it", NULL);
    assert_string_equal(
        strbuf_str(&r.err),
        "salloc: Pending job allocation 7\nsalloc: job 7 queued and waiting for resources\n"
        "salloc: job 7 has been allocated resources\nsalloc: Granted job allocation 7\n"
        "salloc: Nodes node1 are ready for job\nsalloc: Relinquishing job allocation 7\n");
    assert_string_equal(strbuf_str(&r.out), "got it\n");
    assert_int_equal(r.status, 0);
    run_done(&r);
}

static void test_srun(void **state)
{
    (void)state;
    expect("srun say 2>/dev/null", NULL, 0, "half line\n", "");
    assert_int_equal(fake.verb, PST__JOB_VERB__VERB_COMPLETE);
    assert_string_equal(fake.submit->job->name, "say");
    assert_true(fake.submit->job->kill_on_client_loss);
    assert_string_equal(fake.launch->argv[0], "say");
    expect("srun -n4 -l say 2>/dev/null | sort", NULL, 0,
           "0: half line\n1: half line\n2: half line\n3: half line\n", "");
    expect("srun -n1 say", NULL, 0, "half line\n", "error\n");
    expect("srun -n4 say 2>&1 | sort | uniq -c | tr -s ' '", NULL, 0, " 2 error\n 4 half line\n",
           "");
    expect("srun -n4 -o 2 -l -e none say", NULL, 0, "2: half line\n", "");
    expect("srun -o none say", NULL, 0, "", "");
    expect("srun -n2 burst | wc -l", NULL, 0, "2000\n", "");
}

static void test_srun_noalloc(void **state)
{
    (void)state;
    expect("srun -Z true", NULL, 1, "",
           "srun: error: must specify a node list with -Z, --no-allocate.\n");
    if (geteuid() != 0)
        return; /* refused, which the integration test sees as another user */
    expect("srun -Z -w node[1-2] -n4 say 2>&1 | sort | uniq -c | tr -s ' '", NULL, 0,
           " 2 error\n 4 half line\n 1 srun: do not allocate resources\n", "");
    expect("srun -Q -Z -w node1 -n1 --jobid=99 say 2>/dev/null", NULL, 0, "half line\n", "");
    assert_string_equal(fake.step->spec->nodelist, "node1");
    assert_false(fake.step->has_job_id);
    expect("srun -Z -w node1 --async true", NULL, 1, "",
           "srun: error: --async is only valid for steps submitted within an existing job "
           "allocation.\n");
}

static void test_srun_ends(void **state)
{
    struct run r = { 0 };

    (void)state;
    run(&r, "srun -n2 exit", NULL);
    assert_string_equal(strbuf_str(&r.err),
                        "srun: error: node2: task 1: Exited with exit code 1\n");
    assert_int_equal(r.status, 1);
    assert_int_equal(fake.verb_status, 1 << 8);
    run_done(&r);
    expect("srun killed", NULL, 137, "",
           "srun: error: node1: task 0: Killed\nsrun: Force Terminated StepId=7.3\n");
    expect("srun nolaunch", NULL, 1, "", "srun: error: task 0 launch failed: no room\n");
    expect("srun -J gone true", NULL, 1, "",
           "srun: Job has been cancelled\n"
           "srun: error: Unable to allocate resources: Job/step already completing or completed\n");
    expect("srun -J refuse true", NULL, 1, "",
           "srun: error: invalid partition specified: nosuch\n"
           "srun: error: Unable to allocate resources: Invalid partition name specified\n");
}

static void test_srun_input(void **state)
{
    (void)state;
    expect("srun -n2 -l cat | sort", "input\n", 0, "0: input\n1: input\n", "");
    expect("srun -n2 -l -i 1 cat", "input\n", 0, "1: input\n", "");
    assert_int_equal(fake.launch->stdin_task, 1);
    expect("head -c 3000000 /dev/zero | srun cat | wc -c", NULL, 0, "3000000\n", "");
}

static void test_srun_files(void **state)
{
    (void)state;
    expect("cd $T && srun -n2 -l -o out.%j.%s say && sort out.7.3", NULL, 0,
           "0: error\n0: half line\n1: error\n1: half line\n", "");
    expect("cd $T && srun -e err.txt say && cat err.txt", NULL, 0, "half line\nerror\n", "");
    expect("srun -n2 -o x.%t -i in.%t say", NULL, 0, "", ""); /* the nodes write it */
    assert_string_equal(fake.launch->std_out, "x.%t");
    assert_string_equal(fake.launch->std_in, "in.%t");
}

static void test_srun_signal(void **state)
{
    struct run r = { .grant_on = "Node node1, 1 tasks started", .signal = SIGTERM };

    (void)state;
    run(&r, "exec srun -v wait", NULL);
    assert_non_null(
        strstr(strbuf_str(&r.err),
               "srun: forcing job termination\n"
               "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"));
    assert_non_null(strstr(strbuf_str(&r.err), "srun: error: node1: task 0: Terminated\n"));
    assert_int_equal(r.status, 143); /* the tasks are asked first */
    run_done(&r);
    r = (struct run){ .grant_on = "1 tasks started", .signal = SIGUSR2 };
    run(&r, "exec srun -v wait", NULL);
    assert_non_null(strstr(strbuf_str(&r.err), "task 0: User defined signal 2\n"));
    assert_int_equal(r.status, 140);
    run_done(&r);
}

static void test_srun_inside(void **state)
{
    (void)state;
    fake.verb = 0;
    expect("SLURM_JOB_ID=7 SLURM_NTASKS=2 SLURM_JOB_NAME=outer srun -l say 2>/dev/null | sort",
           NULL, 0, "0: half line\n1: half line\n", "");
    assert_int_equal(fake.verb, 0); /* not ours to release */
    assert_string_equal(fake.step->spec->name, "say");
    assert_int_equal(fake.step->spec->num_tasks, 2);
    expect("srun --jobid=999999 true", NULL, 1, "",
           "srun: error: Unable to confirm allocation for job 999999: Invalid job id specified\n"
           "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 999999\n");
    expect("srun", NULL, 1, "", "srun: fatal: No command given to execute.\n");
}

static void test_srun_queued(void **state)
{
    struct run r = { .grant_on = "queued" };

    (void)state;
    run(&r, "srun -J queued say", NULL);
    assert_string_equal(strbuf_str(&r.err), "srun: job 7 queued and waiting for resources\n"
                                            "srun: job 7 has been allocated resources\nerror\n");
    assert_int_equal(r.status, 0);
    run_done(&r);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static void write_conf(void)
{
    FILE *f;

    (void)snprintf(fake.conf, sizeof(fake.conf), "%s/slurm.conf", fake.dir);
    f = fopen(fake.conf, "we");
    assert_non_null(f);
    (void)fprintf(
        f,
        "ClusterName=demo\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=%u\nGresTypes=gpu\n"
        "NodeName=node[1-2] CPUs=2\nPartitionName=debug Nodes=ALL Default=YES\n",
        server_port(fake.server));
    assert_int_equal(fclose(f), 0);
}

static void find_commands(void)
{
    const char *dir = getenv("PENSTOCK_CLI_DIR");
    char self[PATH_MAX / 2] = "", path[PATH_MAX + 512];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(n > 0);
    if (dir)
        (void)snprintf(fake.cli_dir, sizeof(fake.cli_dir), "%s", dir);
    else
        (void)snprintf(fake.cli_dir, sizeof(fake.cli_dir), "%.*s/../../src/cli",
                       (int)(strrchr(self, '/') - self), self);
    (void)snprintf(path, sizeof(path), "%s:/usr/bin:/bin", fake.cli_dir);
    setenv("PATH", path, 1);
}

static void make_key(void)
{
    static const uint8_t mac[AUTH_MAC_SIZE];
    char path[128];
    struct err err = { .text = "" };

    (void)snprintf(path, sizeof(path), "%s/key", fake.dir);
    if (auth_keys_create(path, &err) < 0 || auth_keys_load(path, &fake.keys, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(
        auth_derive(fake.keys, NULL, AUTH_FOR_LAUNCH, mac, sizeof(mac), fake.launch_key, &fake.kid),
        0);
}

static int set_up(void **state)
{
    struct server_config config = {
        .any_port = true,
        .bind_addr = "127.0.0.1",
        .local_socket = true,
        .threads = 1,
        .cluster = "demo",
        .step_keys = true,
        .serves = ACCESS_AT(ACCESS_CTLD) | ACCESS_AT(ACCESS_SLURMD) | ACCESS_AT(ACCESS_STEP),
        .hooks = { .on_request = on_request, .on_close = on_close },
    };
    struct err err = { .text = "" };

    (void)state;
    (void)pthread_mutex_init(&fake.lock, NULL);
    (void)snprintf(fake.dir, sizeof(fake.dir), "/tmp/pst-flow-XXXXXX");
    assert_non_null(mkdtemp(fake.dir));
    make_key();
    config.keys = fake.keys;
    if (server_new(&config, &fake.server, &err) < 0 || server_start(fake.server) < 0)
        fail_msg("%s", err.text);
    write_conf();
    find_commands();
    setenv("SLURM_CONF", fake.conf, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* commands leave their memory to the kernel */
    setenv("T", fake.dir, 1);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JWT");
    return 0;
}

static int tear_down(void **state)
{
    char line[128];
    struct run r = { 0 };

    (void)state;
    (void)snprintf(line, sizeof(line), "rm -rf %s", fake.dir);
    run(&r, line, NULL);
    run_done(&r);
    fake.server = server_free(fake.server);
    fake.keys = auth_keys_free(fake.keys);
    keep((ProtobufCMessage **)&fake.submit, NULL);
    keep((ProtobufCMessage **)&fake.step, NULL);
    keep((ProtobufCMessage **)&fake.launch, NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sbatch),      cmocka_unit_test(test_sbatch_refused),
        cmocka_unit_test(test_salloc),      cmocka_unit_test(test_salloc_queued),
        cmocka_unit_test(test_srun),        cmocka_unit_test(test_srun_noalloc),
        cmocka_unit_test(test_srun_ends),   cmocka_unit_test(test_srun_input),
        cmocka_unit_test(test_srun_files),  cmocka_unit_test(test_srun_signal),
        cmocka_unit_test(test_srun_inside), cmocka_unit_test(test_srun_queued),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
