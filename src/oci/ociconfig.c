/* ociconfig.c - config.json of a bundle as a task needs it; see oci.h
 *
 * The command, the terminal and the working directory are the task's; its variables are added, and
 * what the task needs of the node is mounted.  The rest stays as the bundle has it: it is the
 * user's own, and the runtime judges it. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "oci/oci.h"

static void json_unref(json_t **j)
{
    json_decref(*j);
}
#define _cleanup_json_ __attribute__((cleanup(json_unref)))

/* Variables of the step and of its devices: the bundle cannot know better. */
static const char *const ours[] = { "SLURM",
                                    "PMI",
                                    "CUDA_VISIBLE_DEVICES=",
                                    "ROCR_VISIBLE_DEVICES=",
                                    "ZE_AFFINITY_MASK=",
                                    "GPU_DEVICE_ORDINAL=",
                                    "LISTEN_FDS=" };

static int no_memory(struct err *err)
{
    return err_nomem(err);
}

/* Member `key` of object o, made when missing.  The type must be that of `fresh`, which is
 * taken. */
static int get_member(json_t *o, const char *key, json_t *fresh, const char *where, json_t **ret,
                      struct err *err)
{
    json_t *j = json_object_get(o, key);

    if (!j) {
        if (json_object_set_new(o, key, fresh) < 0)
            return no_memory(err);
        *ret = fresh;
        return 0;
    }
    if (json_typeof(j) != json_typeof(fresh)) {
        int r = err_set(err, -EINVAL, "%s%s is not %s", where, key,
                        json_is_array(fresh) ? "a list" : "an object");

        json_decref(fresh);
        return r;
    }
    json_decref(fresh);
    *ret = j;
    return 0;
}

/* ---- process --------------------------------------------------------------------------------- */

static int set_args(json_t *process, char *const *argv, struct err *err)
{
    json_t *args = json_array();

    for (size_t i = 0; argv[i]; i++) {
        if (json_array_append_new(args, json_string(argv[i])) < 0) {
            json_decref(args);
            return err_set(err, -EILSEQ,
                           "argument %zu of the task is no text in UTF-8, the only one that "
                           "config.json can hold",
                           i);
        }
    }
    return json_object_set_new(process, "args", args) < 0 ? no_memory(err) : 0;
}

static bool is_ours(const char *var)
{
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        if (strncmp(var, ours[i], strlen(ours[i])) == 0)
            return true;
    return false;
}

/* Where a variable of that name stands in the list; its size when nowhere. */
static size_t find_var(const json_t *list, const char *var)
{
    size_t len = strcspn(var, "=") + 1, i;
    const json_t *item;

    json_array_foreach(list, i, item) if (strncmp(json_string_value(item), var, len) == 0) break;
    return i;
}

/* What the bundle sets is its own view of its files (PATH, HOME ...) and stays; other variables
 * come from the task. One that is not UTF-8 cannot be written down and is left out. */
static int set_env(json_t *process, char *const *env, struct err *err)
{
    json_t *list, *item;
    size_t i;
    int r = get_member(process, "env", json_array(), "process.", &list, err);

    if (r < 0)
        return r;
    json_array_foreach(list, i, item) if (!json_is_string(item)) return err_set(
        err, -EINVAL, "process.env holds something that is no text");
    for (; *env; env++) {
        size_t at = find_var(list, *env);
        json_t *value = json_string(*env);

        if (!value)
            continue;
        if (at == json_array_size(list))
            r = json_array_append_new(list, value);
        else if (is_ours(*env))
            r = json_array_set_new(list, at, value);
        else
            json_decref(value);
        if (r < 0)
            return no_memory(err);
    }
    return 0;
}

/* ---- what the container sees ----------------------------------------------------------------- */

static bool has_dir(const char *root, const char *path)
{
    _cleanup_close_ int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
    long found;

    if (fd < 0)
        return false;
    found = syscall(SYS_openat2, fd, path, &how, sizeof(how));
    if (found < 0)
        return false;
    (void)close((int)found);
    return true;
}

