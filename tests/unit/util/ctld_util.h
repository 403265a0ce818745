/* ctld_util.h - a real slurmctld in a directory of its own, requests as JSON, and nodes played by
 * the test
 *
 * Single quotes stand for double ones in every JSON text here.  The daemon is looked for beside
 * this program's build folder, or is PENSTOCK_SLURMCTLD. */
#pragma once

#include "model_util.h"
#include "json_util.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "wire/client.h"
#include "wire/errors.h"

#define DEADLINE_US (60 * SEC)
#define STRANGER 12345u /* a uid that is no administrator's */

extern char **environ;

struct daemon {
    char dir[64], conf[96];
    char exe[PATH_MAX];
    uint16_t port;
    pid_t pid;
    struct client *client; /* ours, an administrator's */
    char text[1024];       /* of the last refusal */
};

/* ---- what a failed test leaves --------------------------------------------------------------- */

static struct left {
    char dir[64];
    pid_t pid;
} left[8];
static bool left_registered;

UTIL void remove_dir(int parent, const char *name);

UTIL void clean_up(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
        if (left[i].pid > 0) {
            (void)kill(left[i].pid, SIGKILL);
            (void)waitpid(left[i].pid, NULL, 0);
        }
        if (left[i].dir[0])
            remove_dir(AT_FDCWD, left[i].dir);
        left[i] = (struct left){ 0 };
    }
}

/* The row of dir, or a free one. */
UTIL struct left *left_of(const char *dir)
{
    for (size_t i = 0; i < ARRAY_SIZE(left); i++)
        if (strcmp(left[i].dir, dir) == 0)
            return &left[i];
    return left_of("");
}

/* ---- the daemon ------------------------------------------------------------------------------ */

UTIL void find_daemon(struct daemon *d)
{
    const char *given = getenv("PENSTOCK_SLURMCTLD");
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    assert_true(n > 0);
    self[n] = '\0';
    slash = strrchr(self, '/');
    *slash = '\0';
    if (given)
        (void)snprintf(d->exe, sizeof(d->exe), "%s", given);
    else
        (void)snprintf(d->exe, sizeof(d->exe), "%.*s/../../src/ctld/slurmctld", PATH_MAX - 64,
                       self);
    if (access(d->exe, X_OK) < 0)
        print_error("# %s: %s\n", d->exe, strerror(errno));
    assert_int_equal(access(d->exe, X_OK), 0);
}

UTIL uint16_t free_port(void)
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

/* extra: lines that come before nodes and partitions. */
UTIL void write_conf(struct daemon *d, const char *extra, const char *nodes_and_parts)
{
    char buf[4096];
    struct passwd pw, *me = NULL;
    FILE *f = fopen(d->conf, "we");

    assert_non_null(f);
    (void)getpwuid_r(geteuid(), &pw, buf, sizeof(buf), &me);
    assert_non_null(me);
    fprintf(
        f,
        "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=%u\nSlurmUser=%s\n"
        "StateSaveLocation=%s/state\nSlurmctldPidFile=%s/pid\nSlurmctldLogFile=%s/log\n"
        "SlurmctldDebug=verbose\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
        "ProctrackType=proctrack/linuxproc\nGresTypes=gpu\nDefMemPerCPU=100\n%s\n%s\n",
        d->port, me->pw_name, d->dir, d->dir, d->dir, extra, nodes_and_parts);
    assert_int_equal(fclose(f), 0);
}

UTIL int daemon_new(struct daemon *d)
{
    *d = (struct daemon){ .pid = -1 };
    find_daemon(d);
    (void)snprintf(d->dir, sizeof(d->dir), "/tmp/penstock-ctld-XXXXXX");
    assert_non_null(mkdtemp(d->dir));
    if (!left_registered)
        left_registered = atexit(clean_up) == 0;
    (void)snprintf(left_of(d->dir)->dir, sizeof(d->dir), "%s", d->dir);
    assert_int_equal(chmod(d->dir, 0755), 0);
    (void)snprintf(d->conf, sizeof(d->conf), "%s/slurm.conf", d->dir);
    d->port = free_port();
    return 0;
}

