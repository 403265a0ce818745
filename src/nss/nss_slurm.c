/* nss_slurm.c - see nss_slurm.h
 *
 * The host is somebody else's process: no output, no exit, no state between calls, no signal.  The
 * one allocation is the growth of glibc's own array in initgroups. */
#include "nss/nss_slurm.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nss/nssask.h"
#include "nss/nssconf.h"

struct lookup {
    const char *name; /* NULL: by number */
    uint32_t id;
    struct passwd *pw;
    struct group *gr;
    char *buf;
    size_t size;
    bool full; /* buf is too small */
    /* initgroups */
    gid_t gid;
    long *start, *room;
    gid_t **list;
    long limit;
    bool no_memory;
};

/* A copy in the caller's buffer; NULL notes that it does not fit. */
static char *put_text(struct lookup *l, const char *text)
{
    size_t len = strlen(text) + 1;
    char *to = l->buf;

    if (len > l->size) {
        l->full = true;
        return NULL;
    }
    memcpy(to, text, len);
    l->buf += len;
    l->size -= len;
    return to;
}

static int take_user(void *ctx, const struct nss_user *u)
{
    struct lookup *l = ctx;

    if (l->name ? strcmp(l->name, u->name) != 0 : l->id != u->uid)
        return 0;
    *l->pw = (struct passwd){
        .pw_name = put_text(l, u->name),
        .pw_passwd = put_text(l, "x"),
        .pw_uid = u->uid,
        .pw_gid = u->gid,
        .pw_gecos = put_text(l, u->gecos),
        .pw_dir = put_text(l, *u->home ? u->home : "/"),
        .pw_shell = put_text(l, *u->shell ? u->shell : "/bin/sh"),
    };
    return 1;
}

static bool put_members(struct lookup *l, const char *user)
{
    size_t off = -(uintptr_t)l->buf % _Alignof(char *);
    char **members = (char **)(void *)(l->buf + off);

    if (l->size < off || l->size - off < 2 * sizeof(*members)) {
        l->full = true;
        return false;
    }
    l->buf += off + 2 * sizeof(*members);
    l->size -= off + 2 * sizeof(*members);
    members[0] = put_text(l, user);
    members[1] = NULL;
    l->gr->gr_mem = members;
    return true;
}

/* root's group is the host's own to tell of. */
static int take_group(void *ctx, const struct nss_user *u)
{
    struct lookup *l = ctx;
    const char *at = u->groups;
    struct nss_group g;

    while (nsstext_group(u, &at, &g)) {
        if (g.gid == 0 || strcmp(g.name, "root") == 0 ||
            (l->name ? strcmp(l->name, g.name) != 0 : l->id != g.gid))
            continue;
        *l->gr = (struct group){ .gr_gid = g.gid };
        if (put_members(l, u->name)) {
            l->gr->gr_name = put_text(l, g.name);
            l->gr->gr_passwd = put_text(l, "x");
        }
        return 1;
    }
    return 0;
}

static bool in_list(const struct lookup *l, gid_t gid)
{
    for (long i = 0; i < *l->start; i++)
        if ((*l->list)[i] == gid)
            return true;
    return gid == l->gid;
}

/* False: no more of them. */
static bool add_gid(struct lookup *l, gid_t gid)
{
    if (l->limit > 0 && *l->start >= l->limit)
        return false;
    if (*l->start >= *l->room) {
        long room = *l->room > 0 ? *l->room * 2 : 64;
        gid_t *list;

        if (l->limit > 0 && room > l->limit)
            room = l->limit;
        list = realloc(*l->list, (size_t)room * sizeof(*list));
        l->no_memory = !list;
        if (!list)
            return false;
        *l->list = list;
        *l->room = room;
    }
    (*l->list)[(*l->start)++] = gid;
    return true;
}

static int take_groups(void *ctx, const struct nss_user *u)
{
    struct lookup *l = ctx;
    const char *at = u->groups;
    struct nss_group g;

    if (strcmp(l->name, u->name) != 0)
        return 0;
    while (nsstext_group(u, &at, &g))
        if (g.gid != 0 && !in_list(l, g.gid) && !add_gid(l, g.gid))
            break;
    return 1;
}

static enum nss_status search_jobs(struct lookup *l, nssask_fn *fn, int *errnop)
{
    struct nss_conf conf;
    bool busy = false;

    if ((l->name && (strcmp(l->name, "root") == 0 || !nsstext_name(l->name))) ||
        (!l->name && l->id == 0)) {
        *errnop = ENOENT;
        return NSS_STATUS_NOTFOUND;
    }
    if (!nssconf_read(NSSCONF_FILE, &conf)) {
        *errnop = ENOENT;
        return NSS_STATUS_UNAVAIL;
    }
    if (!nssask_find(conf.spool, fn, l, &busy)) {
        *errnop = busy ? EAGAIN : ENOENT;
        return busy ? NSS_STATUS_UNAVAIL : NSS_STATUS_NOTFOUND;
    }
    if (l->full || l->no_memory) {
        *errnop = l->full ? ERANGE : ENOMEM;
        return NSS_STATUS_TRYAGAIN;
    }
    return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_slurm_getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size,
                                      int *errnop)
{
    struct lookup l = { .name = name, .pw = pw, .buf = buf, .size = size };

    return search_jobs(&l, take_user, errnop);
}

enum nss_status _nss_slurm_getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size,
                                      int *errnop)
{
    struct lookup l = { .id = uid, .pw = pw, .buf = buf, .size = size };

    return search_jobs(&l, take_user, errnop);
}

enum nss_status _nss_slurm_getgrnam_r(const char *name, struct group *gr, char *buf, size_t size,
                                      int *errnop)
{
    struct lookup l = { .name = name, .gr = gr, .buf = buf, .size = size };

    return search_jobs(&l, take_group, errnop);
}

enum nss_status _nss_slurm_getgrgid_r(gid_t gid, struct group *gr, char *buf, size_t size,
                                      int *errnop)
{
    struct lookup l = { .id = gid, .gr = gr, .buf = buf, .size = size };

    return search_jobs(&l, take_group, errnop);
}

enum nss_status _nss_slurm_initgroups_dyn(const char *name, gid_t gid, long *start, long *size,
                                          gid_t **groups, long limit, int *errnop)
{
    struct lookup l = {
        .name = name,
        .gid = gid,
        .start = start,
        .room = size,
        .list = groups,
        .limit = limit,
    };

    return search_jobs(&l, take_groups, errnop);
}
