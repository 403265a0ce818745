/* fuzz_noded.c - slurmd between a hostile controller, hostile commands and hostile step daemons
 *
 * Everything of the daemon but its sockets and the programs it starts.  A script's steps are the
 * controller's requests and answers, launch requests of commands with credentials that verify
 * (whoever has one has the controller's word, and chooses the rest), what step daemons say, how
 * children end, and reconfiguring.  Files go to a folder of our own.  Whatever came, slurmd can end
 * and leaves nothing. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h" /* before uv.h */
#include <uv.h>

/* Signals are the fuzzer's. */
static inline int no_signal(void)
{
    return 0;
}
#define uv_signal_start(sig, cb, num) ((void)(sig), (void)(cb), (void)(num), no_signal())
#include "noded/daemon.c"
#undef uv_signal_start

#include "base/timefmt.h"
#include "model/tx.h" /* SET() */
#include "stepd/shared/ctl.h"
#include "stepd/io/bcastwrite.h"
#include "stepd/shared/stepd_spawn.h"
#include "play.h"

#define STEPS_MAX 64u
#define INPUT_MAX 8192u
#define CHILDREN_MAX 32u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t clock_us;
static char dir[64], conf_file[96], key_file[96];
static Pst__NodeRecord *machine; /* looked at once: that takes long */

static struct child {
    pid_t pid; /* 0: none */
    int ctl;   /* the step daemon's end; -1: another program */
} children[CHILDREN_MAX];
static pid_t last_pid;

/* ---- the machine ----------------------------------------------------------------------------- */

int64_t __wrap_now_us(void);
int64_t __wrap_now_mono_us(void);
int __wrap_kill(pid_t pid, int sig);
int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *fa,
                       const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
int __wrap_stepd_spawn(const char *exe, const Pst__StepFile *sf, int srun_fd, int ns_fd,
                       int ns_pid_fd, pid_t *ret_pid, int *ret_ctl);
int __wrap_bcast_spawn(const struct bcast_start *b, pid_t *ret_pid);
int __wrap_hw_record(const struct noded *d, Pst__NodeRecord **ret_record);
int __real_hw_record(const struct noded *d, Pst__NodeRecord **ret_record);
Pst__Processors *__wrap_hw_processors(const struct noded *d);
int __wrap_constrain_begin(struct noded *d, struct err *err);

/* What is stood in for has the type of the real thing. */
_Static_assert(__builtin_types_compatible_p(__typeof__(stepd_spawn),
                                            __typeof__(__wrap_stepd_spawn)) &&
                   __builtin_types_compatible_p(__typeof__(bcast_spawn),
                                                __typeof__(__wrap_bcast_spawn)),
               "a prototype has changed");

int64_t __wrap_now_us(void)
{
    return INT64_C(1790000000) * USEC_PER_SEC + clock_us;
}

int64_t __wrap_now_mono_us(void)
{
    return 1000 * USEC_PER_SEC + clock_us;
}

int __wrap_kill(pid_t pid, int sig)
{
    (void)pid;
    (void)sig;
    return 0;
}

/* -EAGAIN: too many. */
static int new_child(int ctl, pid_t *ret_pid)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        if (children[i].pid)
            continue;
        children[i] = (struct child){ .pid = ++last_pid, .ctl = ctl };
        *ret_pid = last_pid;
        return 0;
    }
    return -EAGAIN;
}

int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *fa,
                       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    size_t len = strlen(path);

    (void)fa;
    (void)attr;
    for (size_t i = 0; argv[i]; i++)
        len += strlen(argv[i]);
    for (size_t i = 0; envp[i]; i++)
        len += strlen(envp[i]);
    assert(len); /* all of it can be read */
    return -new_child(-1, pid);
}

