/* test_noded_steps.c - steps: what srun and slurmd say to each other */
#include "noded_util.h"

/* ---- steps ----------------------------------------------------------------------------------- */

struct step_parts {
    struct job_parts jp;
    Pst__StepRecord step;
    Pst__Alloc alloc;
    Pst__AllocGroup group, *groups[1];
    Pst__StepCredential cred;
    Pst__SignedCredential sc;
    Pst__LaunchStep launch;
    uint8_t packed[4096], mac[AUTH_MAC_SIZE];
    uint32_t ranks[8];
    char env[64];
};

static void fill_step(struct step_parts *s, uint32_t job, uint32_t step, unsigned tasks,
                      char **argv)
{
    const char *kid;

    memset(s, 0, sizeof(*s));
    fill_job(&s->jp, job, 1);
    pst__step_record__init(&s->step);
    pst__alloc__init(&s->alloc);
    pst__alloc_group__init(&s->group);
    pst__step_credential__init(&s->cred);
    pst__signed_credential__init(&s->sc);
    pst__launch_step__init(&s->launch);
    s->group.has_nodes = s->group.has_cpus = s->group.has_tasks = true;
    s->group.nodes = 1;
    s->group.cpus = tasks;
    s->group.tasks = tasks;
    s->groups[0] = &s->group;
    s->alloc.nodes = "n1";
    s->alloc.n_groups = 1;
    s->alloc.groups = s->groups;
    s->step.alloc = &s->alloc;
    s->step.has_num_tasks = true;
    s->step.num_tasks = tasks;
    s->cred.has_job_id = s->cred.has_step_id = s->cred.has_run_id = s->cred.has_uid =
        s->cred.has_gid = true;
    s->cred.job_id = job;
    s->cred.step_id = step;
    s->cred.run_id = 1000 + job;
    s->cred.uid = getuid();
    s->cred.gid = getgid();
    s->cred.user_name = (char *)user_name();
    s->cred.step = &s->step;
    s->cred.job = &s->jp.job;
    s->cred.has_expires_us = true;
    s->cred.expires_us = now_us() + 120 * USEC_PER_SEC;
    s->cred.cluster_name = "test";
    assert_true(pst__step_credential__get_packed_size(&s->cred) <= sizeof(s->packed));
    s->sc.has_credential = s->sc.has_mac = true;
    s->sc.credential.data = s->packed;
    s->sc.credential.len = pst__step_credential__pack(&s->cred, s->packed);
    assert_int_equal(auth_sign(ctl.keys, s->packed, s->sc.credential.len, s->mac, &kid), 0);
    s->sc.key_id = (char *)kid;
    s->sc.mac.data = s->mac;
    s->sc.mac.len = sizeof(s->mac);
    s->launch.credential = &s->sc;
    s->launch.node_name = "n1";
    s->launch.has_node_index = true;
    s->launch.argv = argv;
    for (s->launch.n_argv = 0; argv[s->launch.n_argv]; s->launch.n_argv++)
        ;
    memcpy(s->env, "PATH=/usr/bin:/bin", 19);
    s->launch.has_environment = true;
    s->launch.environment.data = (uint8_t *)s->env;
    s->launch.environment.len = 19;
    s->launch.work_dir = dir;
    for (unsigned i = 0; i < tasks; i++)
        s->ranks[i] = i;
    s->launch.task_ids = s->ranks;
    s->launch.n_task_ids = tasks;
}

static struct client *call_node(const struct step_parts *s)
{
    uint8_t key[AUTH_MAC_SIZE];
    struct client_target t = { .host = "127.0.0.1",
                               .port = node_port,
                               .cluster = "test",
                               .timeout_ms = 5000,
                               .program = "srun",
                               .service = "slurmd",
                               .name = "n1",
                               .credential = &s->sc,
                               .launch_key = { sizeof(key), key } };
    struct client *c;
    struct err err = { .text = "" };

    assert_int_equal(
        auth_derive(ctl.keys, NULL, AUTH_FOR_LAUNCH, s->sc.mac.data, s->sc.mac.len, key, NULL), 0);
    if (client_connect(&t, 0, &c, &err) < 0)
        fail_msg("connect: %s", err.text);
    assert_int_equal(client_send(c, OP_LAUNCH_STEP, 0, client_next_id(c), &s->launch.base), 0);
    return c;
}

struct step_view { /* what srun would see */
    char out[2][65536], message[2048], refused[256];
    size_t n_out[2];
    uint32_t status[8];
    unsigned n_exits, n_started, n_eof;
    uint32_t pids[8];
    bool done;
    uint32_t done_status;
};

