/* conflink.c - the key of a host without files, and the link for commands; see conflink.h */
#include "configless/conflink.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "conf/conf.h"

#define CURRENT "/current" /* as confcache.c names it */

static const char *run_folder(void)
{
    const char *given = getenv("RUNTIME_DIRECTORY");

    return given && given[0] == '/' ? given : CONF_RUN_FOLDER;
}

const char *conflink_path(char *buf, unsigned long size)
{
    (void)snprintf(buf, size, "%s/conf", run_folder()); /* too long: it does not exist */
    return buf;
}

int conflink_key(const char *conf_path, const char *given, char **ret_path)
{
    const char *conf = conf_path ? conf_path : conf_own_path();
    const char *slash = strrchr(conf, '/'), *jwks = getenv("SLURM_SACK_JWKS"),
               *key = getenv("SLURM_SACK_KEY");
    bool named = given || (jwks && *jwks) || (key && *key);
    _cleanup_free_ char *folder = strndup(conf, slash ? (size_t)(slash - conf) : 0);
    char *path = given ? strdup(given) : NULL;

    *ret_path = NULL;
    if (!folder || (given && !path) || (!given && conf_key_path(folder, &path) < 0))
        return -ENOMEM;
    if (!named && access(path, F_OK) < 0) {
        free(path);
        return 0;
    }
    *ret_path = realpath(path, NULL); /* the daemon leaves its folder */
    if (*ret_path)
        free(path);
    else
        *ret_path = path; /* whoever opens it says what is wrong */
    return 0;
}

/* Replace what is there, if that is a link. */
static int put_link(const char *target, const char *path)
{
    _cleanup_free_ char *fresh = NULL;
    struct stat st;

    if (lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
        return -EEXIST;
    if (asprintf(&fresh, "%s.new", path) < 0) {
        fresh = NULL;
        return -ENOMEM;
    }
    (void)unlink(fresh); /* of an attempt that was interrupted */
    return symlink(target, fresh) < 0 || rename(fresh, path) < 0 ? -errno : 0;
}

void conflink_write(const char *cache_root)
{
    char path[PATH_MAX];
    _cleanup_free_ char *target = NULL;
    int r;

    if (asprintf(&target, "%s" CURRENT, cache_root) < 0) {
        target = NULL;
        return; /* the next start does it */
    }
    (void)mkdir(run_folder(), 0755); /* it is there, or the next line says why not */
    r = put_link(target, conflink_path(path, sizeof(path)));
    if (r < 0)
        log_info("cannot let %s lead to the configuration: %s; commands here need SLURM_CONF", path,
                 strerror(-r));
}

int conflink_read(char **ret_cache_root)
{
    char path[PATH_MAX], target[PATH_MAX];
    ssize_t n = readlink(conflink_path(path, sizeof(path)), target, sizeof(target) - 1);
    size_t end = sizeof(CURRENT) - 1;

    if (n < 0 || (size_t)n <= end || target[0] != '/')
        return -ENOENT;
    target[n] = '\0';
    if (strcmp(target + (size_t)n - end, CURRENT) != 0)
        return -ENOENT;
    *ret_cache_root = strndup(target, (size_t)n - end);
    return *ret_cache_root ? 0 : -ENOMEM;
}
