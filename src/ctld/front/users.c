/* users.c - user and group names; see users.h.  Entries live ten minutes (GroupUpdateTime's
 * default). */
#include "ctld/front/users.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/groups.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "model/idmap.h"

#define LIFE_US (600 * USEC_PER_SEC)

struct entry {
    int64_t made_mono_us;
    char *name, *groups;
};

struct users {
    pthread_mutex_t lock;
    struct idmap entries; /* uid + 1 -> struct entry */
};

int users_new(struct users **ret)
{
    struct users *u = calloc(1, sizeof(*u));

    if (!u)
        return -ENOMEM;
    pthread_mutex_init(&u->lock, NULL);
    *ret = u;
    return 0;
}

static void entry_free(struct entry *e)
{
    if (!e)
        return;
    free(e->name);
    free(e->groups);
    free(e);
}

struct users *users_free(struct users *u)
{
    void *v;

    if (!u)
        return NULL;
    for (size_t pos = 0; (v = idmap_next(&u->entries, &pos));)
        entry_free(v);
    idmap_done(&u->entries);
    pthread_mutex_destroy(&u->lock);
    free(u);
    return NULL;
}

static char *group_names(const char *user, gid_t gid)
{
    _cleanup_free_ gid_t *gids = NULL;
    size_t n = 0;
    struct strbuf sb = STRBUF_INIT;
    struct err err = { .text = "" };
    char *text = NULL;

    if (groups_of(user, gid, &gids, &n, &err) < 0)
        log_error("%s: he counts as in none", err.text);
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *name = NULL;

        if (groups_name(gids[i], &name) == 0)
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", name);
    }
    (void)strbuf_detach(&sb, &text); /* -ENOMEM: no groups */
    return text;
}

static struct entry *entry_new(uid_t uid)
{
    struct entry *e = calloc(1, sizeof(*e));
    struct passwd pw, *found = NULL;
    char buf[16384];

    if (!e)
        return NULL;
    e->made_mono_us = now_mono_us();
    if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) == 0 && found) {
        e->name = strdup(pw.pw_name);
        e->groups = group_names(pw.pw_name, pw.pw_gid);
    }
    return e;
}

void users_lookup(struct users *u, uid_t uid, char **ret_name, char **ret_groups)
{
    struct entry *e, *fresh = NULL;

    *ret_name = *ret_groups = NULL;
    pthread_mutex_lock(&u->lock);
    e = idmap_get(&u->entries, (uint64_t)uid + 1);
    if (!e || now_mono_us() - e->made_mono_us > LIFE_US) {
        pthread_mutex_unlock(&u->lock);
        fresh = entry_new(uid); /* without the lock: the name service may be slow */
        pthread_mutex_lock(&u->lock);
        e = idmap_get(&u->entries, (uint64_t)uid + 1);
        if (fresh && idmap_put(&u->entries, (uint64_t)uid + 1, fresh) == 0) {
            entry_free(e);
            e = fresh;
        } else if (fresh) {
            entry_free(fresh);
        }
    }
    if (e) {
        *ret_name = e->name ? strdup(e->name) : NULL;
        *ret_groups = e->groups ? strdup(e->groups) : NULL;
    }
    pthread_mutex_unlock(&u->lock);
}
