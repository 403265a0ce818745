/* conf_certmgr.c - CertmgrType and CertmgrParameters; see conf_certmgr.h */
#include "conf/tls/conf_certmgr.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "conf/tls/conf_tls.h"

#define PERIOD_MIN 1440u
#define PERIOD_MAX 525600u

static const struct {
    const char *word;
    bool node, optional;
} scripts[CERTMGR_SCRIPT_MAX_] = {
    [CERTMGR_GET_TOKEN] = { "get_node_token_script", true, true },
    [CERTMGR_GENERATE] = { "generate_csr_script", true, false },
    [CERTMGR_GET_KEY] = { "get_node_cert_key_script", true, false },
    [CERTMGR_VALIDATE] = { "validate_node_script", false, true },
    [CERTMGR_SIGN] = { "sign_csr_script", false, false },
};

bool conf_use_certmgr(const struct conf *c)
{
    const char *type = conf_str(c, CONF_CERTMGR_TYPE);

    return type && strcasecmp(type, "certmgr/script") == 0 && conf_tls_has_files(c);
}

const char *conf_certmgr_word(enum certmgr_script which)
{
    return scripts[which].word;
}

int conf_certmgr_script(const struct conf *c, enum certmgr_script which, char **ret_path)
{
    size_t len = 0;
    const char *value =
        wordlist_option(conf_str(c, CONF_CERTMGR_PARAMETERS), scripts[which].word, &len);

    *ret_path = value && len ? strndup(value, len) : NULL;
    return *ret_path || !(value && len) ? 0 : -ENOMEM;
}

/* 1 with *ret; 0: not given; -EINVAL: no number of minutes of a year. */
static int read_period(const struct conf *c, int64_t *ret)
{
    size_t len = 0;
    const char *value =
        wordlist_option(conf_str(c, CONF_CERTMGR_PARAMETERS), "certificate_renewal_period", &len);
    char text[16] = "";

    if (!value)
        return 0;
    if (len >= sizeof(text))
        return -EINVAL;
    memcpy(text, value, len);
    return parse_i64(text, 1, PERIOD_MAX, ret) < 0 ? -EINVAL : 1;
}

int conf_certmgr_check(const struct conf *c, bool node, struct err *err)
{
    if (read_period(c, &(int64_t){ 0 }) < 0)
        return err_set(err, -EINVAL,
                       "CertmgrParameters: certificate_renewal_period wants a number of minutes "
                       "from 1 to %u",
                       PERIOD_MAX);
    for (unsigned i = 0; i < CERTMGR_SCRIPT_MAX_; i++) {
        _cleanup_free_ char *path = NULL;

        if (scripts[i].node != node)
            continue;
        if (conf_certmgr_script(c, i, &path) < 0)
            return err_nomem(err);
        if (!path && !scripts[i].optional)
            return err_set(err, -EINVAL, "CertmgrType=certmgr/script needs CertmgrParameters=%s=",
                           scripts[i].word);
        if (path && path[0] != '/')
            return err_set(err, -EINVAL,
                           "CertmgrParameters: %s wants an absolute path, not \"%.255s\"",
                           scripts[i].word, path);
    }
    return 0;
}

bool conf_certmgr_single_use(const struct conf *c)
{
    return wordlist_option(conf_str(c, CONF_CERTMGR_PARAMETERS), "single_use_tokens",
                           &(size_t){ 0 }) != NULL;
}

unsigned conf_certmgr_period_min(const struct conf *c)
{
    int64_t n;

    return read_period(c, &n) == 1 ? (unsigned)n : PERIOD_MIN;
}
