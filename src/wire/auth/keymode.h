/* keymode.h - may a file hold a secret, by its mode and owner?  Pure */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* Private to the user `uid` of group `gid`: others and the group have no access.  There is one
 * exception: root's file, which is given to a user by his group alone (as volumes of pods are), may
 * be read by that group. */
bool keymode_is_private(const struct stat *st, uid_t uid, gid_t gid);
