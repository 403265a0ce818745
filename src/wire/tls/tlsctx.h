/* tlsctx.h - what a program knows for TLS: its certificate, whom it trusts
 *
 * Made from the configuration, immutable, counted and shared by threads; a reload makes another
 * one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/process/tlsconfig.h"

struct tls_ctx;

/* Before the first context.  A program that lives for one piece of work loads OpenSSL without what
 * only others need: a quarter less time.  Not for a library, nor a program with plugins, which may
 * need the rest.  One thread. */
void tls_be_brief(bool brief);

/* err has one sentence, which names the file.  Errors: -ENOSYS no OpenSSL, -EACCES rights of a
 * file, -EINVAL its contents, what open(2) says. */
int tls_ctx_new(const struct tls_config *config, struct tls_ctx **ret_ctx, struct err *err);
/* As a configuration has it: NULL where it asks for none.  Takes what is in config. */
int tls_ctx_load(struct tls_config *config, struct tls_ctx **ret_ctx, struct err *err);
/* For connections of steps alone, which have keys and no certificates. */
int tls_ctx_of_keys(struct tls_ctx **ret_ctx, struct err *err);
struct tls_ctx *tls_ctx_ref(struct tls_ctx *ctx);   /* of NULL: NULL */
struct tls_ctx *tls_ctx_unref(struct tls_ctx *ctx); /* always NULL */
DEFINE_CLEANUP(struct tls_ctx *, tls_ctx_unref)
