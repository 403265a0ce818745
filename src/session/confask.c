/* confask.c - see confask.h
 *
 * Asking takes the libraries of an authenticated connection and of DNS, which commands are not
 * linked with: a program does it.  What it keeps is believed when nobody but this user can have
 * written it: the folder is his, and stands in a folder where others may not replace it. */
#include "session/confask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/process/beside.h"
#include "base/process/capture.h"
#include "base/process/spawnprog.h"
#include "conf/conf.h"

#define FOLDER_MAX 512u
#define ANSWER_MAX 4096u
#define NAME_DIGITS 16u /* as confcache.c names configurations */
#define STATUS_NOBODY 2 /* of penstock-fetch: no server is named anywhere */

static const char *const fetch_places[] = { "penstock-fetch", "../sbin/penstock-fetch",
                                            "../configless/penstock-fetch" };

/* Is it a folder that this user alone may change? */
static bool is_own_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Different servers get different folders as a rule; where not, the answers take turns. */
int confask_folder(const char *servers, char *buf, size_t size)
{
    const char *given = getenv("XDG_RUNTIME_DIR"), *base = "/tmp";
    char run[64];

    (void)snprintf(run, sizeof(run), "/run/user/%u", (unsigned)geteuid()); /* it fits */
    if (given && given[0] == '/' && is_own_folder(given))
        base = given;
    else if (is_own_folder(run))
        base = run;
    return (size_t)snprintf(buf, size, "%s/slurm-conf-%u-%016jx", base, (unsigned)geteuid(),
                            (uintmax_t)fnv_text(servers ? servers : "")) < size
               ? 0
               : -ENAMETOOLONG;
}

int confask_kept(const char *folder, char **ret_path)
{
    char link[FOLDER_MAX + 16], name[NAME_DIGITS + 2];
    time_t now = time(NULL);
    struct stat st;
    ssize_t n;

    (void)snprintf(link, sizeof(link), "%s/current", folder); /* too long: it is not there */
    if (lstat(folder, &st) < 0)
        return -ENOENT;
    if (!is_own_folder(folder))
        return -EACCES;
    if (lstat(link, &st) < 0 || (n = readlink(link, name, sizeof(name))) != NAME_DIGITS)
        return -ENOENT;
    name[n] = '\0';
    if (strspn(name, "0123456789abcdef") != NAME_DIGITS)
        return -ENOENT;
    if (st.st_mtime > now || st.st_mtime + CONFASK_FRESH_S < now)
        return -ESTALE;
    if (asprintf(ret_path, "%s/%s/slurm.conf", folder, name) < 0) {
        *ret_path = NULL;
        return -ENOMEM;
    }
    return 0;
}

/* Run penstock-fetch.  *ret_text is its line: the path, or what is wrong. */
static int run_fetch(const char *program, const char *folder, const char *servers, int *ret_status,
                     char **ret_text)
{
    _cleanup_close_ int out = capture_open(ANSWER_MAX);
    char *argv[] = { (char *)(uintptr_t) "penstock-fetch", (char *)(uintptr_t)folder,
                     (char *)(uintptr_t)servers, NULL };
    const int fds[] = { -1, out, STDERR_FILENO };
    struct spawn s = { .path = program, .argv = argv, .envp = environ, .fds = fds, .n_fds = 3 };
    int status;
    pid_t pid;
    int r = out < 0 ? out : spawn_program(&s, &pid);

    if (r < 0)
        return r;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    r = capture_text(out, ret_text);
    if (r < 0)
        return r;
    (*ret_text)[strcspn(*ret_text, "\n")] = '\0';
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return 0;
}

static int take_default(char **ret_path, struct err *err)
{
    *ret_path = strdup(conf_default_path());
    return *ret_path ? 0 : err_nomem(err);
}

static int fetch_path(const char *servers, const char *folder, char **ret_path, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    char program[4096];
    int status = 0;
    int r = beside_find(fetch_places, ARRAY_SIZE(fetch_places), program, sizeof(program));

    if (r < 0 && !servers)
        return take_default(ret_path, err);
    if (r < 0)
        return err_set(err, -ENOENT, "SLURM_CONF_SERVER is set, and penstock-fetch is not here");
    r = run_fetch(program, folder, servers, &status, &text);
    if (r < 0)
        return err_set(err, -EHOSTUNREACH, "cannot run %.255s: %s", program, strerror(-r));
    if (status == STATUS_NOBODY && !servers)
        return err_set(err, -ENOENT, "%s: cannot be read: %s; SLURM_CONF_SERVER is not set; %s",
                       conf_default_path(), strerror(ENOENT), text);
    if (status != 0 || text[0] != '/')
        return err_set(err, -EHOSTUNREACH, "%s", text[0] ? text : "penstock-fetch failed");
    *ret_path = TAKE_PTR(text);
    return 0;
}

int confask_path(char **ret_path, struct err *err)
{
    const char *own = getenv("SLURM_CONF"), *servers = getenv("SLURM_CONF_SERVER");
    char folder[FOLDER_MAX];
    int r;

    if ((own && *own) || access(conf_default_path(), F_OK) == 0 || errno != ENOENT)
        return take_default(ret_path, err);
    servers = servers && *servers ? servers : NULL;
    if (confask_folder(servers, folder, sizeof(folder)) < 0)
        return err_set(err, -EHOSTUNREACH, "XDG_RUNTIME_DIR is too long");
    r = confask_kept(folder, ret_path);
    if (r == 0)
        return 0;
    if (r == -EACCES)
        return err_set(err, -EHOSTUNREACH, "%s is not a folder that this user alone may write",
                       folder);
    return fetch_path(servers, folder, ret_path, err);
}