int __wrap_stepd_spawn(const char *exe, const Pst__StepFile *sf, int srun_fd, int ns_fd,
                       int ns_pid_fd, pid_t *ret_pid, int *ret_ctl)
{
    size_t len = protobuf_c_message_get_packed_size(&sf->base);
    _cleanup_free_ uint8_t *packed = malloc(len + 1);
    int sv[2], r;

    (void)srun_fd;
    (void)ns_fd;
    (void)ns_pid_fd;
    assert(packed && exe[0]);
    (void)protobuf_c_message_pack(&sf->base, packed); /* what it is told can be read */
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv) < 0)
        return -errno;
    r = new_child(sv[1], ret_pid);
    if (r < 0) {
        (void)close(sv[0]);
        (void)close(sv[1]);
        return r;
    }
    *ret_ctl = sv[0];
    return 0;
}

int __wrap_bcast_spawn(const struct bcast_start *b, pid_t *ret_pid)
{
    assert(b->exe[0] && b->kind[0] && b->dir[0] && b->fd >= 0);
    assert(protobuf_c_message_get_packed_size(&b->file->base));
    return new_child(-1, ret_pid);
}

int __wrap_hw_record(const struct noded *d, Pst__NodeRecord **ret_record)
{
    ProtobufCMessage *copy = NULL;
    int r = machine ? 0 : __real_hw_record(d, &machine);

    if (r == 0)
        r = pb_dup(&machine->base, &copy);
    if (r == 0)
        *ret_record = PB_AS(node_record, copy);
    return r;
}

Pst__Processors *__wrap_hw_processors(const struct noded *d)
{
    (void)d;
    return NULL;
}

int __wrap_constrain_begin(struct noded *d, struct err *err)
{
    (void)d;
    (void)err;
    return 0;
}

/* ---- the controller's connection ------------------------------------------------------------- */

struct dialer {
    struct dialer_hooks hooks;
    void *ctx;
    bool up;
    uint32_t last_id;
};

static struct dialer the_dialer;

int dialer_new(uv_loop_t *loop, const struct client_target *targets, size_t n, uid_t slurm_uid,
               const struct dialer_hooks *hooks, void *ctx, struct dialer **ret_dialer)
{
    (void)loop;
    (void)slurm_uid;
    assert(n && targets);
    the_dialer = (struct dialer){ .hooks = *hooks, .ctx = ctx };
    *ret_dialer = &the_dialer;
    return 0;
}

int dialer_set_targets(struct dialer *d, const struct client_target *targets, size_t n)
{
    (void)d;
    assert(n && targets);
    return 0;
}

void dialer_set_tls(struct dialer *d, struct tls_ctx *tls)
{
    (void)d;
    (void)tls;
}

void dialer_set_controller(struct dialer *d, const uint8_t *key, bool may_relearn)
{
    (void)d;
    (void)key;
    (void)may_relearn;
}

void dialer_start(struct dialer *d)
{
    d->up = true;
    d->hooks.on_up(d->ctx);
}

bool dialer_is_up(const struct dialer *d)
{
    return d->up;
}

int dialer_request(struct dialer *d, unsigned op, const ProtobufCMessage *msg, uint32_t *ret_id)
{
    uint8_t *buf;
    size_t len;
    int r = frame_pack(op, 0, ++d->last_id, 0, msg, &buf, &len);

    if (r < 0)
        return r;
    free(buf);
    if (ret_id)
        *ret_id = d->last_id;
    return 0;
}

void dialer_next(struct dialer *d, const char *why)
{
    assert(why);
    if (!d->up)
        return;
    d->up = false;
    d->hooks.on_down(d->ctx, why);
}

int dialer_reply(struct dialer *d, unsigned op, uint32_t id, const ProtobufCMessage *msg)
{
    (void)d;
    (void)op;
    (void)id;
    (void)msg;
    return 0;
}

int dialer_reply_error(struct dialer *d, unsigned op, uint32_t id, int code, const char *text)
{
    (void)d;
    (void)op;
    (void)id;
    assert(code && text);
    return 0;
}

void dialer_drop(struct dialer *d, const char *why)
{
    (void)why;
    d->up = false;
}

void dialer_close(struct dialer *d)
{
    d->up = false;
}

