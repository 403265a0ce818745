/* tokenconfig.h - what a program is told of bearer tokens; who reads it is wire/auth/tokens.h */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What the claims of a token are asked for. */
struct jwt_rules {
    char *user_claim;     /* userclaimfield=; NULL: sun, else username */
    bool client_ids;      /* use_jwt_client_ids: the token may say the numbers of its user */
    bool client_ids_only; /* use_jwt_client_ids_only: it must */
};

/* What AuthAltParameters says. */
struct token_rules {
    char *key_file;  /* jwt_key=; NULL: the cluster's keys */
    char *jwks_file; /* jwks=; NULL: none */
    struct jwt_rules jwt;
};

static inline void token_rules_done(struct token_rules *r)
{
    free(r->key_file);
    free(r->jwks_file);
    free(r->jwt.user_claim);
    memset(r, 0, sizeof(*r));
}