UTIL struct client_target target_of(const struct daemon *d)
{
    return (struct client_target){ .host = "127.0.0.1",
                                   .port = d->port,
                                   .try_local = true,
                                   .cluster = "test",
                                   .timeout_ms = (int)(DEADLINE_US / 1000),
                                   .program = "test" };
}

/* A connection as `uid`, which root alone may ask for; NULL when there is no daemon. */
UTIL struct client *connect_as(const struct daemon *d, uid_t uid)
{
    struct client_target target = target_of(d);
    struct client *c = NULL;
    uid_t me = geteuid();
    int r;

    if (uid != me)
        assert_int_equal(seteuid(uid), 0);
    r = client_connect(&target, me, &c, NULL);
    if (uid != me)
        assert_int_equal(seteuid(me), 0);
    return r < 0 ? NULL : c;
}

UTIL void show_log(const struct daemon *d)
{
    char path[96], line[512];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/out", d->dir);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        print_error("# %s", line);
    if (f)
        (void)fclose(f);
}

/* failpoints: NULL or as PENSTOCK_FAILPOINT; option: one more argument, or NULL. */
UTIL void daemon_start(struct daemon *d, const char *failpoints, const char *option)
{
    char out[96];
    char *argv[] = {
        (char *)"slurmctld", (char *)"-D", (char *)"-f", d->conf, (char *)option, NULL
    };
    posix_spawn_file_actions_t fa;
    int64_t until = now_mono_us() + DEADLINE_US;

    (void)snprintf(out, sizeof(out), "%s/out", d->dir);
    if (failpoints)
        (void)setenv("PENSTOCK_FAILPOINT", failpoints, 1);
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 1, out, O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&fa, 1, 2);
    assert_int_equal(posix_spawn(&d->pid, d->exe, &fa, NULL, argv, environ), 0);
    left_of(d->dir)->pid = d->pid;
    posix_spawn_file_actions_destroy(&fa);
    (void)unsetenv("PENSTOCK_FAILPOINT");
    while (!(d->client = connect_as(d, geteuid()))) {
        int status;

        if (waitpid(d->pid, &status, WNOHANG) == d->pid || now_mono_us() > until) {
            show_log(d);
            d->pid = -1;
            fail();
        }
        (void)poll(NULL, 0, 5); /* between two questions */
    }
}

/* Gives the wait status. */
UTIL int daemon_stop(struct daemon *d, int sig)
{
    int status = 0;

    d->client = client_free(d->client);
    if (d->pid < 0)
        return 0;
    (void)kill(d->pid, sig);
    assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
    left_of(d->dir)->pid = 0;
    d->pid = -1;
    if (sig == SIGTERM && status != 0)
        show_log(d);
    return status;
}

UTIL void daemon_free(struct daemon *d)
{
    (void)daemon_stop(d, SIGKILL);
    remove_dir(AT_FDCWD, d->dir);
    *left_of(d->dir) = (struct left){ 0 };
}

#include <dirent.h>
UTIL void remove_dir(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, e->d_name, 0) < 0)
            remove_dir(fd, e->d_name);
    }
    if (dir)
        (void)closedir(dir);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Code of the answer, 0 when there was none; d->text has the sentence.  *ret may be NULL. */
UTIL int call_as(struct daemon *d, struct client *c, unsigned op, const ProtobufCMessage *req,
                 ProtobufCMessage **ret)
{
    int r = client_call(c, op, req, ret);
    const char *text = NULL;
    int code;

    d->text[0] = '\0';
    if (r == 0)
        return 0;
    if (r != -EREMOTEIO) {
        print_error("# op %u: %s\n", op, client_strerror(c, r));
        show_log(d);
        fail();
    }
    code = client_error(c, &text);
    (void)snprintf(d->text, sizeof(d->text), "%s", text ? text : slurm_err_text(code));
    return code;
}

