/* penstock_fetch.c - penstock-fetch FOLDER [SERVERS]: the configuration of commands, asked for
 *
 * Commands start it where there is no slurm.conf (session/confask.h), as the user who types them.
 * It keeps what the controllers send in FOLDER, and prints the path of its slurm.conf.  Else one
 * sentence is printed, with status 1; with 2, nobody says which controllers to ask. */
#include "base/cleanup.h" /* first: resolv.h brings MIN and MAX of its own */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "configless/confcache.h"
#include "configless/conffetch.h"
#include "wire/auth/vouch.h"

#define FETCH_TIMEOUT_MS 5000
#define DNS_TRY_S 2 /* a person waits */

enum { STATUS_KEPT, STATUS_FAILED, STATUS_NOBODY };

static int find_servers(const char *given, struct confservers *ret, struct err *err)
{
    if (given)
        return confserver_parse(given, ret, err);
    if (res_init() == 0) {
        _res.retrans = DNS_TRY_S;
        _res.retry = 1;
    }
    return confserver_from_dns(ret, err);
}

/* The cluster's key, where this user may read it; else a token, sackd of this host, or munge. */
static int fetch_bundle(const struct confservers *servers, const struct hostfiles *host,
                        Pst__ConfBundle **ret, struct err *err)
{
    const char *key = host->path[HOSTFILE_KEY], *jwt = getenv("SLURM_JWT");
    bool readable = key && access(key, R_OK) == 0;
    struct conffetch f = { .servers = servers,
                           .key_file = key,
                           .use_munge = !readable && !vouch_may_ask(),
                           .jwt = jwt && *jwt ? jwt : NULL,
                           .ca_file = host->path[HOSTFILE_CA],
                           .program = "penstock-fetch",
                           .timeout_ms = FETCH_TIMEOUT_MS };

    return conffetch_once(&f, ret, err);
}

/* One at a time writes below the folder. */
static int keep_bundle(const char *folder, const struct hostfiles *host, const Pst__ConfBundle *b,
                       char **ret_path, struct err *err)
{
    struct hostfiles shown = { .path = { NULL } };
    struct confcache cache = { 0 };
    _cleanup_close_ int lock = -1;
    int r;

    shown.path[HOSTFILE_CA] = host->path[HOSTFILE_CA]; /* what commands may read */
    r = confcache_open(&cache, folder, &shown, err);
    if (r < 0)
        return r;
    lock = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) < 0)
        r = err_set(err, -errno, "%s: %s", folder, strerror(errno));
    if (r == 0)
        r = confcache_store(&cache, b, ret_path, err);
    if (r == 0)
        r = confcache_switch(&cache, b, err);
    if (r == 0)
        confcache_clean(&cache);
    confcache_done(&cache);
    return r;
}

static int fetch_conf(const char *folder, const struct confservers *servers, char **ret_path,
                      struct err *err)
{
    struct hostfiles host = { .path = { NULL } };
    Pst__ConfBundle *b = NULL;
    int r = hostfiles_find(NULL, NULL, NULL, &host, err);

    if (r == 0)
        r = fetch_bundle(servers, &host, &b, err);
    if (r == 0) {
        err->text[0] = '\0'; /* of servers before */
        r = keep_bundle(folder, &host, b, ret_path, err);
        pst__conf_bundle__free_unpacked(b, NULL);
    }
    hostfiles_done(&host);
    return r;
}

int main(int argc, char **argv)
{
    _cleanup_free_ char *path = NULL;
    struct confservers servers = { .n = 0 };
    struct err err = { .text = "" };
    int r;

    if (argc < 2 || argc > 3 || argv[1][0] != '/') {
        (void)puts("usage: penstock-fetch FOLDER [HOST[:PORT],...]"); /* the status tells, too */
        return STATUS_FAILED;
    }
    r = find_servers(argc > 2 ? argv[2] : NULL, &servers, &err);
    if (argc == 2 && r < 0) {
        (void)puts(err.text); /* likewise */
        return STATUS_NOBODY;
    }
    if (r == 0)
        r = fetch_conf(argv[1], &servers, &path, &err);
    if (r < 0) {
        (void)puts(err.text[0] ? err.text : strerror(-r)); /* likewise */
        return STATUS_FAILED;
    }
    return puts(path) >= 0 && fflush(stdout) == 0 ? STATUS_KEPT : STATUS_FAILED;
}
