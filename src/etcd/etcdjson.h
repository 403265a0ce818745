/* etcdjson.h - requests to etcd's JSON gateway, and its answers
 *
 * Keys and values travel as base64, 64-bit numbers as strings, and what is zero, false or empty is
 * left out.  Pure; an answer is an enemy's until it was read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

#define ETCD_ANSWER_MAX (24u << 20) /* bytes of an answer that is read at all */
#define ETCD_KEY_MAX 512u
#define ETCD_KVS_MAX 1024u

struct etcd_kv {
    char key[ETCD_KEY_MAX];
    uint8_t *value;
    size_t len;
};

struct etcd_kvs {
    struct etcd_kv *v; /* in the order of the answer */
    size_t n;
};

struct etcd_answer {
    bool succeeded;   /* of a transaction */
    int64_t revision; /* of the store */
    struct etcd_kvs kvs;
};

void etcd_kvs_done(struct etcd_kvs *kvs);
void etcd_answer_done(struct etcd_answer *a);

void etcd_add_base64(struct strbuf *sb, const void *data, size_t n);
/* Into memory that the caller frees.  -EBADMSG: no base64. */
int etcd_read_base64(const char *text, size_t n, uint8_t **ret, size_t *ret_len);

/* The answer to a range or a transaction (kvs of a range only).  -EBADMSG, -ENOMEM. */
int etcd_read_answer(const char *text, size_t n, struct etcd_answer *ret, struct err *err);
/* A request for a token, which the caller frees; NULL: no memory, or no UTF-8. */
char *etcd_login_text(const char *user, const char *password);
/* The token of the answer to it.  -EBADMSG: there is none, or none that a header can have. */
int etcd_read_token(const char *text, size_t n, char *out, size_t size);
/* The sentence in an answer that is an error; cut, never empty. */
void etcd_read_error(const char *text, size_t n, char *out, size_t size);
