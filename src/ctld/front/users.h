/* users.h - user and group names, looked up off the core thread and remembered for a while */
#pragma once

#include <sys/types.h>

struct users;
int users_new(struct users **ret);
struct users *users_free(struct users *u);
/* Name of uid and the comma list of its groups' names; caller frees; NULL when unknown.  May ask
 * the name service (blocks).  Thread-safe. */
void users_lookup(struct users *u, uid_t uid, char **ret_name, char **ret_groups);
