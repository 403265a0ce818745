/* instance.c - where a private cluster lives, what programs serve it, how to reach it */
#include "penstock/penstock.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "conf/conf.h"
#include "node.pb-c.h"
#include "session/dial.h"
#include "wire/client.h"
#include "wire/ops.h"
#include "wire/tls/tlsctx.h"

/* Folders of the programs, relative to our own: installed, and in the build tree. */
static const struct {
    const char *name, *places[3];
} programs[] = {
    { "slurmctld", { "../sbin/", "../ctld/", "" } },
    { "slurmd", { "../sbin/", "../noded/", "" } },
    { "slurmstepd", { "../sbin/", "../stepd/", "" } },
    { "penstock-emulate", { "../sbin/", "../emulate/", "" } },
    { "sbatch", { "", "../cli/", "" } },
    { "scontrol", { "", "../cli/", "" } },
    { "penstock", { "", "", "" } },
    { "penstock-kube", { "../sbin/", "../kube/", "" } },
    { "tour", { "../share/penstock/demo/", "", "" } },
};

static int own_folder(char *buf, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", buf, size - 1);
    char *slash;

    if (n < 0)
        return -errno;
    buf[n] = '\0';
    slash = strrchr(buf, '/');
    if (!slash)
        return -ENOENT;
    slash[1] = '\0';
    return 0;
}

int program_find(const char *name, char *buf, size_t size, struct err *err)
{
    char own[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX + 64], real[4096];
    int r = own_folder(own, sizeof(own));

    if (r < 0)
        return err_set(err, r, "cannot tell where this program is installed: %s", strerror(-r));
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        if (strcmp(programs[i].name, name) != 0)
            continue;
        for (size_t k = 0; k < ARRAY_SIZE(programs[i].places); k++) {
            (void)snprintf(path, sizeof(path), "%s%s%s", own, programs[i].places[k], name);
            if (access(path, R_OK | X_OK) == 0 && realpath(path, real) && strlen(real) < size) {
                (void)snprintf(buf, size, "%s", real);
                return 0;
            }
        }
    }
    return err_set(err, -ENOENT, "%s is not installed beside this program in %s", name, own);
}

int program_folder(const char *name, char *buf, size_t size)
{
    int r = program_find(name, buf, size, NULL);

    if (r == 0)
        *strrchr(buf, '/') = '\0'; /* absolute: has one */
    return r;
}

static int default_dir(char *buf, size_t size, struct err *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;

    if (state && *state == '/') {
        n = snprintf(buf, size, "%s/penstock/default", state);
    } else {
        if (!home || *home != '/') {
            const struct passwd *pw = getpwuid(getuid());

            home = pw ? pw->pw_dir : NULL;
        }
        if (!home)
            return err_set(err, -ENOENT, "no home folder is known: name one with --dir");
        n = snprintf(buf, size, "%s/.local/share/penstock/default", home);
    }
    if (n < 0 || (size_t)n >= size)
        return err_set(err, -ENAMETOOLONG, "the path of the home folder is too long");
    return 0;
}

static int absolute_path(const char *dir, char *buf, size_t size, struct err *err)
{
    char cwd[INSTANCE_PATH_MAX] = "";
    int n;

    if (*dir != '/' && !getcwd(cwd, sizeof(cwd)))
        return err_set(err, -errno, "cannot tell the current folder: %s", strerror(errno));
    n = snprintf(buf, size, "%s%s%s", cwd, *cwd ? "/" : "", dir);
    if (n < 0 || (size_t)n >= size)
        return err_set(err, -ENAMETOOLONG, "the folder's path is longer than %u bytes",
                       INSTANCE_PATH_MAX - 1);
    while (n > 1 && buf[n - 1] == '/')
        buf[--n] = '\0';
    return 0;
}

int instance_init(struct instance *in, const char *dir, struct err *err)
{
    int r;

    *in = (struct instance){ 0 };
    if (dir && !*dir)
        return err_set(err, -EINVAL, "--dir needs the name of a folder");
    r = dir ? absolute_path(dir, in->dir, sizeof(in->dir), err)
            : default_dir(in->dir, sizeof(in->dir), err);
    if (r < 0)
        return r;
    if (strpbrk(in->dir, " \t\n#%\"'\\$`"))
        return err_set(
            err, -EINVAL,
            "%s: blanks and the characters # %% \" ' \\ $ ` cannot stand in a path of slurm.conf",
            in->dir);
    (void)snprintf(in->conf, sizeof(in->conf), "%s/etc/slurm.conf", in->dir);
    return 0;
}

bool instance_exists(const struct instance *in)
{
    return access(in->conf, F_OK) == 0;
}

int instance_load(const struct instance *in, struct conf **ret_conf, struct err *err)
{
    if (!instance_exists(in))
        return err_set(err, -ENOENT, "there is no cluster in %s: start one with `penstock up`",
                       in->dir);
    return conf_load(in->conf, CONF_CLIENT, ret_conf, NULL, err);
}

