/* conf_tokens.c - which bearer tokens are believed; see conf_tokens.h */
#include "conf/conf_tokens.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/wordlist.h"

#define USUAL_KEY "jwt_hs256.key"

static bool has_word(const char *list, const char *word)
{
    size_t len;

    return wordlist_option(list, word, &len);
}

static int copy_value(const char *list, const char *word, char **ret)
{
    size_t len = 0;
    const char *value = wordlist_option(list, word, &len);

    if (!value || !len)
        return 0;
    *ret = strndup(value, len);
    return *ret ? 0 : -ENOMEM;
}

static int find_usual_key(const char *state_dir, char **ret)
{
    char *path = NULL;

    if (!state_dir)
        return 0;
    if (asprintf(&path, "%s/" USUAL_KEY, state_dir) < 0)
        return -ENOMEM;
    if (access(path, F_OK) < 0) {
        free(path);
        return 0;
    }
    *ret = path;
    return 0;
}

static int fill_rules(const char *params, const char *state_dir, struct token_rules *ret)
{
    struct token_rules rules = {
        .jwt = { .client_ids = has_word(params, "use_jwt_client_ids"),
                 .client_ids_only = has_word(params, "use_jwt_client_ids_only") },
    };
    int r = copy_value(params, "jwt_key", &rules.key_file);

    if (r == 0)
        r = copy_value(params, "jwks", &rules.jwks_file);
    if (r == 0)
        r = copy_value(params, "userclaimfield", &rules.jwt.user_claim);
    if (r == 0 && !rules.key_file && !rules.jwks_file)
        r = find_usual_key(state_dir, &rules.key_file);
    if (r < 0)
        token_rules_done(&rules);
    else
        *ret = rules;
    return r;
}

int conf_tokens(const struct conf *c, struct token_rules *ret)
{
    return fill_rules(conf_str(c, CONF_AUTH_ALT_PARAMETERS), conf_str(c, CONF_STATE_SAVE_LOCATION),
                      ret);
}

int conf_dbd_tokens(const struct conf_dbd *c, struct token_rules *ret)
{
    return fill_rules(conf_dbd_str(c, CONF_DBD_AUTH_ALT_PARAMETERS), NULL, ret);
}
