/* roles.h - the lines of SlurmctldHost, and which of them is this controller */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"

/* How many controllers are configured. */
size_t roles_count(const struct conf *conf);
/* The line that names this host, in full or up to the first dot.  Where there is one line, it is
 * that line, whatever the host is called.  *ret_addr: where others reach this host.  -EINVAL: no
 * line names this host. */
int roles_find(const struct conf *conf, const char *host, size_t *ret_index, const char **ret_addr,
               struct err *err);
