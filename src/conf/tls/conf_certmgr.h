/* conf_certmgr.h - CertmgrType and CertmgrParameters: scripts that get nodes their certificates
 *
 * The words are the incumbent's (reference: "TLS", certmgr/script). */
#pragma once

#include "conf/conf.h"

enum certmgr_script {
    CERTMGR_GET_TOKEN, /* node: prints what it shows to get its first certificate */
    CERTMGR_GENERATE,  /* node: prints a request (CSR) */
    CERTMGR_GET_KEY,   /* node: prints the private key */
    CERTMGR_VALIDATE,  /* slurmctld: is the token good? */
    CERTMGR_SIGN,      /* slurmctld: prints the certificate for a request */
    CERTMGR_SCRIPT_MAX_
};

/* Are certificates of nodes signed by scripts?  Only with a TLSType that has certificates. */
bool conf_use_certmgr(const struct conf *c);
/* The path of a script, which the caller frees; *ret_path is NULL where none is named.  -ENOMEM. */
int conf_certmgr_script(const struct conf *c, enum certmgr_script which, char **ret_path);
/* "sign_csr_script" */
const char *conf_certmgr_word(enum certmgr_script which);
/* Can this side of the cluster do its part?  -EINVAL: a script is missing or no absolute path, or
 * certificate_renewal_period is no number of minutes. */
int conf_certmgr_check(const struct conf *c, bool node, struct err *err);
/* A CertToken= counts for one certificate. */
bool conf_certmgr_single_use(const struct conf *c);
/* After how long a node asks for the next certificate. */
unsigned conf_certmgr_period_min(const struct conf *c);
