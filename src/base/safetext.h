/* safetext.h - words of users where they could be taken for something else
 *
 * A user's word becomes an argument of a program that runs as root, a line of a file, the
 * subject of a mail, or text on another user's terminal.  This module alone decides what a word
 * may hold; base/pb/pbsafe.h applies the rules to the strings of a message.  Code that builds an
 * argument, a line or a screen cleans the word again, since old logs hold words that were never
 * checked.
 *
 * A control character is a byte below 0x20, 0x7f, or U+0080 to U+009F in UTF-8 (terminals obey
 * these too). Bytes that are no UTF-8 are no control characters.  Pure functions; no allocation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool safetext_is_line(const char *text);
/* The first control character of text but for those in `also`; NULL: there is none. */
const char *safetext_control(const char *text, const char *also);

/* Addresses of mail, with commas or blanks between, as they are given to a mail program.  Such a
 * program takes a word with "-" in front for an option, one with "|" for a command, one with "/"
 * or "+" for a file.  So a word starts with a letter, a digit or "_" and has of the other ASCII
 * characters only .-+=_%@' */
bool safetext_is_address(const char *text);

/* NAME=value, where NAME is what a shell takes for one: letters, digits and "_", no digit first. */
bool safetext_is_variable(const char *text);

/* For showing: tabs and line ends become blanks, other control characters "?". The length stays. */
void safetext_clean(char *text);
void safetext_clean_n(char *text, size_t n);

/* Bytes of the well-formed UTF-8 sequence at p, whose text ends with a NUL somewhere; 0: there
 * is none. */
size_t safetext_utf8(const char *p);
/* Is the sequence at p one of U+0080 to U+009F?  Its last byte is then its number. */
bool safetext_is_c1(const char *p);