UTIL int ask(struct daemon *d, struct client *c, unsigned op, const char *json,
             ProtobufCMessage **ret)
{
    ProtobufCMessage *req = from_json(wire_op_info(op)->request, json);
    int code = call_as(d, c, op, req, ret);

    protobuf_c_message_free_unpacked(req, NULL);
    return code;
}

/* A submission: what the JSON leaves out is a small batch job's. */
UTIL int submit_as(struct daemon *d, struct client *c, const char *json, uint32_t *ret_id)
{
    static const char script[] = "#!/bin/sh\n";
    Pst__SubmitRequest *req =
        (Pst__SubmitRequest *)from_json(&pst__submit_request__descriptor, json);
    ProtobufCMessage *reply = NULL;
    int code;

    if (req->job && !req->job->has_batch)
        SET(req->job, batch, true);
    if (req->job && !req->job->work_dir)
        req->job->work_dir = tx_strdup("/tmp");
    if (!req->has_script) {
        req->has_script = 1;
        req->script.len = sizeof(script) - 1;
        req->script.data = (uint8_t *)tx_strdup(script);
    }
    code = call_as(d, c, OP_JOB_SUBMIT, &req->base, &reply);
    if (code == 0 && ret_id)
        *ret_id = ((Pst__SubmitReply *)reply)->job_id;
    if (reply)
        protobuf_c_message_free_unpacked(reply, NULL);
    protobuf_c_message_free_unpacked(&req->base, NULL);
    return code;
}

UTIL uint32_t submit(struct daemon *d, const char *json)
{
    uint32_t id = 0;
    int code = submit_as(d, d->client, json, &id);

    if (code != 0)
        print_error("# %s: %d %s\n", json, code, d->text);
    assert_int_equal(code, 0);
    return id;
}

/* Code of the first result of an action or update, which concerns `id`; fmt: the request, "%s" for
 * the id. */
UTIL int on_job_as(struct daemon *d, struct client *c, unsigned op, const char *id,
                   const char *fmt_rest)
{
    char json[2048];
    ProtobufCMessage *reply = NULL;
    Pst__JobActionReply *r;
    int code;

    (void)snprintf(json, sizeof(json), "{'ids':['%s'],%s}", id, fmt_rest);
    code = ask(d, c, op, json, &reply);
    if (code != 0)
        return code;
    r = (Pst__JobActionReply *)reply;
    for (size_t i = 0; i < r->n_results && code == 0; i++)
        code = r->results[i]->code;
    protobuf_c_message_free_unpacked(reply, NULL);
    return code;
}

UTIL const char *id_text(uint32_t id)
{
    static char text[4][16];
    static unsigned turn;
    char *t = text[turn++ % 4];

    (void)snprintf(t, sizeof(text[0]), "%u", id);
    return t;
}

UTIL int act_as(struct daemon *d, struct client *c, const char *id, const char *verb)
{
    char rest[256];

    (void)snprintf(rest, sizeof(rest), "'verb':'VERB_%s'", verb);
    return on_job_as(d, c, OP_JOB_ACTION, id, rest);
}

UTIL int act(struct daemon *d, uint32_t id, const char *verb)
{
    return act_as(d, d->client, id_text(id), verb);
}

UTIL int update_as(struct daemon *d, struct client *c, uint32_t id, const char *rest)
{
    return on_job_as(d, c, OP_JOB_UPDATE, id_text(id), rest);
}

UTIL int update(struct daemon *d, uint32_t id, const char *rest)
{
    return update_as(d, d->client, id, rest);
}

/* ---- queries --------------------------------------------------------------------------------- */

struct wanted {
    const ProtobufCMessageDescriptor *desc;
    const char *name; /* node or partition, NULL = the first record */
    uint32_t id, step;
    bool has_step;
    ProtobufCMessage *found;
    size_t n;
};

