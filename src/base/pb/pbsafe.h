/* pbsafe.h - the strings of a message: what they may hold, and how they are shown
 *
 * The server passes every request to pbsafe_check() before anything reads it.  Commands pass what
 * they were told to pbsafe_clean() before they print it, since old logs hold words that were never
 * checked.  Which characters are safe in which place says base/safetext.h.  Pure functions; no
 * allocation. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum pbsafe_rule {
    PBSAFE_LINE, /* no control character: the rule of a field that has no row */
    PBSAFE_TEXT, /* as LINE, but tabs and newlines may be in it: comments */
    /* a program's own business: its arguments, the command line that started it */
    PBSAFE_ANY,
    PBSAFE_ADDRESS,  /* as safetext_is_address() */
    PBSAFE_VARIABLE, /* as safetext_is_variable() */
};

/* Does every string of msg, at any depth, keep the rule of its field?  Fields without a row in
 * proto/fields.def are lines.  Errors: -EINVAL, err names the field and the place in it. */
int pbsafe_check(const ProtobufCMessage *msg, struct err *err);

/* All strings of msg at any depth, whatever their rules, as safetext_clean() does it.  The strings
 * must be msg's own. */
void pbsafe_clean(ProtobufCMessage *msg);

/* The rows of the table, for a test that all of them name fields which exist; false: no such
 * row. */
bool pbsafe_row(size_t i, const char **ret_message, const char **ret_field,
                enum pbsafe_rule *ret_rule);
