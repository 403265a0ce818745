/* conf_tokens.h - AuthAltParameters, as far as it says which bearer tokens are believed */
#pragma once

#include "base/process/tokenconfig.h"
#include "conf/conf_dbd.h"

/* Caller calls token_rules_done().  Without jwt_key= and jwks= the key file is
 * StateSaveLocation/jwt_hs256.key where that exists, which is the incumbent's default.  -ENOMEM. */
int conf_tokens(const struct conf *c, struct token_rules *ret);
int conf_dbd_tokens(const struct conf_dbd *c, struct token_rules *ret);
