/* conf_tls.h - TLSType and TLSParameters, for who speaks
 *
 * Files that are not named are those of the incumbent's names beside the configuration file:
 * ca_cert.pem, ctld_cert.pem, ctld_cert_key.pem and so on. */
#pragma once

#include "base/process/tlsconfig.h"
#include "conf/conf_dbd.h"

/* Who speaks decides which certificate is its own. */
enum conf_tls_role {
    CONF_TLS_COMMAND, /* has none */
    CONF_TLS_CTLD,
    CONF_TLS_SLURMD,
    CONF_TLS_RESTD, /* none towards the daemons */
};

bool conf_use_tls(const struct conf *c);
/* Are there certificates that an authority signed?  Not with tls/auto. */
bool conf_tls_has_files(const struct conf *c);
/* kind TLS_NONE: connections are plain.  Caller calls tls_config_done().  -ENOMEM. */
int conf_tls(const struct conf *c, enum conf_tls_role role, struct tls_config *ret);
/* What slurmrestd shows at its addresses of https://, whatever TLSType is; as conf_tls(). */
int conf_restd_tls(const struct conf *c, struct tls_config *ret);
int conf_dbd_tls(const struct conf_dbd *c, struct tls_config *ret);
