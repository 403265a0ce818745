/* safetext.h - words of users where they could be taken for something else
 *
 * A user's word becomes an argument of a program that runs as root, a line of a file, the
 * subject of a mail, or text on another user's terminal.  This module alone decides what a word
 * may hold.  The server passes every request to safetext_check() before anything reads it.  Code
 * that builds an argument, a line or a screen cleans the word again, since old logs hold words
 * that were never checked.
 *
 * A control character is a byte below 0x20, 0x7f, or U+0080 to U+009F in UTF-8 (terminals obey
 * these too). Bytes that are no UTF-8 are no control characters.  Pure functions; no allocation. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum safetext_rule {
    SAFETEXT_LINE, /* no control character: what a field must be that has no row */
    SAFETEXT_TEXT, /* as LINE, but tabs and newlines may be in it: comments */
    /* a program's own business: its arguments, the command line that it was given on */
    SAFETEXT_ANY,
    SAFETEXT_ADDRESS,  /* as safetext_is_address() */
    SAFETEXT_VARIABLE, /* as safetext_is_variable() */
};

bool safetext_is_line(const char *text);
bool safetext_is_text(const char *text);

/* Addresses of mail, with commas or blanks between, as they are given to a mail program.  Such a
 * program takes a word with "-" in front for an option, one with "|" for a command, one with "/"
 * or "+" for a file.  So a word starts with a letter, a digit or "_" and has of the other ASCII
 * characters only .-+=_%@' */
bool safetext_is_address(const char *text);

/* NAME=value, where NAME is what a shell takes for one: letters, digits and "_", no digit first. */
bool safetext_is_variable(const char *text);

/* Does every string of msg, at any depth, keep the rule of its field?  Fields without a row in
 * proto/fields.def are lines.  Errors: -EINVAL, err names the field and the place in it. */
int safetext_check(const ProtobufCMessage *msg, struct err *err);

/* For showing: tabs and line ends become blanks, other control characters "?". The length stays. */
void safetext_clean(char *text);
void safetext_clean_n(char *text, size_t n);
/* All strings of msg at any depth, whatever their rules.  They must be msg's own. */
void safetext_clean_message(ProtobufCMessage *msg);

/* Bytes of the well-formed UTF-8 sequence at p, whose text ends with a NUL somewhere; 0: there
 * is none. */
size_t safetext_utf8(const char *p);
/* Is the sequence at p one of U+0080 to U+009F?  Its last byte is then its number. */
bool safetext_is_c1(const char *p);

/* The rows of the table, for a test that all of them name fields which exist; false: no such
 * row. */
bool safetext_row(size_t i, const char **ret_message, const char **ret_field,
                  enum safetext_rule *ret_rule);
