/* dmntarget.h - how a daemon reaches the controllers that its configuration names
 *
 * Any thread. */
#pragma once

#include "conf/conf.h"
#include "wire/client.h"

/* Port, cluster, identity and patience for a call of `program`; the caller sets the host, and what
 * else is its own.  Strings belong to conf. */
struct client_target dmntarget_controller(const struct conf *conf, const char *program);