/* ---- slurmd ---------------------------------------------------------------------------------- */

static const struct role roles[] = { { (uid_t)-1, "srun" }, { 0, "srun" }, { 2, "sattach" } };

#define JOB                                                                                        \
    "'job':{'job':{'job_id':1,'uid':2,'gid':2,'work_dir':'/"                                       \
    "tmp','alloc':{'nodes':'n1'}},'run_id':7,"                                                     \
    "'node_name':'n1','cluster_name':'test'}"

static struct sample samples[] = {
    { OP_LAUNCH_BATCH, "{" JOB ",'script':'IyEvYmluL3NoCg=='}" },
    { OP_PREPARE_JOB, "{" JOB "}" },
    { OP_SIGNAL_STEPS, "{'job_id':1,'run_id':7,'signal':15}" },
    { OP_TERMINATE_JOB, "{'job_id':1,'run_id':7,'kill_wait_s':1}" },
    { OP_LAUNCH_ASYNC, "{'node_name':'n1','task_ids':[0]}" },
    { OP_NODE_HEALTH, "{}" },
    { OP_NODE_RECONFIGURE, "{}" },
    { OP_NODE_CONFIGURE, "{}" },
    { OP_NODE_REBOOT_NOW, "{'features':'a,b'}" },
};

/* What commands send, without the credential. */
static struct sample asked[] = {
    { OP_LAUNCH_STEP,
      "{'node_name':'n1','node_index':0,'task_ids':[0],'argv':['true'],'work_dir':'/tmp'}" },
    { OP_ATTACH_STEP, "{'node_name':'n1'}" },
    { OP_STAT_STEP, "{'node_name':'n1'}" },
    { OP_TAIL_OUTPUT, "{'node_name':'n1','most':4096}" },
    { OP_BCAST_OPEN, "{'node_name':'n1','path':'/tmp/x'}" },
    { OP_RELAY, "{'nodes':[{'name':'n1'}]}" },
};

struct run {
    struct noded d;
    struct noded_options opt;
    struct play play;
    struct auth_keys *keys;
};

static struct run *now_running;

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert(f);
    fputs(text, f);
    assert(fclose(f) == 0);
}

static void tidy_up(void)
{
    char *argv[] = { (char *)"rm", (char *)"-rf", dir, NULL }, *none[] = { NULL };

    if (fork() == 0) {
        (void)execve("/bin/rm", argv, none);
        _exit(127);
    }
}