static bool is_bind(const json_t *mount)
{
    const char *type = json_string_value(json_object_get(mount, "type"));
    const json_t *options = json_object_get(mount, "options"), *o;
    size_t i;

    if (type && strcmp(type, "bind") == 0)
        return true;
    json_array_foreach(options, i, o)
    {
        const char *word = json_string_value(o);

        if (word && (strcmp(word, "bind") == 0 || strcmp(word, "rbind") == 0))
            return true;
    }
    return false;
}

/* What of path lies behind folder: "/sub", "/" for the folder itself, NULL when it lies
 * elsewhere. */
static const char *path_behind(const char *path, const char *folder)
{
    size_t len = strlen(folder);

    while (len > 0 && folder[len - 1] == '/')
        len--;
    if (strncmp(path, folder, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    return path[len] ? path + len : "/";
}

/* Does the container have this folder: in the last mount over it, else in its root file system? */
static bool sees_path(const json_t *mounts, const char *root, const char *path)
{
    if (path[0] != '/')
        return false;
    for (size_t i = json_array_size(mounts); i-- > 0;) {
        const json_t *m = json_array_get(mounts, i);
        const char *to = json_string_value(json_object_get(m, "destination")),
                   *from = json_string_value(json_object_get(m, "source")),
                   *rest = to ? path_behind(path, to) : NULL;

        if (rest)
            return is_bind(m) ? from && has_dir(from, rest) : strcmp(rest, "/") == 0;
    }
    return has_dir(root, path);
}

/* A path in config.json may be relative to the bundle, which the file is about to leave. */
static int make_absolute(json_t *o, const char *key, const char *bundle, struct err *err)
{
    const char *path = json_string_value(json_object_get(o, key));
    json_t *whole;

    if (!path || path[0] == '/')
        return 0;
    whole = json_sprintf("%s/%s", bundle, path);
    return !whole || json_object_set_new(o, key, whole) < 0 ? no_memory(err) : 0;
}

static int add_mount(json_t *mounts, const char *from, const char *to, struct err *err)
{
    json_t *m = json_pack("{s:s, s:s, s:s, s:[s,s,s]}", "destination", to, "type", "bind", "source",
                          from, "options", "rbind", "nosuid", "nodev");

    if (!m)
        return err_set(err, -EILSEQ,
                       "%.200s is no text in UTF-8, the only one that config.json can hold", from);
    return json_array_append_new(mounts, m) < 0 ? no_memory(err) : 0;
}

static int set_mounts(json_t *config, const struct oci_edit *e, json_t **ret_mounts,
                      struct err *err)
{
    json_t *mounts, *m;
    size_t i;
    int r = get_member(config, "mounts", json_array(), "", &mounts, err);

    if (r < 0)
        return r;
    json_array_foreach(mounts, i, m)
    {
        if (!json_is_object(m))
            return err_set(err, -EINVAL, "mounts holds something that is no object");
        if (is_bind(m))
            r = make_absolute(m, "source", e->bundle, err);
        if (r < 0)
            return r;
    }
    if (e->mount_at)
        r = add_mount(mounts, e->mount_from, e->mount_at, err);
    for (i = 0; r == 0 && i < e->n_mounts; i++)
        r = add_mount(mounts, e->mounts[i], e->mounts[i], err);
    *ret_mounts = mounts;
    return r;
}

/* ---- the user -------------------------------------------------------------------------------- */

/* In a user namespace without privileges we can map one user only: ourselves.  So a mapping of one
 * id is changed to our own id, even when another user made the bundle.  Mappings of several ids
 * stay: subuid(5) decides about them. */
static int set_mapping(json_t *linux_, const char *key, json_int_t inside, uint32_t outside,
                       struct err *err)
{
    json_t *list = NULL, *m;
    int r = get_member(linux_, key, json_array(), "linux.", &list, err);

    if (r < 0)
        return r;
    m = json_array_get(list, 0);
    if (json_array_size(list) > 1 || (m && json_integer_value(json_object_get(m, "size")) != 1))
        return 0;
    if (m && json_is_integer(json_object_get(m, "containerID")))
        inside = json_integer_value(json_object_get(m, "containerID"));
    (void)json_array_clear(list);
    m = json_pack("{s:I, s:I, s:i}", "containerID", inside, "hostID", (json_int_t)outside, "size",
                  1);
    return !m || json_array_append_new(list, m) < 0 ? no_memory(err) : 0;
}

static int set_user(json_t *config, const json_t *process, const struct oci_edit *e,
                    struct err *err)
{
    json_t *linux_ = json_object_get(config, "linux");
    const json_t *user = json_object_get(process, "user"), *ns;
    bool own = false;
    size_t i;
    int r;

    json_array_foreach(json_object_get(linux_, "namespaces"), i, ns)
    {
        const char *type = json_string_value(json_object_get(ns, "type"));

        own = own || (type && strcmp(type, "user") == 0 && !json_object_get(ns, "path"));
    }
    if (!own || e->uid == 0)
        return 0;
    r = set_mapping(linux_, "uidMappings", json_integer_value(json_object_get(user, "uid")), e->uid,
                    err);
    if (r == 0)
        r = set_mapping(linux_, "gidMappings", json_integer_value(json_object_get(user, "gid")),
                        e->gid, err);
    return r;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void drop_hooks(json_t *config, const char *kinds)
{
    json_t *hooks = json_object_get(config, "hooks");

    for (const char *p = kinds; hooks && p && *p;) {
        char kind[32];
        size_t len = strcspn(p, ", ");

        (void)snprintf(kind, sizeof(kind), "%.*s", (int)MIN(len, sizeof(kind) - 1), p);
        (void)json_object_del(hooks, kind); /* -1: there is none */
        p += len + (p[len] != '\0');
    }
}

static int edit_config(json_t *config, const struct oci_edit *e, char **ret_root, struct err *err)
{
    json_t *process, *root = json_object_get(config, "root"), *mounts = NULL;
    int r = get_member(config, "process", json_object(), "", &process, err);

    if (r == 0 && !json_is_string(json_object_get(root, "path")))
        r = err_set(err, -EINVAL, "root.path is missing");
    if (r == 0)
        r = make_absolute(root, "path", e->bundle, err);
    if (r == 0)
        r = set_args(process, e->argv, err);
    if (r == 0)
        r = set_env(process, e->env, err);
    if (r == 0)
        r = set_mounts(config, e, &mounts, err);
    if (r == 0)
        r = set_user(config, process, e, err);
    if (r < 0)
        return r;
    drop_hooks(config, e->disable_hooks);
    *ret_root = strdup(json_string_value(json_object_get(root, "path")));
    if (!*ret_root || json_object_set_new(process, "terminal", json_boolean(e->terminal)) < 0)
        return no_memory(err);
    if (sees_path(mounts, *ret_root, e->work_dir) &&
        json_object_set_new(process, "cwd", json_string(e->work_dir)) < 0)
        return err_set(err, -EILSEQ, "the working directory is no text in UTF-8");
    if (!json_is_string(json_object_get(process, "cwd")) &&
        json_object_set_new(process, "cwd", json_string("/")) < 0)
        return no_memory(err);
    return 0;
}

int oci_config(const char *text, size_t len, const struct oci_edit *e, char **ret_text,
               char **ret_root, struct err *err)
{
    json_error_t why;
    _cleanup_json_ json_t *config = json_loadb(text, len, 0, &why);
    _cleanup_free_ char *root = NULL;
    int r;

    if (!config)
        return err_set(err, -EINVAL, "line %d: %s", why.line, why.text);
    if (!json_is_object(config))
        return err_set(err, -EINVAL, "it is not an object");
    r = edit_config(config, e, &root, err);
    if (r < 0)
        return r;
    *ret_text = json_dumps(config, JSON_INDENT(2));
    if (!*ret_text)
        return no_memory(err);
    *ret_root = TAKE_PTR(root);
    return 0;
}
