/* hookreview.h - AdmissionReview (admission.k8s.io/v1): what an API server asks, and the answer
 *
 * Whoever reaches the port may send one: nothing is trusted beyond being JSON of this kind.
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Bytes of a review: an object, and what it was before, of 1.5 MiB each and more. */
#define HOOKREVIEW_MAX (8u << 20)
/* Lists, objects and their members: what they take in memory is many times their text. */
#define HOOKREVIEW_VALUES 100000u

struct hookreview {
    json_t *tree; /* owned; all others are in it */
    const char *uid, *operation, *namespace_, *sub, *user;
    const json_t *object, *before; /* NULL: there is none */
};

/* Errors: -EINVAL (err says what is wrong), -ENOMEM. */
int hookreview_read(const char *text, size_t len, struct hookreview *ret, struct err *err);
void hookreview_done(struct hookreview *r);

struct hookanswer {
    bool refused;
    char text[1000];  /* why */
    json_t *warnings; /* an array; NULL: none */
    json_t *patch;    /* RFC 6902, an array; NULL: none */
};

/* Refuse with a sentence; the first one stays. */
void hookanswer_refuse(struct hookanswer *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* What the user reads and may ignore; at most 256 bytes of it. */
void hookanswer_warn(struct hookanswer *a, const char *text);
/* One operation of the patch: op "add" or "replace"; value is taken. */
void hookanswer_change(struct hookanswer *a, const char *op, const char *path, json_t *value);
/* The AdmissionReview that answers.  The caller's; NULL: no memory.  a is emptied. */
json_t *hookanswer_make(struct hookanswer *a, const struct hookreview *r);
