/* confcache.c - configurations on disk; see confcache.h */
#include "configless/confcache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/text/hextext.h"
#include "base/readfile.h"
#include "configless/confbundle.h"

#define NAME_DIGITS 16u /* of the digest, in a folder's name; .bundle has all of it */
#define MANIFEST ".bundle"
#define MANIFEST_MAX (1u << 20)
#define CURRENT "current"
#define TREE_DEPTH 16

/* ---- the root -------------------------------------------------------------------------------- */

static int make_parents(const char *path, mode_t mode)
{
    _cleanup_free_ char *copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    for (char *p = copy + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        if (mkdir(copy, mode) < 0 && errno != EEXIST)
            return -errno;
        *p = '/';
    }
    return mkdir(copy, mode) < 0 && errno != EEXIST ? -errno : 0;
}

/* What others may write says nothing of the cluster's will. */
static int check_owner(const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) ||
        (st.st_mode & (S_IWGRP | S_IWOTH)))
        return err_set(err, -EACCES, "%s: must be a folder that this daemon's user alone writes",
                       path);
    return 0;
}

int confcache_open(struct confcache *c, const char *root, const struct hostfiles *host,
                   struct err *err)
{
    struct confcache fresh = { .root = strdup(root) };
    int r = fresh.root ? make_parents(root, 0755) : -ENOMEM;

    if (r < 0)
        err_set(err, r, "cannot make %s: %s", root, strerror(-r));
    else
        r = check_owner(root, err);
    if (r == 0 && host && hostfiles_copy(host, &fresh.host) < 0)
        r = err_nomem(err);
    if (r < 0) {
        confcache_done(&fresh);
        return r;
    }
    *c = fresh;
    return 0;
}

void confcache_done(struct confcache *c)
{
    free(c->root);
    hostfiles_done(&c->host);
    *c = (struct confcache){ 0 };
}

static void folder_name(const Pst__ConfBundle *b, char name[NAME_DIGITS + 1])
{
    hextext_write(b->digest.data, NAME_DIGITS / 2, name);
}

static int path_in(char **ret, const char *dir, const char *name)
{
    if (asprintf(ret, "%s/%s", dir, name) < 0) {
        *ret = NULL;
        return -ENOMEM;
    }
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    (void)remove(path); /* what stays is tried again at the next change */
    return 0;
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, TREE_DEPTH, FTW_DEPTH | FTW_PHYS); /* as above */
}

/* ---- writing --------------------------------------------------------------------------------- */

static mode_t mode_of(Pst__ConfFileKind kind)
{
    switch (kind) {
    case PST__CONF_FILE_KIND__CONF_FILE_NODE_SCRIPT:
        return 0700;
    case PST__CONF_FILE_KIND__CONF_FILE_TASK_SCRIPT:
        return 0755;
    case PST__CONF_FILE_KIND__CONF_FILE_NODE:
        return 0600;
    default:
        return 0644;
    }
}

static int write_all(int fd, const uint8_t *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

/* The folders of a name such as "nodes/a.conf". */
static int make_folders(int dir, const char *name)
{
    _cleanup_free_ char *copy = strdup(name);

    if (!copy)
        return -ENOMEM;
    for (char *p = copy; (p = strchr(p, '/')); p++) {
        *p = '\0';
        if (mkdirat(dir, copy, 0755) < 0 && errno != EEXIST)
            return -errno;
        *p = '/';
    }
    return 0;
}

static int write_file(int dir, const char *name, mode_t mode, const uint8_t *data, size_t len)
{
    int r = make_folders(dir, name);
    _cleanup_close_ int fd = -1;

    if (r < 0)
        return r;
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = write_all(fd, data, len);
    if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0)) /* whatever the umask */
        r = -errno;
    return r;
}

/* What must be there: the bundle without contents. */
static int write_manifest(int dir, const Pst__ConfBundle *b)
{
    Pst__ConfBundle plain = *b;
    _cleanup_free_ Pst__ConfFile *files = calloc(b->n_files, sizeof(*files));
    _cleanup_free_ Pst__ConfFile **list = calloc(b->n_files, sizeof(*list));
    _cleanup_free_ uint8_t *packed = NULL;
    size_t len;

    if (!files || !list)
        return -ENOMEM;
    for (size_t i = 0; i < b->n_files; i++) {
        files[i] = *b->files[i];
        files[i].has_data = false;
        list[i] = &files[i];
    }
    plain.files = list;
    len = pst__conf_bundle__get_packed_size(&plain);
    packed = malloc(len + 1);
    if (!packed)
        return -ENOMEM;
    (void)pst__conf_bundle__pack(&plain, packed);
    return write_file(dir, MANIFEST, 0644, packed, len);
}