static void set_up(void)
{
    char text[1024];
    struct err err;
    int r;

    if (dir[0])
        return;
    (void)snprintf(dir, sizeof(dir), "%s/penstock-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    r = mkdtemp(dir) ? 0 : -errno;
    assert(r == 0);
    (void)atexit(tidy_up);
    (void)snprintf(conf_file, sizeof(conf_file), "%s/slurm.conf", dir);
    (void)snprintf(key_file, sizeof(key_file), "%s/slurm.key", dir);
    (void)snprintf(
        text, sizeof(text),
        "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmUser=root\nSlurmdSpoolDir=%s/"
        "spool\n"
        "SlurmdPidFile=%s/pid\nSlurmdDebug=quiet\nStateSaveLocation=%s\nProctrackType=proctrack/"
        "linuxproc\n"
        "Prolog=/bin/true\nEpilog=/bin/true\nHealthCheckProgram=/bin/true\nRebootProgram=/bin/"
        "true\n"
        "NodeName=n1 NodeHostname=localhost CPUs=4 RealMemory=1000\nPartitionName=p Nodes=n1\n",
        dir, dir, dir);
    write_file(conf_file, text);
    r = auth_keys_create(key_file, &err);
    assert(r == 0);
    play_encode(samples, ARRAY_SIZE(samples));
    play_encode(asked, ARRAY_SIZE(asked));
}

/* prepare_daemon() without what belongs to a process of its own. */
static void begin(struct run *run)
{
    struct noded *d = &run->d;
    struct err err = { .text = "" };
    int r;

    run->opt = (struct noded_options){ .common = { .conf_path = conf_file, .foreground = true },
                                       .node_name = "n1" };
    d->on = &noded_events;
    d->opt = &run->opt;
    d->conf_file = strdup(conf_file);
    r = load_conf(d, &d->conf, &err);
    if (r == 0)
        r = pick_node(d, &err);
    if (r == 0)
        r = expand_paths(d);
    if (r == 0)
        r = make_spool(d, &err);
    (void)snprintf(d->stepd_exe, sizeof(d->stepd_exe), "/bin/true");
    if (r == 0)
        r = hw_gres(d, &d->gres);
    if (r == 0)
        r = hw_record(d, &d->hardware);
    if (r == 0)
        r = auth_keys_load(key_file, &run->keys, &err);
    if (r == 0)
        r = prepare_daemon(d, &err);
    if (r < 0)
        fprintf(stderr, "slurmd: %s\n", err.text);
    assert(r == 0);
    assert(d->keys);
    play_connect(&run->play);
    report_start(d->reporter);
}

static void turn(struct run *run)
{
    for (unsigned i = 0; i < 3; i++) {
        (void)uv_run(&run->d.loop, UV_RUN_NOWAIT);
        (void)fake_turn();
    }
}

static void end(struct run *run)
{
    struct noded *d = &run->d;

    play_close(&run->play);
    jobs_each(&d->jobs, drop_job, d);
    d->scripts = scripts_free(d->scripts);
    close_handles(d);
    (void)uv_run(&d->loop, UV_RUN_DEFAULT);
    play_forget(&run->play);
    assert(uv_loop_close(&d->loop) == 0);
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        if (children[i].pid && children[i].ctl >= 0)
            (void)close(children[i].ctl);
        children[i].pid = 0;
    }
    release_daemon(d);
    run->keys = auth_keys_free(run->keys);
}

/* A connection that was handed to slurmd: its other end says no more. */
static int detach(struct conn *c)
{
    int sv[2], r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv);

    (void)c;
    assert(r == 0);
    (void)close(sv[1]);
    return sv[0];
}

/* ---- steps ----------------------------------------------------------------------------------- */

static uint64_t live(void *ctx, unsigned choice)
{
    static const uint64_t values[] = { 1, 7, 2, 0, STEP_ID_BATCH, STEP_ID_EXTERN, 3, 8 };

    (void)ctx;
    return values[choice % ARRAY_SIZE(values)];
}

static void from_controller(struct run *run, unsigned op, uint32_t flags, const struct strbuf *body)
{
    struct frame f = { .version = WIRE_VERSION,
                       .op = (uint16_t)op,
                       .flags = flags,
                       .id = 1,
                       .len = (uint32_t)body->len };
    uint8_t *copy = malloc(body->len + 1);

    (void)run;
    assert(copy);
    memcpy(copy, strbuf_str(body), body->len);
    f.body = copy;
    if (the_dialer.up && !(flags & FRAME_REPLY) &&
        access_role(ACCESS_SLURMD, op) == ACCESS_CONTROLLER) /* as dialer.c asks */
        the_dialer.hooks.on_request(the_dialer.ctx, &f);
    else if (the_dialer.up && flags & FRAME_REPLY)
        the_dialer.hooks.on_reply(the_dialer.ctx, script_u8(&now_running->play.script) & 15,
                                  flags & FRAME_ERROR ? -EREMOTEIO : 0, &f);
    free(copy);
}

static void order(struct run *run)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct script *s = &run->play.script;
    const struct sample *sample = &samples[script_u8(s) % ARRAY_SIZE(samples)];

    strbuf_addn(&body, strbuf_str(&sample->body), sample->body.len);
    script_fields(s, wire_op_info(sample->op)->request, 0, &body);
    from_controller(run, sample->op, 0, &body);
}