UTIL int take_batch(void *ctx, const struct frame *frame)
{
    struct wanted *w = ctx;
    ProtobufCMessage *msg = NULL;
    Pst__RecordBatch *b;

    assert_int_equal(frame_unpack(frame, frame_message(frame), &msg, NULL), 0);
    b = (Pst__RecordBatch *)msg;
    for (size_t i = 0; i < b->n_records; i++, w->n++) {
        ProtobufCMessage *rec =
            protobuf_c_message_unpack(w->desc, NULL, b->records[i].len, b->records[i].data);

        assert_non_null(rec);
        if (!w->found &&
            (w->desc != &pst__job_record__descriptor || !w->id ||
             ((Pst__JobRecord *)rec)->job_id == w->id) &&
            (!w->has_step || ((Pst__StepRecord *)rec)->step_id == w->step))
            w->found = rec;
        else
            protobuf_c_message_free_unpacked(rec, NULL);
    }
    protobuf_c_message_free_unpacked(msg, NULL);
    return 0;
}

UTIL ProtobufCMessage *query(struct daemon *d, unsigned op, struct wanted *w)
{
    Pst__QueryRequest req = PST__QUERY_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;

    if (w->id) {
        filter.job_ids = &w->id;
        filter.n_job_ids = 1;
        req.jobs = &filter;
    }
    req.names = (char *)w->name;
    assert_int_equal(client_stream(d->client, op, &req.base, take_batch, w), 0);
    return w->found;
}

/* NULL when it is not there; freed by the caller. */
UTIL Pst__JobRecord *get_job(struct daemon *d, uint32_t id)
{
    struct wanted w = { .desc = &pst__job_record__descriptor, .id = id };

    return (Pst__JobRecord *)query(d, OP_QUERY_JOBS, &w);
}

UTIL bool job_has(struct daemon *d, uint32_t id, const char *what)
{
    Pst__JobRecord *r = get_job(d, id);
    bool yes = r && json_has(&r->base, what);

    if (r)
        pst__job_record__free_unpacked(r, NULL);
    return yes;
}

#define assert_job(d, id, what)                                                                    \
    do {                                                                                           \
        Pst__JobRecord *aj_ = get_job((d), (id));                                                  \
        bool aj_ok_ = aj_ && json_has(&aj_->base, (what));                                         \
                                                                                                   \
        if (!aj_ok_) {                                                                             \
            char *aj_t_ = aj_ ? json_of(&aj_->base) : NULL;                                        \
                                                                                                   \
            print_error("# job %u: no %s in %s\n", (unsigned)(id), (what),                         \
                        aj_t_ ? aj_t_ : "(gone)");                                                 \
            free(aj_t_);                                                                           \
        }                                                                                          \
        if (aj_)                                                                                   \
            pst__job_record__free_unpacked(aj_, NULL);                                             \
        assert_true(aj_ok_);                                                                       \
    } while (0)

/* Wait until the job's record says so. */
#define wait_job(d, id, what)                                                                      \
    do {                                                                                           \
        int64_t wj_until_ = now_mono_us() + DEADLINE_US;                                           \
                                                                                                   \
        while (!job_has((d), (id), (what)) && now_mono_us() < wj_until_)                           \
            (void)poll(NULL, 0, 5); /* between two questions */                                    \
        assert_job((d), (id), (what));                                                             \
    } while (0)

UTIL bool named_has(struct daemon *d, unsigned op, const ProtobufCMessageDescriptor *desc,
                    const char *name, const char *what)
{
    struct wanted w = { .desc = desc, .name = name };
    ProtobufCMessage *rec = query(d, op, &w);
    bool yes = rec && json_has(rec, what);

    if (!yes) {
        _cleanup_free_ char *text = json_of(rec);

        print_error("# %s: no %s in %s\n", name, what, text);
    }
    if (rec)
        protobuf_c_message_free_unpacked(rec, NULL);
    return yes;
}

#define node_has(d, name, what)                                                                    \
    named_has((d), OP_QUERY_NODES, &pst__node_record__descriptor, (name), (what))
#define part_has(d, name, what)                                                                    \
    named_has((d), OP_QUERY_PARTITIONS, &pst__partition_record__descriptor, (name), (what))

