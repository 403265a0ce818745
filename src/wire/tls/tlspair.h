/* tlspair.h - a key pair made here, and a certificate by itself (private to wire/tls/) */
#pragma once

#include <stdint.h>

#include "wire/tls/ssllib.h"

/* A fresh key (P-256).  NULL: the library failed. */
EVP_PKEY *tlspair_key(const struct ssllib *lib);
/* A certificate for key in the name `cn`, signed by itself.  NULL: the library failed. */
X509 *tlspair_certificate(const struct ssllib *lib, const char *cn, EVP_PKEY *key, int64_t life_s);
