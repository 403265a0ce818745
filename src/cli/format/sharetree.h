/* sharetree.h - the shares of associations as a tree: sshare and REST
 *
 * The controller answers with a record an association, in no order; they are kept, made a tree and
 * listed from the top: users of an account first, then the accounts below it, by name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api.pb-c.h"
#include "cli/format/json_out.h"
#include "wire/client.h"

struct share { /* a record, and its place in the tree */
    Pst__ShareRecord *rec;
    struct share *parent, *child, *sibling;
    bool root;
};

struct sharetree {
    struct share *list;
    size_t n, cap;
    struct share *root;      /* NULL: there is none */
    Pst__ShareRecord *names; /* of TRES; NULL: nothing came */
};

/* Load all of them; tres: what is used of each TRES too.  Zeroed before; done in every case.
 * Errors: as client_call(), -ENOMEM. */
int sharetree_load(struct client *c, bool tres, struct sharetree *ret);
void sharetree_done(struct sharetree *t);

/* What a share has of a TRES; NULL: nothing. */
const Pst__ShareTres *share_tres(const struct share *w, uint32_t id);

typedef bool share_shown_fn(void *ctx, const struct share *w);
typedef void share_visit_fn(void *ctx, const struct share *w, unsigned depth);
/* Visit those that are shown, parents first; depth counts shown parents. */
void sharetree_walk(const struct sharetree *t, share_shown_fn *shown, share_visit_fn *visit,
                    void *ctx);

void share_json(struct json *js, const struct sharetree *t, const struct share *w,
                const char *cluster);