/* *ret_lsn: the last record that the hash counts. */
UTIL uint64_t state_hash_at(struct daemon *d, uint64_t *ret_lsn)
{
    ProtobufCMessage *reply = NULL;
    uint64_t hash;

    assert_int_equal(ask(d, d->client, OP_PING, "{'want_hash':true}", &reply), 0);
    hash = ((Pst__PingReply *)reply)->state_hash;
    *ret_lsn = ((Pst__PingReply *)reply)->lsn;
    assert_int_not_equal(hash, 0);
    protobuf_c_message_free_unpacked(reply, NULL);
    return hash;
}

UTIL uint64_t state_hash(struct daemon *d)
{
    uint64_t lsn;

    return state_hash_at(d, &lsn);
}

/* ---- nodes, played here ---------------------------------------------------------------------- */

struct push { /* what the controller told the node */
    unsigned op;
    ProtobufCMessage *msg;
};

struct fake_node {
    struct daemon *d;
    struct client *c;
    const char *name;
    struct push pushes[4096];
    size_t first, n;
};

UTIL void node_free(struct fake_node *n)
{
    for (size_t i = n->first; i < n->n; i++)
        protobuf_c_message_free_unpacked(n->pushes[i].msg, NULL);
    n->c = client_free(n->c);
    free(n);
}

/* Read one frame; a push is kept.  1: it answers request `id` (*ret_code). */
UTIL int node_pump(struct fake_node *n, int timeout_ms, uint32_t id, int *ret_code)
{
    struct frame f;
    ProtobufCMessage *msg = NULL;
    int r = client_recv(n->c, timeout_ms, &f);

    if (r <= 0)
        return r;
    if (f.flags & FRAME_REPLY) {
        if (f.id != id)
            return 0;
        *ret_code = 0;
        if (f.flags & FRAME_ERROR) {
            assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, NULL), 0);
            *ret_code = ((Pst__Error *)msg)->code;
            protobuf_c_message_free_unpacked(msg, NULL);
        }
        return 1;
    }
    assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, NULL), 0);
    assert_true(n->n < ARRAY_SIZE(n->pushes));
    n->pushes[n->n++] = (struct push){ .op = f.op, .msg = msg };
    return 0;
}

UTIL int node_call(struct fake_node *n, unsigned op, const ProtobufCMessage *msg)
{
    uint32_t id = client_next_id(n->c);
    int64_t until = now_mono_us() + DEADLINE_US;
    int code = -1, r = 0;

    assert_int_equal(client_send(n->c, op, 0, id, msg), 0);
    while (r == 0 && now_mono_us() < until)
        r = node_pump(n, 1000, id, &code);
    if (r != 1)
        show_log(n->d);
    assert_int_equal(r, 1);
    return code;
}

/* running: JSON list of RunningStep, or NULL. */
UTIL struct fake_node *node_up(struct daemon *d, const char *name, const char *boot_id,
                               const char *running)
{
    struct fake_node *n = calloc(1, sizeof(*n));
    char json[1024];
    ProtobufCMessage *msg;

    assert_non_null(n);
    n->d = d;
    n->name = name;
    n->c = connect_as(d, geteuid());
    assert_non_null(n->c);
    (void)snprintf(
        json, sizeof(json),
        "{'node':{'name':'%s','cpus':8,'real_memory_mib':8000,'boot_id':'%s'},'running':%s}", name,
        boot_id, running ? running : "[]");
    msg = from_json(&pst__node_register__descriptor, json);
    assert_int_equal(node_call(n, OP_NODE_REGISTER, msg), 0);
    protobuf_c_message_free_unpacked(msg, NULL);
    return n;
}

