/* mkrest.h - the objects of a RestApi and of an Accounting
 *
 * Pure.  Errors: -ENOMEM. */
#pragma once

#include "kube/make/mkbase.h"

/* f->controller is there. */
int mkrest_objects(const struct mkbase_facts *f, json_t **ret);
/* password: of the database. */
int mkrest_accounting(const struct mkbase_facts *f, const char *password, json_t **ret);
