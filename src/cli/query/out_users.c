/* out_users.c - cache of user and group names; see out_users.h.
 *
 * A short list searched from the front: a listing holds few different users.  Entries are never
 * freed: callers keep the names. */
#include "cli/query/out_users.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"

#define NAME_MAX_BYTES 16384u /* scratch for the name service */

struct id_name {
    struct id_name *next;
    uint32_t id;
    char name[];
};

static const char *remember_name(struct id_name **list, uint32_t id, const char *name)
{
    size_t len = strlen(name);
    struct id_name *e = malloc(sizeof(*e) + len + 1);

    if (!e)
        return "?";
    e->next = *list;
    e->id = id;
    memcpy(e->name, name, len + 1);
    *list = e;
    return e->name;
}

static const char *find_name(const struct id_name *list, uint32_t id)
{
    for (; list; list = list->next)
        if (list->id == id)
            return list->name;
    return NULL;
}

static struct {
    pthread_mutex_t lock; /* held while a name is looked up: who needs it too waits for it */
    struct id_name *users, *groups;
} users = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *look_up_user(uid_t uid)
{
    const char *name = find_name(users.users, uid);
    char buf[NAME_MAX_BYTES];
    struct passwd pw, *found = NULL;

    if (name)
        return name;
    if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) == 0 && found)
        return remember_name(&users.users, uid, found->pw_name);
    return remember_name(&users.users, uid, "nobody");
}

const char *user_name_of(uid_t uid)
{
    const char *name;

    if (uid == 0)
        return "root";
    (void)pthread_mutex_lock(&users.lock);
    name = look_up_user(uid);
    (void)pthread_mutex_unlock(&users.lock);
    return name;
}

static const char *look_up_group(gid_t gid)
{
    const char *name = find_name(users.groups, gid);
    char buf[NAME_MAX_BYTES];
    struct group gr, *found = NULL;

    if (name)
        return name;
    if (getgrgid_r(gid, &gr, buf, sizeof(buf), &found) == 0 && found)
        return remember_name(&users.groups, gid, found->gr_name);
    (void)snprintf(buf, sizeof(buf), "%u", gid); /* fits */
    return remember_name(&users.groups, gid, buf);
}

const char *group_name_of(gid_t gid)
{
    const char *name;

    if (gid == 0)
        return "root";
    (void)pthread_mutex_lock(&users.lock);
    name = look_up_group(gid);
    (void)pthread_mutex_unlock(&users.lock);
    return name;
}

int user_id_of(const char *text, uint32_t *ret_uid)
{
    char buf[NAME_MAX_BYTES];
    struct passwd pw, *found = NULL;
    uint64_t number;

    if (strcmp(text, "root") == 0) {
        *ret_uid = 0;
        return 0;
    }
    if (parse_u64(text, 0, UINT32_MAX - 1, &number) == 0) {
        *ret_uid = (uint32_t)number;
        return 0;
    }
    if (getpwnam_r(text, &pw, buf, sizeof(buf), &found) != 0 || !found)
        return -ENOENT;
    *ret_uid = found->pw_uid;
    return 0;
}
