/* conf_tres.h - names of trackable resources that keys hold: AccountingStorageTRES,
 * TRESBillingWeights */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct conf_loader;
struct conf_val;

/* Is "cpu", "gres/gpu:a100" ... of a kind that there is?  In any case. */
bool conf_tres_kind(const char *name, size_t len);

/* Tell of what cannot be: refused, since it would count nothing. */
void conf_tres_check(struct conf_loader *l, const struct conf_val *list);
void conf_tres_weights(struct conf_loader *l, const struct conf_val *weights);
