/* keymode.c - see keymode.h */
#include "wire/auth/keymode.h"

bool keymode_is_private(const struct stat *st, uid_t uid, gid_t gid)
{
    bool given = st->st_uid == 0 && uid != 0 && st->st_gid == gid;

    return (st->st_mode & (given ? S_IWGRP | S_IRWXO : S_IRWXG | S_IRWXO)) == 0;
}
