/* dmntokens.h - the bearer tokens that a daemon believes, as its configuration says */
#pragma once

#include "conf/conf_dbd.h"
#include "wire/auth/tokens.h"

/* A reference to keys (NULL: none) is taken.  Errors: those of auth_tokens_new(). */
int daemon_tokens(const struct conf *c, struct auth_keys *keys, struct auth_tokens **ret,
                  struct err *err);
int daemon_dbd_tokens(const struct conf_dbd *c, struct auth_keys *keys, struct auth_tokens **ret,
                      struct err *err);
