/* record.h - a record of the schema as a Lua script sees it: record.name
 *
 * The caller's table says which names there are and what they mean.  A script can use a record
 * during the call that the record was pushed for; a later use raises an error. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lua/luascript.h"

/* How a field reads and is written.  Absent numbers are slurm.NO_VAL of their size; setting them to
 * that or to nil makes the field absent. */
enum luarecord_kind {
    LUA_TEXT,  /* a string, nil when absent */
    LUA_NUM16, /* also of booleans: 0 and 1 */
    LUA_NUM32,
    LUA_NUM64,
    LUA_SECONDS, /* of a time in microseconds; 0 when absent */
    LUA_SPECIAL, /* by get and set */
};

struct luarecord_row {
    const char *name;
    enum luarecord_kind kind;
    uint32_t field;
    bool read_only;
    /* Push one value. */
    void (*get)(lua_State *L, ProtobufCMessage *msg, void *ctx);
    /* Set the field to the value at `index`; raises an error for a value that is not allowed. */
    void (*set)(lua_State *L, int index, ProtobufCMessage *msg, void *ctx);
};

struct luarecord_type {
    const char *name; /* in messages: "job_desc" */
    const struct luarecord_row *rows;
    size_t n;
};

/* `msg` and `ctx` stay the caller's and live as long as the call. */
void luarecord_push(lua_State *L, const struct luarecord_type *type, ProtobufCMessage *msg,
                    void *ctx, bool writable);

/* False for nil and for NO_VAL of the kind's bits or of more: no value.  Else true and the number
 * is in *ret.  Raises an error for a value that is no whole number. */
bool luarecord_number(lua_State *L, int index, const char *name, enum luarecord_kind kind,
                      int64_t *ret);
