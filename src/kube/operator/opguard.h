/* opguard.h - fields that may not change, without a webhook
 *
 * What they were when an object was made stands in an annotation of that object.  While the custom
 * resource says something else, nothing is made of it. */
#pragma once

#include "kube/operator/operator_impl.h"

/* Has the resource (as it was read) a field that may not change, and that is another than the one
 * its objects were made of?  f: of it, or for a Controller of who names it.  revisions: all that
 * there are, of NodeSets; NULL for others.  err: a sentence. */
bool opguard_refuses(const struct mkbase_facts *f, const json_t *raw,
                     const struct kubeinformer *revisions, struct err *err);
/* Note the fields on the object that keeps them; on any other nothing.  -ENOMEM. */
int opguard_note(const struct opwork *w, json_t *object);
/* The name of a Token's Secret, unless it says another. */
void opguard_write_token(const json_t *token, char *buf, size_t size);
