/* dmntokens.c - the bearer tokens that a daemon believes; see dmntokens.h */
#include "daemon/dmntokens.h"

#include "conf/conf_tokens.h"

/* Takes what is in rules. */
static int make_tokens(int r, struct token_rules *rules, struct auth_keys *keys,
                       struct auth_tokens **ret, struct err *err)
{
    if (r < 0)
        return err_nomem(err);
    r = auth_tokens_new(rules, keys, ret, err);
    token_rules_done(rules);
    if (r < 0)
        err_prefix(err, "AuthAltParameters");
    return r;
}

int daemon_tokens(const struct conf *c, struct auth_keys *keys, struct auth_tokens **ret,
                  struct err *err)
{
    struct token_rules rules = { 0 };
    /* Words of a way that is not configured name no files to be read. */
    int r = conf_use_jwt(c) ? conf_tokens(c, &rules) : 0;

    return make_tokens(r, &rules, keys, ret, err);
}

int daemon_dbd_tokens(const struct conf_dbd *c, struct auth_keys *keys, struct auth_tokens **ret,
                      struct err *err)
{
    struct token_rules rules;

    return make_tokens(conf_dbd_tokens(c, &rules), &rules, keys, ret, err);
}
