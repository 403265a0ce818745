/* hookcert.h - a certificate for a webhook, signed by itself; how long one is good
 *
 * Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define HOOKCERT_LIFE_S (INT64_C(365) * 86400)

/* A fresh pair (P-256) for a name of DNS, as PEM; the caller frees, and wipes the key.
 * Errors: -EIO (OpenSSL failed), -ENOMEM. */
int hookcert_make(const char *dns, int64_t life_s, char **ret_cert, char **ret_key,
                  struct err *err);
/* Of the first certificate of a PEM: seconds that are left (negative: it has run out), and of its
 * whole life; is it for the name?  -EINVAL: it is none. */
int hookcert_read(const char *cert_pem, const char *dns, int64_t now_s, int64_t *ret_left_s,
                  int64_t *ret_life_s, bool *ret_fits);