static void view_frame(struct step_view *v, const struct frame *f)
{
    ProtobufCMessage *m = NULL;

    assert_int_equal(frame_unpack(f, frame_message(f), &m, NULL), 0);
    if (f->flags & FRAME_ERROR) {
        (void)snprintf(v->refused, sizeof(v->refused), "%s", ((Pst__Error *)m)->text);
    } else if (f->op == OP_STEP_STARTED) {
        const Pst__StepStarted *x = (const Pst__StepStarted *)m;

        v->n_started++;
        for (size_t i = 0; i < x->n_pids && i < 8; i++)
            v->pids[i] = x->pids[i];
        if (x->error)
            (void)snprintf(v->message, sizeof(v->message), "%s", x->error);
    } else if (f->op == OP_STEP_IO) {
        const Pst__StepIo *x = (const Pst__StepIo *)m;
        int i = x->stream == PST__STEP_STREAM__STREAM_STDERR;
        size_t n = MIN(x->data.len, sizeof(v->out[i]) - 1 - v->n_out[i]);

        if (n)
            memcpy(v->out[i] + v->n_out[i], x->data.data, n);
        v->n_out[i] += n;
        v->n_eof += x->eof ? 1 : 0;
    } else if (f->op == OP_STEP_MESSAGE) {
        size_t n = strlen(v->message);

        (void)snprintf(v->message + n, sizeof(v->message) - n, "%s", ((Pst__StepMessage *)m)->text);
    } else if (f->op == OP_STEP_TASK_EXIT) {
        const Pst__StepTaskExit *x = (const Pst__StepTaskExit *)m;

        for (size_t i = 0; i < x->n_task_ids; i++, v->n_exits++)
            v->status[x->task_ids[i]] = x->status;
    } else if (f->op == OP_STEP_DONE) {
        v->done = true;
        v->done_status = ((Pst__StepDone *)m)->status;
    }
    protobuf_c_message_free_unpacked(m, NULL);
}

/* Receive until the condition; the connection's end ends it too. */
#define VIEW_UNTIL(c, v, cond)                                                                     \
    do {                                                                                           \
        struct frame f_;                                                                           \
        while (!(cond) && client_recv((c), PATIENCE_S * 1000, &f_) > 0)                            \
            view_frame((v), &f_);                                                                  \
        assert_true(cond);                                                                         \
    } while (0)

static struct step_view view; /* large */

static struct client *run_step(struct step_parts *s)
{
    memset(&view, 0, sizeof(view));
    return call_node(s);
}

static void test_step(void **state)
{
    char *argv[] = { "sh", "-c",
                     "echo out $SLURM_PROCID $SLURM_NTASKS $SLURMD_NODENAME; echo err >&2; exit "
                     "$SLURM_PROCID",
                     NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 30, 0, 3, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.n_started, 1);
    assert_int_equal(view.n_exits, 3);
    assert_int_equal(view.status[2], 2 << 8);
    assert_int_equal(view.done_status, 2 << 8);
    assert_int_equal(view.n_eof, 6);
    assert_non_null(strstr(view.out[0], "out 0 3 n1\n"));
    assert_non_null(strstr(view.out[0], "out 2 3 n1\n"));
    assert_int_equal(view.n_out[1], 12);
    (void)client_free(c);
    WAIT_FOR(find_end(30, 0));
    assert_int_equal(find_end(30, 0)->status, 2 << 8);
    end_job(30);
    WAIT_POLL(spool_empty());
}

static void test_step_stdin(void **state)
{
    char *argv[] = { "cat", NULL };
    static char block[200000];
    struct step_parts s;
    struct client *c;
    Pst__StepIo io = PST__STEP_IO__INIT;

    (void)state;
    memset(block, 'x', sizeof(block));
    fill_step(&s, 31, 0, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.n_started);
    io.has_stream = io.has_data = true;
    io.stream = PST__STEP_STREAM__STREAM_STDIN;
    io.data.data = (uint8_t *)block;
    for (size_t at = 0; at < 50000; at += 10000) {
        io.data.len = 10000;
        assert_int_equal(client_send(c, OP_STEP_IO, FRAME_ONEWAY, client_next_id(c), &io.base), 0);
    }
    io.has_data = false;
    io.data.len = 0;
    io.has_eof = io.eof = true;
    assert_int_equal(client_send(c, OP_STEP_IO, FRAME_ONEWAY, client_next_id(c), &io.base), 0);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.n_out[0], 50000);
    assert_int_equal(view.done_status, 0);
    (void)client_free(c);
    end_job(31);
}

static void test_step_missing_program(void **state)
{
    char *argv[] = { "nosuchcommand", NULL }, *argv2[] = { "/tmp", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 32, 0, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.status[0], 2 << 8);
    assert_non_null(
        strstr(view.message, "] error: execve(): nosuchcommand: No such file or directory\n"));
    (void)client_free(c);
    fill_step(&s, 32, 1, 1, argv2);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.status[0], 13 << 8);
    assert_non_null(strstr(view.message, "] error: execve(): /tmp: Permission denied\n"));
    (void)client_free(c);
    end_job(32);
}

