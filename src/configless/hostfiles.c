/* hostfiles.c - files of this host that no controller sends; see hostfiles.h */
#include "configless/hostfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "conf/conf.h"
#include "configless/conflink.h"

/* Names of the links.  conf_shared_name_ok() lets no bundle hold a file of these names. */
static const char *const names[HOSTFILE_MAX_] = {
    [HOSTFILE_KEY] = "slurm.key",
    [HOSTFILE_CA] = "ca_cert.pem",
    [HOSTFILE_CERT] = "slurmd_cert.pem",
    [HOSTFILE_CERT_KEY] = "slurmd_cert_key.pem",
    [HOSTFILE_CONTROLLERS] = "slurmctld.pub",
};

void hostfiles_done(struct hostfiles *h)
{
    for (size_t i = 0; i < HOSTFILE_MAX_; i++)
        free(h->path[i]);
    *h = (struct hostfiles){ .path = { NULL } };
}

int hostfiles_copy(const struct hostfiles *h, struct hostfiles *ret)
{
    struct hostfiles fresh = { .path = { NULL } };

    for (size_t i = 0; i < HOSTFILE_MAX_; i++) {
        if (!h->path[i] || (fresh.path[i] = strdup(h->path[i])))
            continue;
        hostfiles_done(&fresh);
        return -ENOMEM;
    }
    *ret = fresh;
    return 0;
}

/* The daemon leaves its folder: in full.  NULL where there is no such file. */
static int find_beside(const char *folder, const char *name, char **ret_path)
{
    _cleanup_free_ char *path = NULL;

    if (asprintf(&path, "%s/%s", folder[0] ? folder : ".", name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    *ret_path = realpath(path, NULL);
    return *ret_path || errno != ENOMEM ? 0 : -ENOMEM;
}

static int take_given_ca(const char *ca_file, char **ret_path, struct err *err)
{
    if (ca_file[0] != '/')
        return err_set(err, -EINVAL, "--ca-cert-file wants an absolute path, not \"%.255s\"",
                       ca_file);
    if (access(ca_file, R_OK) < 0)
        return err_set(err, -errno, "--ca-cert-file %.255s: %s", ca_file, strerror(errno));
    *ret_path = strdup(ca_file);
    return *ret_path ? 0 : err_nomem(err);
}

int hostfiles_find(const char *conf_path, const char *key_file, const char *ca_file,
                   struct hostfiles *ret, struct err *err)
{
    const char *conf = conf_path ? conf_path : conf_own_path(), *slash = strrchr(conf, '/');
    _cleanup_free_ char *folder = strndup(conf, slash ? (size_t)(slash - conf) : 0);
    struct hostfiles h = { .path = { NULL } };
    int r = folder ? conflink_key(conf_path, key_file, &h.path[HOSTFILE_KEY]) : -ENOMEM;

    for (size_t i = HOSTFILE_CA; r == 0 && i < HOSTFILE_MAX_; i++)
        if (i != HOSTFILE_CA || !ca_file)
            r = find_beside(folder, names[i], &h.path[i]);
    if (r < 0)
        (void)err_nomem(err); /* r stays as it is */
    else if (ca_file)
        r = take_given_ca(ca_file, &h.path[HOSTFILE_CA], err);
    if (r < 0) {
        hostfiles_done(&h);
        return r;
    }
    *ret = h;
    return 0;
}

/* Another link than there is, or none: by a rename, so that who reads it meanwhile finds one. */
static int put_link(int dir, const char *target, const char *name)
{
    char fresh[64];
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
        return -EEXIST;
    (void)snprintf(fresh, sizeof(fresh), ".%s.new", name); /* it fits */
    (void)unlinkat(dir, fresh, 0);                         /* of an attempt that was interrupted */
    return symlinkat(target, dir, fresh) < 0 || renameat(dir, fresh, dir, name) < 0 ? -errno : 0;
}

static int lead_link(int dir, const char *target, const char *name)
{
    char have[PATH_MAX];
    ssize_t n = readlinkat(dir, name, have, sizeof(have));

    if (target && n == (ssize_t)strlen(target) && memcmp(have, target, (size_t)n) == 0)
        return 0;
    if (target)
        return put_link(dir, target, name);
    return n < 0 || unlinkat(dir, name, 0) == 0 ? 0 : -errno;
}

int hostfiles_link(const struct hostfiles *h, int dir)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < HOSTFILE_MAX_; i++)
        r = lead_link(dir, h->path[i], names[i]);
    return r;
}
