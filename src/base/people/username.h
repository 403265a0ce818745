/* username.h - the name under which a user's tokens and accounting go
 *
 * Asks the name service, so it may block.  Thread-safe. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* The name of uid.  A uid without a name goes by its number.  -ENOENT: that number is the name of
 * another user, the name service does not say, or the name does not fit into buf. */
int username_of(uid_t uid, char *buf, size_t size);
