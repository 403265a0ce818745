/* tls_impl.h - what the files of wire/tls/ share (private to them) */
#pragma once

#include <stdatomic.h>
#include <time.h>

#include "wire/tls/ssllib.h"
#include "wire/tls/tls.h"

struct tls_ctx {
    const struct ssllib *lib;
    SSL_CTX *ssl;
    BIO_METHOD *bio;
    bool any_server;
    bool own_pair; /* our certificate is by ourselves: servers alone show it */
    atomic_uint refs;
};
