/* restsignin.c - a browser's word becomes a token; see restsignin.h */
#include "rest/slurm/restsignin.h"

#include <errno.h>
#include <string.h>

#include "api.pb-c.h"
#include "http/http.h"
#include "rest/rest_impl.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define SOURCE "signin()"
#define WORD_CHARACTERS 32u

static bool looks_right(const char *word)
{
    return word && strlen(word) == WORD_CHARACTERS &&
           strspn(word, "0123456789abcdef") == WORD_CHARACTERS;
}

/* A token that came to be is no use where tokens are not read. */
static bool reads_tokens(struct rest_call *call)
{
    if (call->rest->config.jwt)
        return true;
    rest_error(call, ESLURM_DISABLED, SOURCE, "No tokens are read here (rest_auth/jwt)");
    return false;
}

/* 511 is for tokens: a word that is over is a request that cannot be carried out. */
static void tell_refusal(struct rest_call *call, struct client *c, int r)
{
    const char *said = NULL;

    if (r == -EREMOTEIO && client_error(c, &said) == ESLURM_AUTH_EXPIRED)
        rest_error_said(call, ESLURM_AUTH_EXPIRED, said, SOURCE, "Unable to sign in");
    else
        rest_failed(call, c, r, SOURCE, "Unable to sign in");
}

static void post_signin(struct rest_call *call)
{
    Pst__TokenRequest req = PST__TOKEN_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    const char *word = call->body ? rest_text(call->body, "word") : NULL;
    struct client *c;
    int r;

    if (!looks_right(word)) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, SOURCE,
                   "word: 32 hexadecimal digits are wanted");
        return;
    }
    if (!reads_tokens(call) || !(c = rest_ctld(call, SOURCE)))
        return;
    req.word = (char *)(uintptr_t)word; /* only read */
    r = client_call(c, OP_TOKEN, &req.base, &reply);
    if (r < 0) {
        tell_refusal(call, c, r);
        return;
    }
    json_str(&call->js, "token", ((const Pst__TokenReply *)reply)->token);
    protobuf_c_message_free_unpacked(reply, NULL);
}

const struct rest_row rest_signin_rows[] = {
    { "POST", REST_PENSTOCK, "signin", 0, post_signin, false, true },
    { 0 },
};