static int fill_folder(const struct confcache *c, int dir, const Pst__ConfBundle *b,
                       struct err *err)
{
    int r;

    if (failpoint("confcache.enospc"))
        return err_set(err, -ENOSPC, "cannot write below %s: %s", c->root, strerror(ENOSPC));
    for (size_t i = 0; i < b->n_files; i++) {
        const Pst__ConfFile *f = b->files[i];

        r = write_file(dir, f->name, mode_of(f->kind), f->data.data, f->data.len);
        if (r < 0)
            return err_set(err, r, "cannot write %s below %s: %s", f->name, c->root, strerror(-r));
    }
    r = hostfiles_link(&c->host, dir);
    if (r == 0)
        r = write_manifest(dir, b);
    if (r == 0 && (fchmod(dir, 0755) < 0 || fsync(dir) < 0))
        r = -errno;
    return r < 0 ? err_set(err, r, "cannot write below %s: %s", c->root, strerror(-r)) : 0;
}

static int sync_folder(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int write_folder(const struct confcache *c, const Pst__ConfBundle *b, const char *path,
                        struct err *err)
{
    _cleanup_free_ char *fresh = NULL;
    _cleanup_close_ int dir = -1;
    int r = path_in(&fresh, c->root, "new.XXXXXX");

    if (r < 0)
        return err_nomem(err);
    if (!mkdtemp(fresh))
        return err_set(err, -errno, "cannot write below %s: %s", c->root, strerror(errno));
    dir = open(fresh, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = dir < 0 ? err_set(err, -errno, "%s: %s", fresh, strerror(errno))
                : fill_folder(c, dir, b, err);
    failpoint_crash("confcache.crash.before_rename");
    if (r == 0 && rename(fresh, path) < 0)
        r = err_set(err, -errno, "cannot rename %s: %s", fresh, strerror(errno));
    if (r < 0)
        remove_tree(fresh);
    return r;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_manifest(const char *dir, Pst__ConfBundle **ret)
{
    _cleanup_free_ char *path = NULL, *packed = NULL;
    size_t len;
    int r = path_in(&path, dir, MANIFEST);

    if (r == 0)
        r = readfile(path, MANIFEST_MAX, &packed, &len);
    if (r < 0)
        return r;
    *ret = pst__conf_bundle__unpack(NULL, len, (const uint8_t *)packed);
    return *ret ? 0 : -EBADMSG;
}

/* The contents of the files that the manifest names. */
static int read_files(const char *dir, Pst__ConfBundle *b)
{
    for (size_t i = 0; i < b->n_files; i++) {
        Pst__ConfFile *f = b->files[i];
        _cleanup_free_ char *path = NULL;
        char *data;
        size_t len;
        int r = f->name && conf_shared_name_ok(f->name) ? path_in(&path, dir, f->name) : -EBADMSG;

        if (r == 0)
            r = readfile(path, CONF_SHARED_TOTAL, &data, &len);
        if (r < 0)
            return r;
        free(f->data.data);
        f->has_data = true;
        f->data = (ProtobufCBinaryData){ len, (uint8_t *)data };
    }
    return 0;
}

/* The configuration in a folder, whole. */
static int read_folder(const char *dir, Pst__ConfBundle **ret, struct err *err)
{
    Pst__ConfBundle *b = NULL;
    int r = read_manifest(dir, &b);

    if (r == 0)
        r = read_files(dir, b);
    if (r < 0)
        err_set(err, -EINVAL, "%s", strerror(-r));
    else
        r = confbundle_check(b, err);
    if (r < 0) {
        if (b)
            pst__conf_bundle__free_unpacked(b, NULL);
        err_prefix(err, "the configuration in %s is damaged", dir);
        return -EINVAL;
    }
    *ret = b;
    return 0;
}

/* Is the configuration there, and whole? */
static bool folder_holds(const char *dir, const Pst__ConfBundle *b)
{
    Pst__ConfBundle *have;
    struct err err = { .text = "" };
    bool same;

    if (read_folder(dir, &have, &err) < 0)
        return false;
    same = have->digest.len == b->digest.len &&
           memcmp(have->digest.data, b->digest.data, b->digest.len) == 0;
    pst__conf_bundle__free_unpacked(have, NULL);
    return same;
}

/* A folder of an earlier start: this host may have other files now. */
static int link_folder(const struct confcache *c, const char *path, struct err *err)
{
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = dir < 0 ? -errno : hostfiles_link(&c->host, dir);

    return r < 0 ? err_set(err, r, "cannot write below %s: %s", path, strerror(-r)) : 0;
}

/* ---- what callers ask for -------------------------------------------------------------------- */

int confcache_store(const struct confcache *c, const Pst__ConfBundle *b, char **ret_conf,
                    struct err *err)
{
    char name[NAME_DIGITS + 1];
    _cleanup_free_ char *dir = NULL, *conf = NULL;
    int r;

    folder_name(b, name);
    if (path_in(&dir, c->root, name) < 0 || path_in(&conf, dir, "slurm.conf") < 0)
        return err_nomem(err);
    if (folder_holds(dir, b)) {
        r = link_folder(c, dir, err);
    } else {
        remove_tree(dir); /* there is none, or it is damaged */
        r = write_folder(c, b, dir, err);
    }
    if (r < 0)
        return r;
    *ret_conf = TAKE_PTR(conf);
    return 0;
}

int confcache_switch(const struct confcache *c, const Pst__ConfBundle *b, struct err *err)
{
    char name[NAME_DIGITS + 1];
    _cleanup_free_ char *link = NULL, *fresh = NULL;
    int r;

    folder_name(b, name);
    if (path_in(&link, c->root, CURRENT) < 0 || path_in(&fresh, c->root, CURRENT ".new") < 0)
        return err_nomem(err);
    (void)unlink(fresh); /* of a switch that was interrupted */
    failpoint_crash("confcache.crash.before_switch");
    if (symlink(name, fresh) < 0 || rename(fresh, link) < 0)
        return err_set(err, -errno, "cannot switch %s: %s", link, strerror(errno));
    r = sync_folder(c->root);
    return r < 0 ? err_set(err, r, "%s: %s", c->root, strerror(-r)) : 0;
}

/* The name that the link has: a folder beside it, nothing else.  -ENOENT, -EINVAL. */
static int read_link(const struct confcache *c, char name[NAME_DIGITS + 1])
{
    _cleanup_free_ char *link = NULL;
    char text[NAME_DIGITS + 2];
    ssize_t n;

    if (path_in(&link, c->root, CURRENT) < 0)
        return -ENOMEM;
    n = readlink(link, text, sizeof(text));
    if (n < 0)
        return errno == ENOENT ? -ENOENT : -EINVAL;
    if (n != NAME_DIGITS)
        return -EINVAL;
    text[n] = '\0';
    if (strspn(text, "0123456789abcdef") != NAME_DIGITS)
        return -EINVAL;
    memcpy(name, text, NAME_DIGITS + 1);
    return 0;
}

int confcache_current(const struct confcache *c, Pst__ConfBundle **ret, char **ret_conf,
                      struct err *err)
{
    char name[NAME_DIGITS + 1];
    _cleanup_free_ char *dir = NULL, *conf = NULL;
    Pst__ConfBundle *b;
    int r = read_link(c, name);

    if (r < 0)
        return err_set(err, r, "there is no configuration in %s", c->root);
    if (path_in(&dir, c->root, name) < 0 || path_in(&conf, dir, "slurm.conf") < 0)
        return err_nomem(err);
    r = read_folder(dir, &b, err);
    if (r < 0)
        return r;
    r = link_folder(c, dir, err);
    if (r < 0) {
        pst__conf_bundle__free_unpacked(b, NULL);
        return r;
    }
    *ret = b;
    *ret_conf = TAKE_PTR(conf);
    return 0;
}

void confcache_clean(const struct confcache *c)
{
    char name[NAME_DIGITS + 1];
    struct dirent *e;
    DIR *dir;

    if (read_link(c, name) < 0)
        return;
    dir = opendir(c->root);
    while (dir && (e = readdir(dir))) {
        _cleanup_free_ char *path = NULL;
        bool ours = strncmp(e->d_name, "new.", 4) == 0 ||
                    strspn(e->d_name, "0123456789abcdef") == NAME_DIGITS;

        if (ours && strcmp(e->d_name, name) != 0 && path_in(&path, c->root, e->d_name) == 0)
            remove_tree(path);
    }
    if (dir)
        (void)closedir(dir); /* only read */
}