static void test_step_signal(void **state)
{
    char *argv[] = { "sleep", "1000", NULL };
    Pst__StepSignal sig = PST__STEP_SIGNAL__INIT;
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 33, 0, 2, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.n_started);
    sig.has_signal = true;
    sig.signal = SIGUSR2;
    assert_int_equal(client_send(c, OP_STEP_SIGNAL, FRAME_ONEWAY, client_next_id(c), &sig.base), 0);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.status[0], SIGUSR2);
    assert_int_equal(view.status[1], SIGUSR2);
    (void)client_free(c);
    fill_step(&s, 33, 1, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.n_started);
    sig.has_terminate = sig.terminate = true;
    sig.has_signal = false;
    sig.signal = 0;
    assert_int_equal(client_send(c, OP_STEP_SIGNAL, FRAME_ONEWAY, client_next_id(c), &sig.base), 0);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.status[0], SIGTERM);
    assert_non_null(strstr(view.message, "error: *** STEP 33.1 ON n1 CANCELLED AT "));
    (void)client_free(c);
    end_job(33);
}

static void test_step_loses_srun(void **state)
{
    char *argv[] = { "sleep", "1000", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 34, 0, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.n_started);
    (void)client_free(c);
    WAIT_FOR(find_end(34, 0));
    assert_int_equal(find_end(34, 0)->status, SIGTERM);
    WAIT_POLL(kill((pid_t)view.pids[0], 0) < 0);
    end_job(34);
}

static void test_step_pty(void **state)
{
    char *argv[] = { "sh", "-c", "tty; stty size; read x; echo got $x", NULL };
    Pst__StepIo io = PST__STEP_IO__INIT;
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 35, 0, 1, argv);
    s.launch.has_pty = s.launch.pty = true;
    s.launch.has_pty_rows = s.launch.has_pty_cols = true;
    s.launch.pty_rows = 33;
    s.launch.pty_cols = 77;
    c = run_step(&s);
    VIEW_UNTIL(c, &view, strstr(view.out[0], "33 77"));
    io.has_data = true;
    io.data.data = (uint8_t *)"hello\n";
    io.data.len = 6;
    assert_int_equal(client_send(c, OP_STEP_IO, FRAME_ONEWAY, client_next_id(c), &io.base), 0);
    VIEW_UNTIL(c, &view, view.done);
    assert_non_null(strstr(view.out[0], "/dev/pts/"));
    assert_non_null(strstr(view.out[0], "got hello"));
    (void)client_free(c);
    end_job(35);
}

static void test_step_much_output(void **state)
{
    char *argv[] = { "sh", "-c", "head -c 30000000 /dev/zero", NULL };
    struct step_parts s;
    struct client *c;
    size_t total = 0;
    struct frame f;
    bool done = false;

    (void)state;
    fill_step(&s, 36, 0, 1, argv);
    c = run_step(&s);
    while (!done && client_recv(c, PATIENCE_S * 1000, &f) > 0) {
        ProtobufCMessage *m = NULL;

        assert_int_equal(frame_unpack(&f, frame_message(&f), &m, NULL), 0);
        if (f.op == OP_STEP_IO)
            total += ((Pst__StepIo *)m)->data.len;
        done = f.op == OP_STEP_DONE;
        protobuf_c_message_free_unpacked(m, NULL);
    }
    assert_int_equal(total, 30000000);
    (void)client_free(c);
    end_job(36);
}

static void test_step_refused(void **state)
{
    char *argv[] = { "true", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 37, 0, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    (void)client_free(c);
    c = run_step(&s); /* the same credential */
    VIEW_UNTIL(c, &view, view.refused[0]);
    (void)client_free(c);
    fill_step(&s, 37, 1, 1, argv);
    s.mac[0] ^= 1;
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.refused[0]);
    assert_string_equal(view.refused, "Invalid job credential");
    (void)client_free(c);
    end_job(37);
    fill_step(&s, 37, 2, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.refused[0]);
    assert_string_equal(view.refused, "Job credential revoked");
    (void)client_free(c);
    WAIT_POLL(spool_empty());
}

static void test_step_multi_prog(void **state)
{
    char *argv[] = { "last", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 38, 0, 3, argv);
    s.launch.multi_prog = "0 echo first\n1-2 echo t%t o%o 'q%t'\n";
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_non_null(strstr(view.out[0], "first last\n"));
    assert_non_null(strstr(view.out[0], "t2 o1 q%t last\n"));
    (void)client_free(c);
    end_job(38);
}

static void test_step_files(void **state)
{
    char *argv[] = { "sh", "-c", "echo task $SLURM_PROCID", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 39, 4, 2, argv);
    s.launch.std_out = "f.%j.%s.%t.%N";
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_string_equal(slurp("f.39.4.0.n1"), "task 0\n");
    assert_string_equal(slurp("f.39.4.1.n1"), "task 1\n");
    (void)client_free(c);
    end_job(39);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_step_stdin),
        cmocka_unit_test(test_step_missing_program),
        cmocka_unit_test(test_step_signal),
        cmocka_unit_test(test_step_loses_srun),
        cmocka_unit_test(test_step_pty),
        cmocka_unit_test(test_step_much_output),
        cmocka_unit_test(test_step_refused),
        cmocka_unit_test(test_step_multi_prog),
        cmocka_unit_test(test_step_files),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
