/* conf_dbd.h - slurmdbd.conf as typed data
 *
 * Immutable once loaded; any thread. */
#pragma once

#include "conf/conf.h"

enum conf_dbd_key {
#define DBD_KEY(sym, ...) CONF_DBD_##sym,
#include "conf/conf_keys.def"
    CONF_DBD_MAX_
};

struct conf_dbd;

/* Path used when none is given: slurmdbd.conf beside slurm.conf. */
int conf_dbd_default_path(char **ret_path);
/* As conf_load(); and its file must belong to SlurmUser or root and be for its owner's eyes (group
 * may read): it holds a password.  -EACCES otherwise. */
int conf_dbd_load(const char *path, struct conf_dbd **ret, struct conf_problems *problems,
                  struct err *err);
struct conf_dbd *conf_dbd_free(struct conf_dbd *c); /* always NULL */

const char *conf_dbd_path(const struct conf_dbd *c); /* of the file */
const char *conf_dbd_str(const struct conf_dbd *c,
                         enum conf_dbd_key key); /* NULL: unset, no default */
uint64_t conf_dbd_num(const struct conf_dbd *c, enum conf_dbd_key key);
bool conf_dbd_bool(const struct conf_dbd *c, enum conf_dbd_key key);
/* Purge*After as hours; 0: never.  A month counts 30 days. */
uint64_t conf_dbd_age(const struct conf_dbd *c, enum conf_dbd_key key);
/* Each key's name and value as it stands (a password is not told), in the order of names. */
void conf_dbd_each(const struct conf_dbd *c,
                   void (*fn)(void *ctx, const char *name, const char *value), void *ctx);
/* MaxQueryTimeRange in seconds; 0: any range. */
uint64_t conf_dbd_max_range_s(const struct conf_dbd *c);
uid_t conf_dbd_slurm_uid(const struct conf_dbd *c);
const char *
conf_dbd_key_file(const struct conf_dbd *c); /* AuthInfo keyfile=, else slurm.key beside */
const char *conf_dbd_munge_socket(const struct conf_dbd *c); /* AuthInfo socket=, else NULL */
bool conf_dbd_use_munge(const struct conf_dbd *c);
bool conf_dbd_use_jwt(const struct conf_dbd *c); /* AuthAltTypes names auth/jwt */