static void any_order(struct run *run)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct script *s = &run->play.script;
    unsigned op = script_op(s);
    uint32_t flags = script_flags(s);
    struct frame look = { .op = (uint16_t)op, .flags = flags };

    script_message(s, frame_message(&look), NULL, &body);
    from_controller(run, op, flags, &body);
}

/* The controller's answer to a report or the registration. */
static void answer(struct run *run)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    unsigned how = script_u8(&run->play.script);

    from_controller(run, how & 1 ? OP_NODE_REGISTER : OP_NODE_REPORT,
                    FRAME_REPLY | (how & 2 ? FRAME_ERROR : 0), &body);
}

/* The controller's word on what the script says. */
static void sign(struct run *run, Pst__CredPurpose purpose, struct peer *peer,
                 struct strbuf *ret_signed)
{
    _cleanup_val_(strbuf_done) struct strbuf cred = STRBUF_INIT;
    Pst__SignedCredential sc = PST__SIGNED_CREDENTIAL__INIT;
    Pst__StepCredential c = PST__STEP_CREDENTIAL__INIT;
    Pst__StepRecord step = PST__STEP_RECORD__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    uint8_t mac[AUTH_MAC_SIZE];
    const char *kid = NULL;
    size_t len;

    alloc.nodes = (char *)"n1";
    SET(&job, job_id, 1);
    job.alloc = step.alloc = &alloc;
    SET(&step, num_tasks, 4);
    SET(&c, job_id, 1);
    SET(&c, step_id, script_u8(&run->play.script) & 3);
    SET(&c, run_id, 7);
    SET(&c, uid, 2);
    SET(&c, gid, 2);
    SET(&c, expires_us, now_us() + 60 * USEC_PER_SEC);
    SET(&c, purpose, purpose);
    c.job = &job;
    c.step = &step;
    len = pst__step_credential__get_packed_size(&c);
    (void)pst__step_credential__pack(&c, (uint8_t *)strbuf_room(&cred, len + 1));
    strbuf_grew(&cred, len);
    script_fields(&run->play.script, &pst__step_credential__descriptor, 0, &cred);
    if (auth_sign(run->keys, strbuf_str(&cred), cred.len, mac, &kid) < 0)
        return;
    peer->method =
        PST__AUTH_METHOD__AUTH_STEP; /* the server has seen that he has the key that came with it */
    memcpy(peer->step_mac, mac, sizeof(mac));
    sc.has_credential = sc.has_mac = true;
    sc.credential.data = (uint8_t *)(uintptr_t)strbuf_str(&cred); /* only packed */
    sc.credential.len = cred.len;
    sc.mac.data = mac;
    sc.mac.len = sizeof(mac);
    sc.key_id = (char *)(uintptr_t)kid;
    len = pst__signed_credential__get_packed_size(&sc);
    (void)pst__signed_credential__pack(&sc, (uint8_t *)strbuf_room(ret_signed, len + 1));
    strbuf_grew(ret_signed, len);
}

static void again(struct run *run, size_t i)
{
    fake_close(run->play.conns[i]);
    (void)conn_unref(run->play.conns[i]);
    run->play.conns[i] = fake_conn_new(roles[i].uid, roles[i].uid, "localhost", roles[i].program);
}

