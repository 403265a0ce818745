/* nsyaml.h - namespace.yaml: private folders of jobs with mount options
 * (NamespaceType=namespace/linux) */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "stepfile.pb-c.h"

#define NSYAML_MAX (1u << 20) /* bytes of a file */

/* What the text says for a node: 0 with *ret_ns, the caller's, NULL when the node has none
 * (base_path: none). Paths keep their %h and %n.  Errors: -EINVAL with a sentence that names the
 * line; -ENOMEM. */
int nsyaml_parse(const char *text, size_t len, const char *node_name, Pst__Namespace **ret_ns,
                 struct err *err);
