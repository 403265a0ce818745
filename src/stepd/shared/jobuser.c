/* jobuser.c - see jobuser.h */
#include "stepd/shared/jobuser.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "base/people/groups.h"

#define TEXT_BYTES 16384u /* of a user's line */
#define NUMBER_BYTES 16u

_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "groups_of() gives what records hold");

static const char *text_or(const char *text, const char *other)
{
    return text ? text : other;
}

/* Those of the launch, of the user's host, or of the name service: the first that there are. */
static int find_groups(const Pst__JobOnNode *on, struct job_user *u)
{
    const Pst__ClientIdent *id = on->job->client_ident;
    int r = 0;

    if (on->n_gids) {
        u->gids = on->gids;
        u->ngids = on->n_gids;
    } else if (id && id->n_gids) {
        u->gids = id->gids;
        u->ngids = id->n_gids;
    } else {
        r = groups_of(u->name, on->job->gid, &u->found, &u->ngids, NULL);
        u->gids = u->found;
    }
    return r;
}

int jobuser_find(const Pst__JobOnNode *on, struct job_user *ret)
{
    const Pst__JobRecord *j = on->job;
    const Pst__ClientIdent *id = j->client_ident;
    struct job_user u = { .text = malloc(TEXT_BYTES + NUMBER_BYTES) };
    struct passwd pw, none = { 0 }, *found = NULL;
    int r;

    if (!u.text)
        return -ENOMEM;
    if (!id && getpwuid_r(j->uid, &pw, u.text, TEXT_BYTES, &found) != 0)
        found = NULL; /* as when nobody knows the number */
    found = found ? found : &none;
    u.name = text_or(j->user_name, text_or(id ? id->name : NULL, found->pw_name));
    u.named = u.name != NULL;
    if (!u.named) {
        (void)snprintf(u.text + TEXT_BYTES, NUMBER_BYTES, "%u", j->uid); /* fits */
        u.name = u.text + TEXT_BYTES;
    }
    u.gecos = text_or(id ? id->gecos : found->pw_gecos, "");
    u.home = text_or(id ? id->home : found->pw_dir, "");
    u.shell = text_or(id ? id->shell : found->pw_shell, "");
    r = find_groups(on, &u);
    if (r < 0)
        jobuser_done(&u);
    else
        *ret = u;
    return r;
}

void jobuser_done(struct job_user *u)
{
    free(u->text);
    free(u->found);
    *u = (struct job_user){ 0 };
}
