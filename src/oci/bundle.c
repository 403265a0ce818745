/* bundle.c - the files around a container; see oci.h
 *
 * A task has a folder below the step's, SPOOL/task-RANK: the bundle that the runtime is given.  It
 * holds config.json, a batch script (which the container does not have), and the environment as a
 * file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "oci/oci.h"

#define SCRIPT "script"
#define SCRIPT_MAX (64u << 20)

static int no_memory(struct err *err)
{
    return err_nomem(err);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int read_file(const char *path, size_t max, struct strbuf *ret, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    ssize_t n = -1;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, -errno, "%.512s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "%.512s is not a file", path);
    while (ret->len <= max) {
        char *room = strbuf_room(ret, 65536);

        if (!room)
            return no_memory(err);
        n = read(fd, room, 65536);
        if (n <= 0)
            break;
        strbuf_grew(ret, (size_t)n);
    }
    if (n < 0)
        return err_set(err, -errno, "%.512s: %s", path, strerror(errno));
    if (ret->len > max)
        return err_set(err, -EFBIG, "%.512s is larger than %zu MiB", path, max >> 20);
    return 0;
}

/* A new file of the task's folder: whatever had its name goes. */
static int write_file(const struct oci *o, const char *name, const char *data, size_t len,
                      mode_t mode, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_close_ int fd = -1;

    if (asprintf(&path, "%s/%s", o->dir, name) < 0)
        return no_memory(err);
    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    while (fd >= 0 && len > 0) {
        ssize_t n = write(fd, data, len);

        if (n < 0)
            return err_set(err, -errno, "%.512s: %s", path, strerror(errno));
        data += n;
        len -= (size_t)n;
    }
    return fd < 0 ? err_set(err, -errno, "%.512s: %s", path, strerror(errno)) : 0;
}

static int make_dirs(char *path, struct err *err)
{
    for (char *p = path + 1;; p++) {
        char c = *p;

        if (c && c != '/')
            continue;
        *p = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST) {
            int r = err_set(err, -errno, "%.512s: %s", path, strerror(errno));

            *p = c;
            return r;
        }
        *p = c;
        if (!c)
            return 0;
    }
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* An option without a value is as if it were not there. */
static bool is_given(const char *option)
{
    return option && *option;
}

static int expand_option(const struct oci *o, const char *pattern, const char *dflt, char **ret)
{
    return oci_path(is_given(pattern) ? pattern : dflt, &o->vars, ret);
}

int oci_paths(struct oci *o, struct err *err)
{
    const Pst__OciTask *t = o->task;
    int r;

    o->vars = (struct oci_vars){ .argv = (const char *const *)o->argv,
                                 .node = t->node,
                                 .step = t->step,
                                 .user = t->user,
                                 .work_dir = t->work_dir,
                                 .job_id = t->job_id,
                                 .task = t->task,
                                 .uid = t->uid };
    o->bundle = realpath(o->plan->bundle, NULL);
    if (!o->bundle && !t->remove)
        return err_set(err, -errno, "%.512s: %s", o->plan->bundle, strerror(errno));
    o->vars.bundle = o->bundle ? o->bundle : o->plan->bundle;
    r = expand_option(o, o->plan->container_path, t->spool_dir, &o->spool);
    o->vars.spool_dir = o->spool;
    if (r == 0)
        r = expand_option(o, o->plan->mount_spool_dir, "/var/run/slurm", &o->mount_at);
    if (r == 0 && asprintf(&o->dir, "%s/task-%u", o->spool, t->task) < 0)
        r = -ENOMEM;
    if (r == 0 && o->plan->has_env_file && asprintf(&o->env_file, "%s/environ", o->dir) < 0)
        r = -ENOMEM;
    o->vars.env_file = o->env_file;
    if (r == 0)
        r = oci_env_filter(o->env, o->plan->env_exclude, &o->inner);
    if (r == 0)
        r = oci_env_filter(o->env, o->plan->runtime_env_exclude, &o->outer);
    if (r == 0 && !o->plan->ignore_config_json)
        o->vars.bundle = o->dir;
    return r < 0 ? no_memory(err) : 0;
}

