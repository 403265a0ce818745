/* conf_tls.c - see conf_tls.h */
#include "conf/tls/conf_tls.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/wordlist.h"

/* tls/s2n is the name that people have in their files; the library is one. */
static enum tls_kind kind_of(const char *type)
{
    return !type || strcasecmp(type, "tls/none") == 0 ? TLS_NONE
           : strcasecmp(type, "tls/auto") == 0        ? TLS_AUTO
                                                      : TLS_FILES;
}

/* The file that PREFIX_cert_file= names, or PREFIX_cert.pem in the folder of the configuration. */
static char *file_of(const char *conf_path, const char *params, const char *word, const char *base)
{
    const char *slash = strrchr(conf_path, '/');
    int dir = slash ? (int)(slash - conf_path) + 1 : 0;
    size_t len = 0;
    const char *value = wordlist_option(params, word, &len);
    char *path = NULL;

    if (value && len)
        return strndup(value, len);
    return asprintf(&path, "%.*s%s", dir, conf_path, base) < 0 ? NULL : path;
}

/* The words of TLSParameters and the names of the files that they stand for. */
struct own_files {
    const char *cert_word, *key_word, *cert, *key;
};

static const struct own_files ctld_files = { "ctld_cert_file", "ctld_cert_key_file",
                                             "ctld_cert.pem", "ctld_cert_key.pem" };
static const struct own_files slurmd_files = { "slurmd_cert_file", "slurmd_cert_key_file",
                                               "slurmd_cert.pem", "slurmd_cert_key.pem" };
static const struct own_files dbd_files = { "dbd_cert_file", "dbd_cert_key_file", "dbd_cert.pem",
                                            "dbd_cert_key.pem" };

/* The name alone means yes.  Whatever is no word for yes trusts nobody more. */
static bool is_yes(const char *params, const char *word)
{
    static const char *const yes[] = { "", "yes", "true", "1" };
    size_t len = 0;
    const char *value = wordlist_option(params, word, &len);

    for (size_t i = 0; value && i < ARRAY_SIZE(yes); i++)
        if (strlen(yes[i]) == len && strncasecmp(value, yes[i], len) == 0)
            return true;
    return false;
}

/* own NULL: no certificate is shown. */
static int fill_config(const char *conf_path, const char *params, const struct own_files *own,
                       struct tls_config *c)
{
    size_t len = 0;
    const char *value;

    c->system_certs = is_yes(params, "load_system_certificates");
    if (c->kind == TLS_AUTO) {
        c->any_server = true;
        c->need_cert = own != NULL;
        return 0;
    }
    c->ca_file = file_of(conf_path, params, "ca_cert_file", "ca_cert.pem");
    value = wordlist_option(params, "crl_file", &len);
    if (value && len)
        c->crl_file = strndup(value, len);
    if (!c->ca_file || (value && len && !c->crl_file))
        return -ENOMEM;
    if (!own)
        return 0;
    c->need_cert = true;
    c->cert_file = file_of(conf_path, params, own->cert_word, own->cert);
    c->key_file = file_of(conf_path, params, own->key_word, own->key);
    return c->cert_file && c->key_file ? 0 : -ENOMEM;
}

bool conf_use_tls(const struct conf *c)
{
    return kind_of(conf_str(c, CONF_TLS_TYPE)) != TLS_NONE;
}

bool conf_tls_has_files(const struct conf *c)
{
    return kind_of(conf_str(c, CONF_TLS_TYPE)) == TLS_FILES;
}

int conf_tls(const struct conf *c, enum conf_tls_role role, struct tls_config *ret)
{
    const struct own_files *own = role == CONF_TLS_CTLD     ? &ctld_files
                                  : role == CONF_TLS_SLURMD ? &slurmd_files
                                                            : NULL;
    int r;

    *ret = (struct tls_config){ .kind = kind_of(conf_str(c, CONF_TLS_TYPE)) };
    if (ret->kind == TLS_NONE)
        return 0;
    ret->owner = role == CONF_TLS_SLURMD ? conf_slurmd_uid(c) : conf_slurm_uid(c);
    r = fill_config(conf_path(c), conf_str(c, CONF_TLS_PARAMETERS), own, ret);
    if (r < 0)
        tls_config_done(ret);
    return r;
}

int conf_restd_tls(const struct conf *c, struct tls_config *ret)
{
    const char *path = conf_path(c), *params = conf_str(c, CONF_TLS_PARAMETERS);

    *ret = (struct tls_config){ .kind = TLS_FILES, .need_cert = true, .owner = conf_slurm_uid(c) };
    ret->cert_file = file_of(path, params, "restd_cert_file", "restd_cert.pem");
    ret->key_file = file_of(path, params, "restd_cert_key_file", "restd_cert_key.pem");
    if (ret->cert_file && ret->key_file)
        return 0;
    tls_config_done(ret);
    return -ENOMEM;
}

int conf_dbd_tls(const struct conf_dbd *c, struct tls_config *ret)
{
    int r;

    *ret = (struct tls_config){ .kind = kind_of(conf_dbd_str(c, CONF_DBD_TLS_TYPE)) };
    if (ret->kind == TLS_NONE)
        return 0;
    ret->owner = conf_dbd_slurm_uid(c);
    r = fill_config(conf_dbd_path(c), conf_dbd_str(c, CONF_DBD_TLS_PARAMETERS), &dbd_files, ret);
    if (r < 0)
        tls_config_done(ret);
    return r;
}
