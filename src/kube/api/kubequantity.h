/* kubequantity.h - quantities: 500m, 2, 1.5Gi, 2e3
 *
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* In thousandths, rounded up.  Errors: -EINVAL it is none, -ERANGE below 0 or too large. */
int kubequantity_parse(const char *text, int64_t *ret_milli);
/* The same of a JSON text or number; -ENOENT: value is NULL. */
int kubequantity_read(const json_t *value, int64_t *ret_milli);
/* Thousandths as whole units, rounded up. */
int64_t kubequantity_units(int64_t milli);
