/* fetchtls.c - how a host without a configuration encrypts its first connection; see fetchtls.h */
#include "configless/fetchtls.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "conf/tls/conf_tls.h"
#include "configless/confbundle.h"

int fetchtls_new(const char *ca_file, struct tls_ctx **ret_ctx, struct err *err)
{
    struct tls_config config = { .kind = ca_file ? TLS_FILES : TLS_AUTO,
                                 .any_server = !ca_file,
                                 .owner = geteuid() };

    if (ca_file && !(config.ca_file = strdup(ca_file)))
        return err_nomem(err);
    return tls_ctx_load(&config, ret_ctx, err);
}

int fetchtls_judge(const Pst__ConfBundle *b, struct err *err)
{
    _cleanup_(conf_free) struct conf *conf = NULL;
    struct tls_config config;
    enum tls_kind kind;
    int r = confbundle_load(b, CONF_CLIENT, &conf, err);

    if (r < 0)
        return r;
    r = conf_tls(conf, CONF_TLS_COMMAND, &config);
    if (r < 0)
        return err_nomem(err);
    kind = config.kind;
    tls_config_done(&config);
    return kind != TLS_FILES
               ? 0
               : err_set(
                     err, -EPERM,
                     "TLSType=%s there, and this host has no certificate of the authority: hand "
                     "it over with --ca-cert-file, or as ca_cert.pem where slurm.conf would be",
                     conf_str(conf, CONF_TLS_TYPE));
}
