/* kubeinformer.h - all objects of a kind, as they are now
 *
 * The objects are listed page by page, then followed by a watch.  A watch that was cut goes on
 * where it was; when the server no longer knows where that is (410), or says what cannot be read,
 * the objects are listed anew and what changed meanwhile is told as changes.  An object that is
 * missing is told as deleted only by a watch or by a whole list, never because a request failed.
 *
 * Objects are known by their uid: one that was deleted and made again under its name is two.
 * One thread: the loop's.  Handlers are called on it, one at a time. */
#pragma once

#include "kube/api/kubeapi.h"

struct kubeinformer;

/* before NULL: the object is new; now NULL: it is gone.  Borrowed. */
typedef void kubeinformer_fn(void *ctx, const json_t *before, const json_t *now);

struct kubeinformer_options {
    const struct kubekind *kind;
    const char *namespace_; /* or several, with commas: each is listed and watched; NULL: all */
    const char *selector;   /* more of the query, as "labelSelector=a%3Db"; NULL: none */
    unsigned page;          /* 0: 500 */
    int watch_s;            /* a watch is begun anew after about so long; 0: 300 */
    kubeinformer_fn *fn;
    void (*synced)(void *ctx); /* the first lists are whole; NULL: nobody wants to know */
    void (*back)(void *ctx);   /* the server answers again after it did not; NULL: likewise */
    void *ctx;
};

/* Begin.  The texts of o are borrowed.  -ENOMEM. */
int kubeinformer_new(struct kubeserver *s, const struct kubeinformer_options *o,
                     struct kubeinformer **ret);
struct kubeinformer *kubeinformer_free(struct kubeinformer *i); /* always NULL */
bool kubeinformer_is_synced(const struct kubeinformer *i);
/* Borrowed until the next turn of the loop; NULL: there is none. */
const json_t *kubeinformer_by_uid(const struct kubeinformer *i, const char *uid);
const json_t *kubeinformer_by_name(const struct kubeinformer *i, const char *namespace_,
                                   const char *name);
size_t kubeinformer_count(const struct kubeinformer *i);
/* Call fn for each object. */
void kubeinformer_walk(const struct kubeinformer *i, void (*fn)(void *ctx, const json_t *object),
                       void *ctx);
