/* tgrequest.h - a request for a topology: where it comes from, how it is written, for which nodes
 *
 *     {"provider": {"name": "...", "params": {...}},
 *      "engine": {"name": "...", "params": {...}},
 *      "nodes": [{"region": "...", "instances": {"INSTANCE": "NODE"}}]}
 *
 * What is missing comes from the defaults; parameters are filled in key by key.  Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "topograph/graph.h"

struct tgrequest {
    const char *provider, *engine; /* of the objects below */
    json_t *provider_params, *engine_params;
    json_t *document; /* what was sent, filled in; owns all of these */
    struct graph_wanted wanted;
    bool has_nodes; /* else every node that is described */
};

/* What of a stranger's request is not taken as it is: names of files become those of the data
 * folder, programs and paths of this machine are refused.  NULL: the request is the operator's
 * own. */
struct tgrequest_stranger {
    const char *data; /* folder; NULL: requests may name no files */
};

/* text may be empty.  defaults is an object as a request, NULL: none.  Errors: -EINVAL, -ENOMEM. */
int tgrequest_parse(const char *text, size_t len, const json_t *defaults,
                    const struct tgrequest_stranger *stranger, struct tgrequest *ret,
                    struct err *err);
/* As the operator has it; document is taken, on success only. */
int tgrequest_make(json_t *document, struct tgrequest *ret, struct err *err);
void tgrequest_done(struct tgrequest *q);

/* What is asked for, whoever asks and for which nodes: the same request has the same id. */
#define TGREQUEST_ID_SIZE 17u
int tgrequest_id(const struct tgrequest *q, char id[TGREQUEST_ID_SIZE]); /* -ENOMEM */

/* Of parameters.  A value of another kind: -EINVAL with a sentence. */
int tgrequest_text(const json_t *params, const char *key, const char **ret, struct err *err);
int tgrequest_flag(const json_t *params, const char *key, bool *ret, struct err *err);
int tgrequest_count(const json_t *params, const char *key, uint64_t most, uint64_t *ret,
                    struct err *err);
/* A text or a list of texts, one after the other: NULL behind the last. */
int tgrequest_nth(const json_t *params, const char *key, size_t i, const char **ret,
                  struct err *err);
/* No other keys than these (ended by NULL). */
int tgrequest_keys(const json_t *params, const char *what, const char *const *keys,
                   struct err *err);