/* The next message of this op about the job; others are left.  Freed by the caller. */
UTIL ProtobufCMessage *node_take(struct fake_node *n, unsigned op, uint32_t job_id)
{
    int64_t until = now_mono_us() + DEADLINE_US;
    size_t i = n->first;
    int code;

    for (;;) {
        for (; i < n->n; i++) {
            struct push *p = &n->pushes[i];
            uint32_t id = p->op == OP_LAUNCH_BATCH ? ((Pst__LaunchBatch *)p->msg)->job->job->job_id
                          : p->op == OP_TERMINATE_JOB ? ((Pst__TerminateJob *)p->msg)->job_id
                          : p->op == OP_SIGNAL_STEPS  ? ((Pst__SignalSteps *)p->msg)->job_id
                                                      : 0;
            ProtobufCMessage *msg = p->msg;

            if (p->op != op || id != job_id)
                continue;
            memmove(p, p + 1, (n->n - i - 1) * sizeof(*p));
            n->n--;
            return msg;
        }
        if (now_mono_us() > until)
            show_log(n->d);
        assert_true(now_mono_us() <= until);
        (void)node_pump(n, 100, 0, &code);
    }
}

/* The run of the job that was launched here, which is confirmed. */
UTIL uint64_t node_launched(struct fake_node *n, uint32_t job_id)
{
    Pst__LaunchBatch *launch = (Pst__LaunchBatch *)node_take(n, OP_LAUNCH_BATCH, job_id);
    uint64_t run = launch->job->run_id;
    char json[256];
    ProtobufCMessage *rep;

    (void)snprintf(json, sizeof(json), "{'launched':[{'job_id':%u,'step_id':%u,'run_id':%llu}]}",
                   job_id, STEP_BATCH, (unsigned long long)run);
    rep = from_json(&pst__node_report__descriptor, json);
    assert_int_equal(node_call(n, OP_NODE_REPORT, rep), 0);
    protobuf_c_message_free_unpacked(rep, NULL);
    protobuf_c_message_free_unpacked(&launch->base, NULL);
    return run;
}

UTIL int node_report(struct fake_node *n, const char *json)
{
    ProtobufCMessage *rep = from_json(&pst__node_report__descriptor, json);
    int code = node_call(n, OP_NODE_REPORT, rep);

    protobuf_c_message_free_unpacked(rep, NULL);
    return code;
}

/* The script of the run ended; clean: and nothing is left of the job here. */
UTIL int node_ended(struct fake_node *n, uint32_t job_id, uint32_t step_id, uint64_t run,
                    uint32_t status, bool clean)
{
    char json[256];

    (void)snprintf(
        json, sizeof(json),
        "{'ended':[{'job_id':%u,'step_id':%u,'run_id':%llu,'exit_status':%u,'node_clean':%s}]}",
        job_id, step_id, (unsigned long long)run, status, clean ? "true" : "false");
    return node_report(n, json);
}

UTIL int node_clean(struct fake_node *n, uint32_t job_id, uint64_t run)
{
    char json[128];

    (void)snprintf(json, sizeof(json), "{'clean':[{'job_id':%u,'run_id':%llu}]}", job_id,
                   (unsigned long long)run);
    return node_report(n, json);
}

/* ---- answers that come later ----------------------------------------------------------------- */

struct waiting { /* a client that asked and reads frames */
    struct client *c;
    uint32_t id;
};

UTIL struct waiting ask_async(struct daemon *d, unsigned op, const char *json)
{
    struct waiting w = { .c = connect_as(d, geteuid()) };
    ProtobufCMessage *req = from_json(wire_op_info(op)->request, json);

    assert_non_null(w.c);
    w.id = client_next_id(w.c);
    assert_int_equal(client_send(w.c, op, 0, w.id, req), 0);
    protobuf_c_message_free_unpacked(req, NULL);
    return w;
}

/* The next frame; its flags in *ret_flags. */
UTIL ProtobufCMessage *next_answer(struct waiting *w, uint32_t *ret_flags)
{
    ProtobufCMessage *msg = NULL;
    struct frame f;

    assert_int_equal(client_recv(w->c, (int)(DEADLINE_US / 1000), &f), 1);
    assert_int_equal(f.id, w->id);
    *ret_flags = f.flags;
    if (f.op == OP_JOB_SUBMIT &&
        !(f.flags & FRAME_ERROR)) /* who waits is told of the job's states */
        msg = protobuf_c_message_unpack(&pst__job_status__descriptor, NULL, f.len, f.body);
    else
        assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, NULL), 0);
    assert_non_null(msg);
    return msg;
}
