/* sacctmgr_file.h - lines of the files that sacctmgr dump writes and load reads
 *
 * `KIND - 'name':Option='value':Option=value...`; text after #, empty lines and
 * lines without a dash say nothing.  Pure.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define FLAT_LINE_MAX (1u << 20)
#define FLAT_OPTIONS_MAX 256u

enum flat_kind { FLAT_NOTHING, FLAT_CLUSTER, FLAT_PARENT, FLAT_ACCOUNT, FLAT_USER, FLAT_QOS };

struct flat_line {
    enum flat_kind kind;
    char *name;
    struct flat_option {
        char *name, *value;
    } options[FLAT_OPTIONS_MAX];
    size_t n;
};

/* Take a line (changed in place; the result points into it).  A piece without = belongs to the
 * value before it, as does one behind a list of TRES that has no option's name: names of TRES may
 * hold colons. Errors: -EINVAL with the sentence. */
int flat_parse(char *text, struct flat_line *ret, struct err *err);