static void command(struct run *run)
{
    static const Pst__CredPurpose purposes[] = {
        PST__CRED_PURPOSE__CRED_LAUNCH, PST__CRED_PURPOSE__CRED_ATTACH,
        PST__CRED_PURPOSE__CRED_STAT,   PST__CRED_PURPOSE__CRED_OUTPUT,
        PST__CRED_PURPOSE__CRED_BCAST,  PST__CRED_PURPOSE__CRED_LAUNCH,
    };
    _Static_assert(ARRAY_SIZE(purposes) == ARRAY_SIZE(asked), "each has its purpose");
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT, cred = STRBUF_INIT,
                                             inner = STRBUF_INIT;
    struct script *s = &run->play.script;
    size_t i = script_u8(s) % ARRAY_SIZE(asked), who = script_u8(s) % ARRAY_SIZE(roles);
    const ProtobufCFieldDescriptor *f;

    sign(run, purposes[i], &run->play.conns[who]->peer, &cred);
    strbuf_addn(&body, strbuf_str(&asked[i].body), asked[i].body.len);
    f = protobuf_c_message_descriptor_get_field_by_name(wire_op_info(asked[i].op)->request,
                                                        "credential");
    if (f) {
        script_delimited(&body, f->id, &cred);
    } else { /* a relay: it is its launch's */
        strbuf_addn(&inner, strbuf_str(&asked[0].body), asked[0].body.len);
        script_delimited(&inner, 1, &cred);
        f = protobuf_c_message_descriptor_get_field_by_name(&pst__relay_open__descriptor, "launch");
        script_delimited(&body, f->id, &inner);
    }
    script_fields(s, wire_op_info(asked[i].op)->request, 0, &body);
    play_arrive(&run->play, run->play.conns[who], asked[i].op, 0, &body);
    again(run, who);
}

static void any_frame(struct run *run)
{
    play_any(&run->play);
    again(run, 0);
}

static struct child *a_child(struct run *run)
{
    struct child *c = &children[script_u8(&run->play.script) % CHILDREN_MAX];

    for (size_t i = 0; i < CHILDREN_MAX && !c->pid; i++)
        c = &children[i];
    return c->pid ? c : NULL;
}

/* What a step daemon says: it is ours, but tells what tasks and srun did. */
static void news(struct run *run)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct child *c = a_child(run);
    uint8_t dump[8192];

    if (!c || c->ctl < 0)
        return;
    strbuf_addc(&body, 1);
    script_message(&run->play.script, &pst__step_news__descriptor, NULL, &body);
    while (recv(c->ctl, dump, sizeof(dump), MSG_DONTWAIT) > 0)
        ;
    (void)!send(c->ctl, strbuf_str(&body), body.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void child_ends(struct run *run)
{
    struct child *c = a_child(run);
    unsigned status = script_u8(&run->play.script);

    if (!c)
        return;
    if (c->ctl >= 0)
        (void)close(c->ctl);
    status = status < 160 ? 0 : status < 200 ? (status - 159) << 8 : status & 15;
    if (!scripts_child_exited(&run->d, c->pid, (int)status) &&
        !siteprog_child_exited(&run->d, c->pid, (int)status) &&
        !helpers_child_exited(&run->d, c->pid, (int)status))
        steps_child_exited(&run->d, c->pid, (int)status);
    c->pid = 0;
}

static void line(struct run *run)
{
    (void)run;
    the_dialer.up = !the_dialer.up;
    if (the_dialer.up)
        the_dialer.hooks.on_up(the_dialer.ctx);
    else
        the_dialer.hooks.on_down(the_dialer.ctx, "gone");
}

static void time_passes(struct run *run)
{
    play_time(&run->play, &clock_us);
}

static void take_step(struct run *run)
{
    static void (*const kinds[])(struct run * run) = {
        order, order,      order,      command, command, any_order, any_frame,   news,
        news,  child_ends, child_ends, answer,  answer,  line,      time_passes, order,
    };

    kinds[script_u8(&run->play.script) % ARRAY_SIZE(kinds)](run);
    turn(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run *run;

    if (size > INPUT_MAX)
        return 0;
    log_set_level(LOG_QUIET);
    set_up();
    run = calloc(1, sizeof(*run));
    assert(run);
    now_running = run;
    run->play = (struct play){
        .roles = roles,
        .n_roles = ARRAY_SIZE(roles),
        .script = { .at = data, .left = size, .now_us = __wrap_now_us, .live = live }
    };
    clock_us = 0;
    last_pid = 1000000;
    fake_detach = detach;
    begin(run);
    for (unsigned i = 0; i < STEPS_MAX && run->play.script.left && !run->d.stopping; i++)
        take_step(run);
    (void)spool_scan(run->d.spool, drop_entry, &run->d); /* the next input finds none */
    end(run);
    free(run);
    return 0;
}
