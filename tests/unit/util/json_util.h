/* json_util.h - messages as JSON, with single quotes in place of double; needs base_json_dep */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/pb/pbutil.h"

#ifndef UTIL
#define UTIL __attribute__((unused)) static
#endif

UTIL char *quoted(const char *text)
{
    char *copy = strdup(text);

    assert_non_null(copy);
    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    return copy;
}

UTIL ProtobufCMessage *from_json(const ProtobufCMessageDescriptor *desc, const char *json)
{
    _cleanup_free_ char *text = quoted(json);
    ProtobufCMessage *msg = NULL;
    struct err err = { .text = "" };

    if (pb_json_read(text, strlen(text), desc, &msg, &err) < 0)
        print_error("# %s: %s\n", json, err.text);
    assert_non_null(msg);
    return msg;
}

UTIL char *json_of(const ProtobufCMessage *msg)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    assert_non_null(f);
    if (msg)
        assert_int_equal(pb_json_write(f, msg, -1), 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Does the record, as JSON, contain this?  A leading '!' asks for the contrary. */
UTIL bool json_has(const ProtobufCMessage *msg, const char *what)
{
    bool no = *what == '!';
    _cleanup_free_ char *text = json_of(msg), *want = quoted(what + no);

    return (strstr(text, want) != NULL) != no;
}