int instance_connect(const struct conf *conf, int timeout_ms, struct client **ret_client,
                     struct err *err)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    struct dial d = { .conf = conf, .program = "penstock", .timeout_ms = timeout_ms, .tls = &tls };

    return dial_ctld_once(&d, ret_client, err);
}

int instance_connect_host(const struct conf *conf, size_t index, int timeout_ms,
                          struct client **ret_client, struct err *err)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    struct dial d = { .conf = conf, .program = "penstock", .timeout_ms = timeout_ms, .tls = &tls };

    return dial_ctld_host(&d, index, ret_client, err);
}

/* ---- where ---------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int journal_find(const char *dir, char *ret_dir)
{
    char path[INSTANCE_PATH_MAX + 32];

    if (strlen(dir) + sizeof("/state") > INSTANCE_PATH_MAX)
        return say_error("%s: the path is too long", dir);
    (void)snprintf(ret_dir, INSTANCE_PATH_MAX, "%s", dir);
    (void)snprintf(path, sizeof(path), "%s/journal", dir);
    if (is_folder(path))
        return STATUS_OK;
    if (errno == EACCES)
        return say_error("%s: %s: root and SlurmUser may read it", dir, strerror(EACCES));
    (void)snprintf(path, sizeof(path), "%s/state/journal", dir);
    if (!is_folder(path))
        return say_error("%s: there is no journal in it (StateSaveLocation is meant)", dir);
    (void)snprintf(ret_dir, INSTANCE_PATH_MAX, "%s/state", dir);
    return STATUS_OK;
}

int journal_of_site(char *ret_dir)
{
    const char *path = conf_default_path(), *state;
    struct err err = { .text = "" };
    struct conf *conf = NULL;
    int r;

    if (conf_load(path, CONF_CLIENT, &conf, NULL, &err) < 0)
        return say_error("%s", err.text);
    state = conf_str(conf, CONF_STATE_SAVE_LOCATION);
    r = state ? journal_find(state, ret_dir)
              : say_error("%s: it has no StateSaveLocation: name one with --state", path);
    conf_free(conf);
    return r;
}

/* ---- census ---------------------------------------------------------------------------------- */

static void count_node(struct census *sum, const ProtobufCBinaryData *rec)
{
    Pst__NodeRecord *n = pst__node_record__unpack(NULL, rec->len, rec->data);

    if (!n)
        return; /* a newer controller's; not counted as ready */
    sum->nodes++;
    if (n->state == PST__NODE_STATE__NODE_IDLE &&
        !(n->state_flags &
          ((1u << PST__NODE_FLAG__NODE_FLAG_DRAIN) |
           (1u << PST__NODE_FLAG__NODE_FLAG_NOT_RESPONDING) |
           (1u << PST__NODE_FLAG__NODE_FLAG_FAIL) | (1u << PST__NODE_FLAG__NODE_FLAG_INVALID_REG))))
        sum->nodes_ready++;
    pst__node_record__free_unpacked(n, NULL);
}

static void count_job(struct census *sum, const ProtobufCBinaryData *rec)
{
    Pst__JobRecord *j = pst__job_record__unpack(NULL, rec->len, rec->data);

    if (!j)
        return;
    if (j->state_flags & (1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING))
        sum->completing++;
    else if (j->state == PST__JOB_STATE__JOB_PENDING)
        sum->pending++;
    else if (j->state == PST__JOB_STATE__JOB_RUNNING || j->state == PST__JOB_STATE__JOB_SUSPENDED)
        sum->running++;
    pst__job_record__free_unpacked(j, NULL);
}

struct counting {
    struct census *sum;
    void (*count)(struct census *sum, const ProtobufCBinaryData *rec);
};

static int on_batch(void *ctx, const struct frame *frame)
{
    const struct counting *counting = ctx;
    Pst__RecordBatch *batch = pst__record_batch__unpack(NULL, frame->len, frame->body);

    if (!batch)
        return -EPROTO;
    for (size_t i = 0; i < batch->n_records; i++)
        counting->count(counting->sum, &batch->records[i]);
    pst__record_batch__free_unpacked(batch, NULL);
    return 0;
}

int instance_census(struct client *c, struct census *ret)
{
    Pst__QueryRequest req = PST__QUERY_REQUEST__INIT;
    struct census sum = { 0 };
    struct counting nodes = { &sum, count_node }, jobs = { &sum, count_job };
    int r = client_stream(c, OP_QUERY_NODES, &req.base, on_batch, &nodes);

    if (r == 0)
        r = client_stream(c, OP_QUERY_JOBS, &req.base, on_batch, &jobs);
    if (r == 0)
        *ret = sum;
    return r;
}
