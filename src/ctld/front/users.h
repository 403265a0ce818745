/* users.h - user and group names, looked up off the core thread and remembered for a while */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct users;
int users_new(struct users **ret);
/* So long is remembered what was looked up.  Without it ten minutes. */
void users_set_life(struct users *u, int64_t life_us);
struct users *users_free(struct users *u);
/* Name of uid and the comma list of its groups' names; caller frees; NULL when unknown.  May ask
 * the name service (blocks).  Thread-safe. */
void users_lookup(struct users *u, uid_t uid, char **ret_name, char **ret_groups);
/* use_client_ids: another host says that this is the user's name, and that these are all of his
 * groups, his own one first, which holds where the name service of this host knows no such user.
 * Groups have the names that they have here, else their numbers.  Thread-safe. */
void users_learn(struct users *u, uid_t uid, const char *name, const gid_t *gids, size_t n);