/* ---- making it ------------------------------------------------------------------------------- */

static int write_env(const struct oci *o, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    bool lines = o->plan->env_file == 'n';

    for (char *const *v = o->inner; *v; v++) {
        if (lines && strchr(*v, '\n'))
            continue; /* it would read as two */
        strbuf_add(&sb, *v);
        strbuf_addc(&sb, lines ? '\n' : '\0');
    }
    return sb.failed ? no_memory(err)
                     : write_file(o, "environ", strbuf_str(&sb), sb.len, 0600, err);
}

/* The script is the node's; the container sees a copy. */
static int copy_script(struct oci *o, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    size_t len = strlen(o->mount_at);
    char *inside;
    int r = read_file(o->argv[0], SCRIPT_MAX, &sb, err);

    if (r == 0)
        r = write_file(o, SCRIPT, strbuf_str(&sb), sb.len, 0700, err);
    if (r < 0)
        return r;
    if (asprintf(&inside, "%s%s" SCRIPT, o->mount_at, o->mount_at[len - 1] == '/' ? "" : "/") < 0)
        return no_memory(err);
    free(o->argv[0]);
    o->argv[0] = inside;
    return 0;
}

static int rewrite_config(struct oci *o, struct err *err)
{
    const Pst__OciTask *t = o->task;
    bool mount = t->script || o->env_file;
    struct oci_edit e = { .argv = o->argv,
                          .env = o->inner,
                          .bundle = o->bundle,
                          .work_dir = t->work_dir,
                          .mount_from = o->dir,
                          .mount_at = mount ? o->mount_at : NULL,
                          .mounts = t->mounts,
                          .n_mounts = t->n_mounts,
                          .disable_hooks = o->plan->disable_hooks,
                          .uid = getuid(),
                          .gid = getgid(),
                          .terminal = t->terminal && o->plan->run };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_free_ char *path = NULL, *text = NULL;
    int r;

    if (asprintf(&path, "%s/config.json", o->bundle) < 0)
        return no_memory(err);
    r = read_file(path, OCI_CONFIG_MAX, &sb, err);
    if (r < 0)
        return r;
    if (t->script)
        r = copy_script(o, err);
    if (r < 0)
        return r;
    r = oci_config(strbuf_str(&sb), sb.len, &e, &text, &o->root, err);
    if (r < 0) {
        err_prefix(err, "%.512s", path);
        return r;
    }
    return write_file(o, "config.json", text, strlen(text), 0600, err);
}

int oci_make(struct oci *o, struct err *err)
{
    int r = make_dirs(o->dir, err);

    /* Another task of the step may have been the last for a moment, and have removed the folder
     * above. */
    for (int i = 0; r == -ENOENT && i < 100; i++)
        r = make_dirs(o->dir, err);
    if (r == 0 && o->env_file)
        r = write_env(o, err);
    if (r < 0)
        return r;
    if (o->plan->ignore_config_json) {
        o->vars.root = o->bundle;
        return 0;
    }
    r = rewrite_config(o, err);
    o->vars.root = o->root;
    return r;
}

void oci_remove(const struct oci *o)
{
    static const char *const files[] = { "config.json", "environ", SCRIPT };

    if (o->plan->disable_cleanup)
        return;
    for (size_t i = 0; o->dir && i < ARRAY_SIZE(files); i++) {
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path, "%s/%s", o->dir, files[i]) >= 0)
            (void)unlink(path);
    }
    if (o->dir && rmdir(o->dir) == 0 && is_given(o->plan->container_path))
        (void)rmdir(o->spool); /* it stays while other tasks are there */
}

void oci_done(struct oci *o)
{
    for (size_t i = 0; o->argv && o->argv[i]; i++)
        free(o->argv[i]);
    free(o->argv);
    free(o->inner);
    free(o->outer);
    free(o->bundle);
    free(o->spool);
    free(o->dir);
    free(o->env_file);
    free(o->mount_at);
    free(o->root);
}
