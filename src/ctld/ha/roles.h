/* roles.h - the lines of SlurmctldHost, and which of them is this controller */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"

/* How many controllers are configured. */
size_t roles_count(const struct conf *conf);
/* The line that names this host, as it is or up to the first dot; with one line alone it is that
 * one.  *ret_addr is where it is reached.  -EINVAL: none does. */
int roles_find(const struct conf *conf, const char *host, size_t *ret_index, const char **ret_addr,
               struct err *err);
