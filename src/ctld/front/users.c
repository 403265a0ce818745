/* users.c - user and group names; see users.h */
#include "ctld/front/users.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/people/groups.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "model/tables/idmap.h"

#define TOLD_LIFE_US (600 * USEC_PER_SEC) /* of what another host told */

struct entry {
    int64_t made_mono_us;
    char *name, *groups;
    /* by another host; NULL: none did */
    char *told, *told_groups;
    gid_t *told_gids;
    size_t ntold;
    int64_t told_mono_us;
};

struct users {
    pthread_mutex_t lock;
    struct idmap entries; /* uid + 1 -> struct entry */
    _Atomic int64_t life_us;
};

void users_set_life(struct users *u, int64_t life_us)
{
    atomic_store(&u->life_us, life_us);
}

int users_new(struct users **ret)
{
    struct users *u = calloc(1, sizeof(*u));

    if (!u)
        return -ENOMEM;
    pthread_mutex_init(&u->lock, NULL);
    users_set_life(u, TOLD_LIFE_US);
    *ret = u;
    return 0;
}

static void entry_free(struct entry *e)
{
    if (!e)
        return;
    free(e->name);
    free(e->groups);
    free(e->told);
    free(e->told_groups);
    free(e->told_gids);
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

/* Put a fresh entry in the place of e, which is freed; what others told stays. */
static struct entry *replace_entry(struct users *u, uid_t uid, struct entry *e, struct entry *fresh)
{
    if (!fresh || idmap_put(&u->entries, (uint64_t)uid + 1, fresh) < 0) {
        entry_free(fresh);
        return e;
    }
    if (e) {
        fresh->told = TAKE_PTR(e->told);
        fresh->told_groups = TAKE_PTR(e->told_groups);
        fresh->told_gids = TAKE_PTR(e->told_gids);
        fresh->ntold = e->ntold;
        fresh->told_mono_us = e->told_mono_us;
    }
    entry_free(e);
    return fresh;
}

/* The entry of uid, as old as it may be; the lock is held, and let go meanwhile: the name service
 * may be slow. */
static struct entry *find_entry(struct users *u, uid_t uid)
{
    struct entry *e = idmap_get(&u->entries, (uint64_t)uid + 1), *fresh;

    if (e && now_mono_us() - e->made_mono_us <= atomic_load(&u->life_us))
        return e;
    pthread_mutex_unlock(&u->lock);
    fresh = entry_new(uid);
    pthread_mutex_lock(&u->lock);
    return replace_entry(u, uid, idmap_get(&u->entries, (uint64_t)uid + 1), fresh);
}

/* "physics,7001": the names that this host has for the groups, else their numbers. */
static char *told_names(const gid_t *gids, size_t n)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *name = NULL;

        if (groups_name(gids[i], &name) == 0)
            strbuf_addf(&sb, "%s%s", i ? "," : "", name);
        else
            strbuf_addf(&sb, "%s%ju", i ? "," : "", (uintmax_t)gids[i]);
    }
    (void)strbuf_detach(&sb, &text); /* -ENOMEM: no groups */
    return text;
}

/* Is that known of him, and not for long? */
static bool was_told(const struct entry *e, const char *name, const gid_t *gids, size_t n)
{
    return e->told && strcmp(e->told, name) == 0 && e->ntold == n &&
           (n == 0 || memcmp(e->told_gids, gids, n * sizeof(*gids)) == 0) &&
           now_mono_us() - e->told_mono_us <= TOLD_LIFE_US;
}

static void keep_told(struct entry *e, const char *name, const gid_t *gids, size_t n, char **groups)
{
    char *told = strdup(name);
    gid_t *copy = malloc((n + 1) * sizeof(*copy));

    if (!told || !copy) { /* he has what he had */
        free(told);
        free(copy);
        return;
    }
    if (n)
        memcpy(copy, gids, n * sizeof(*copy));
    free(e->told);
    free(e->told_gids);
    free(e->told_groups);
    e->told = told;
    e->told_gids = copy;
    e->ntold = n;
    e->told_groups = TAKE_PTR(*groups);
    e->told_mono_us = now_mono_us();
}

void users_learn(struct users *u, uid_t uid, const char *name, const gid_t *gids, size_t n)
{
    _cleanup_free_ char *groups = NULL;
    struct entry *e;

    pthread_mutex_lock(&u->lock);
    e = find_entry(u, uid);
    if (e && !e->name && !was_told(e, name, gids, n)) {
        pthread_mutex_unlock(&u->lock); /* the name service may be slow */
        groups = told_names(gids, n);
        pthread_mutex_lock(&u->lock);
        e = idmap_get(&u->entries, (uint64_t)uid + 1);
        if (e)
            keep_told(e, name, gids, n, &groups);
    }
    pthread_mutex_unlock(&u->lock);
}

void users_lookup(struct users *u, uid_t uid, char **ret_name, char **ret_groups)
{
    const struct entry *e;
    const char *name, *groups;

    *ret_name = *ret_groups = NULL;
    pthread_mutex_lock(&u->lock);
    e = find_entry(u, uid);
    name = e && e->name ? e->name : e ? e->told : NULL;
    *ret_name = name ? strdup(name) : NULL;
    groups = !e ? NULL : e->name ? e->groups : e->told_groups;
    *ret_groups = groups ? strdup(groups) : NULL;
    pthread_mutex_unlock(&u->lock);
}
