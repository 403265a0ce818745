/* sslfew.h - a context of OpenSSL with the ciphers and digests of TLS 1.3 alone (private to
 * wire/tls/)
 *
 * OpenSSL makes all 140 ciphers of its provider when it is asked for the first, which takes a
 * command longer than the whole handshake.  The context here has a provider of our own that hands
 * out what the default provider has, but of ciphers and digests those alone that TLS uses. */
#pragma once

#include "wire/tls/ssllib.h"

/* For ssllib_context(): once in a process, before anything else uses the library; the result lives
 * as long as the process.  The numbers that keys are made of come from the kernel from now on,
 * without a generator in between.  NULL: use the usual context, for openssl.cnf chooses other
 * providers, or the library failed. */
OSSL_LIB_CTX *sslfew_context(struct ssllib *lib);
