/* out_users.h - names of user and group ids, each looked up once
 *
 * One cache per process, any thread.  Records carry the names of their time, which are preferred:
 * then no name service is asked at all. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

const char *user_name_of(uid_t uid);  /* "nobody" for unknown ids; lives as long as the process */
const char *group_name_of(gid_t gid); /* decimal number for unknown ids */
/* A user given by name or number.  Errors: -ENOENT unknown. */
int user_id_of(const char *text, uint32_t *ret_uid);
