/* conf_mcs.h - MCSPlugin and MCSParameters: which jobs get a security label, and what the label
 * keeps apart */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct conf;

enum conf_mcs_kind { MCS_NONE, MCS_USER, MCS_GROUP, MCS_ACCOUNT, MCS_LABEL };
enum conf_mcs_select {
    MCS_ON_DEMAND, /* --exclusive=mcs keeps jobs of other labels off its nodes */
    MCS_SELECT,    /* every label does */
    MCS_NO_SELECT,
};

struct conf_mcs {
    enum conf_mcs_kind kind;
    enum conf_mcs_select select;
    bool enforced;      /* every job has a label */
    bool private;       /* PrivateData goes by labels */
    const char *groups; /* "a|b", of conf; NULL = none */
};

/* What the text of the two keys says; either may be NULL.  False with a word that makes no sense:
 * *ret_bad and its length. */
bool conf_mcs_parse(const char *plugin, const char *parameters, struct conf_mcs *ret,
                    const char **ret_bad, size_t *ret_len);
/* The configuration's: checked when it was loaded. */
struct conf_mcs conf_mcs(const struct conf *c);
