/* podidentity.h - whose the job of pods is, and which account it may use
 *
 * Rules of the configuration say what a pod may be in Slurm by its namespace and service account,
 * which Kubernetes vouches for; annotations are the words of whoever writes the pod.  With rules, a
 * pod that none of them names has no job.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* What the configuration says under `identities`, which may be NULL.  The caller's: an array, empty
 * without rules.  Errors: -EINVAL (err names the item and what would be right), -ENOMEM. */
int podidentity_read(const json_t *list, json_t **ret, struct err *err);
/* Write user_id, group_id and account of the pods' rule into the job, which has what annotations of
 * root say.
 * Errors: -EPERM (err: no rule, two of them, or an annotation that asks for more), -ENOMEM. */
int podidentity_set(const json_t *rules, const json_t *pods, const json_t *root, json_t *job,
                    struct err *err);
