/* kubecred.h - the token and certificate of the next request
 *
 * A token file is read again every minute and after a request was refused (401); an exec plugin is
 * asked again before what it gave runs out.  Waiting for a plugin blocks, KUBECRED_EXEC_MS at most.
 * One thread. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "kube/api/kubeconfig.h"

#define KUBECRED_EXEC_MS 15000

struct kubecred;

/* config is borrowed and must live as long.  -ENOMEM. */
int kubecred_new(const struct kubeconfig *config, struct kubecred **ret);
struct kubecred *kubecred_free(struct kubecred *c); /* always NULL */
/* What it is now; *ret_token, and certificate and key as PEM, are NULL when there is none.
 * Borrowed until the next call.  Errors: those of files and programs, err says which. */
int kubecred_get(struct kubecred *c, int64_t now_us, const char **ret_token,
                 const char **ret_cert_pem, const char **ret_key_pem, struct err *err);
/* The server did not believe it: make it anew for the next request. */
void kubecred_forget(struct kubecred *c);
/* The answer of an exec plugin: its token, certificate and key (NULL: none; the caller frees) and
 * when they run out (INT64_MAX: never).  Pure.  -EINVAL. */
int kubecred_read_exec(const char *text, size_t len, char **ret_token, char **ret_cert,
                       char **ret_key, int64_t *ret_until_us, struct err *err);
