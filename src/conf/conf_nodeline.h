/* conf_nodeline.h - one NodeName line that comes from no file: an operator or a node wrote it */
#pragma once

#include "base/err.h"
#include "conf/conf.h"

#define CONF_NODELINE_MAX (16u << 10)
#define CONF_NODE_NAME_MAX 63u

/* Parse "NodeName=d[1-3] CPUs=2 State=FUTURE".  cluster is only read: it says which generic
 * resources there are and which port a node has that names none.  *ret_nodes has the nodes and
 * nothing else; the caller frees it.  Errors: -EINVAL and -E2BIG with a sentence, -EDOM: State= is
 * no state, -ENOMEM. */
int conf_parse_nodeline(const struct conf *cluster, const char *line, struct conf **ret_nodes,
                        struct err *err);
/* Does this part of a line name the key, in any case?  Does it name no other key, and is it whole?
 * Copies of text are made; without memory the answer is no. */
bool conf_nodeline_names(const char *text, const char *key);
bool conf_nodeline_only(const char *text, const char *key);
