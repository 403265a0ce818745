/* opspec.h - custom resources: their defaults, and what is refused
 *
 * Objects come from anybody who may write them: nothing is trusted beyond being JSON.  Pure. */
#pragma once

#include "base/err.h"
#include "kube/make/opkinds.h"

/* A copy of an object that is served, with its defaults.  Fields that we do not know are kept.
 * Errors: -EINVAL (err names the field and what would be right), -ENOMEM. */
int opspec_read(const json_t *object, json_t **ret, struct err *err);
/* What may not change between two valid objects of one uid.  Errors: -EPERM (err), -ENOMEM. */
int opspec_check_change(const json_t *before, const json_t *now, struct err *err);

/* maxUnavailable, a number or "25%", of total: rounded up, at least 1. */
int64_t opspec_budget(const json_t *value, int64_t total);
/* Seconds of "1h30m", "15m", "90s"; -1: it is none. */
int64_t opspec_seconds(const char *text);
