/* record.c - see record.h */
#include "lua/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"

#define NO_VAL16 0xfffe
#define NO_VAL32 0xfffffffe
#define NO_VAL64 ((int64_t)UINT64_C(0xfffffffffffffffe))

static const char metatable[] = "penstock.record";

struct view {
    const struct luarecord_type *type;
    ProtobufCMessage *msg;
    void *ctx;
    bool writable;
    uint64_t call_id;
};

static struct view *view_at(lua_State *L)
{
    struct view *v = lua.check_userdata(L, 1, metatable);

    if (v->call_id != luascript_call_id(luascript_of(L)))
        (void)lua.error(L, "this %s belongs to an earlier call", v->type->name);
    return v;
}

static const struct luarecord_row *row_at(lua_State *L, const struct view *v)
{
    const char *name = lua.check_text(L, 2, NULL);

    for (size_t i = 0; i < v->type->n; i++)
        if (strcmp(v->type->rows[i].name, name) == 0)
            return &v->type->rows[i];
    return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void push_absent(lua_State *L, enum luarecord_kind kind)
{
    switch (kind) {
    case LUA_NUM16:
        lua.pushinteger(L, NO_VAL16);
        break;
    case LUA_NUM32:
        lua.pushinteger(L, NO_VAL32);
        break;
    case LUA_NUM64:
        lua.pushinteger(L, NO_VAL64);
        break;
    case LUA_SECONDS:
        lua.pushinteger(L, 0);
        break;
    default:
        lua.pushnil(L);
    }
}

static int64_t number_of(const ProtobufCFieldDescriptor *f, const void *member)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_BOOL:
        return *(const protobuf_c_boolean *)member;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        return *(const int64_t *)member;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
        return *(const int32_t *)member;
    default:
        return *(const uint32_t *)member; /* enums are never negative here */
    }
}

static void push_field(lua_State *L, const struct luarecord_row *row, const ProtobufCMessage *msg)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(msg->descriptor, row->field);
    const void *member = (const char *)msg + f->offset;

    if (!pb_has(msg, row->field))
        push_absent(L, row->kind);
    else if (row->kind == LUA_TEXT)
        lua.pushtext(L, *(char *const *)member);
    else if (row->kind == LUA_SECONDS)
        lua.pushinteger(L, number_of(f, member) / USEC_PER_SEC);
    else
        lua.pushinteger(L, number_of(f, member));
}

static int index_record(lua_State *L)
{
    struct view *v = view_at(L);
    const struct luarecord_row *row = row_at(L, v);

    if (!row)
        lua.pushnil(L);
    else if (row->kind == LUA_SPECIAL)
        row->get(L, v->msg, v->ctx);
    else
        push_field(L, row, v->msg);
    return 1;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* 65534 says nothing in 16 bits alone: it is a fine priority. */
static bool is_no_value(enum luarecord_kind kind, int64_t n)
{
    return n == NO_VAL32 || n == NO_VAL64 || (kind == LUA_NUM16 && n == NO_VAL16);
}

bool luarecord_number(lua_State *L, int index, const char *name, enum luarecord_kind kind,
                      int64_t *ret)
{
    int ok = 0;
    int64_t n;

    if (lua.type(L, index) <= LUA_TNIL)
        return false;
    n = lua.to_integer(L, index, &ok);
    if (!ok)
        (void)lua.error(L, "%s takes a whole number", name);
    if (is_no_value(kind, n))
        return false;
    *ret = n;
    return true;
}

static void set_number(lua_State *L, const struct luarecord_row *row, ProtobufCMessage *msg,
                       int64_t n)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(msg->descriptor, row->field);
    void *member = (char *)msg + f->offset;
    bool is_signed = f->type == PROTOBUF_C_TYPE_INT32 || f->type == PROTOBUF_C_TYPE_SINT32;
    int64_t max = row->kind == LUA_NUM16 ? UINT16_MAX : is_signed ? INT32_MAX : UINT32_MAX;

    if (row->kind == LUA_SECONDS && (n < 0 || n > INT64_MAX / USEC_PER_SEC))
        (void)lua.error(L, "%s: %I is no time", row->name, (LUAI_UACINT)n);
    if (row->kind != LUA_SECONDS && row->kind != LUA_NUM64 &&
        (n > max || n < (is_signed ? -max : 0)))
        (void)lua.error(L, "%s: %I is out of range", row->name, (LUAI_UACINT)n);
    if (f->type == PROTOBUF_C_TYPE_BOOL)
        *(protobuf_c_boolean *)member = n != 0;
    else if (f->type == PROTOBUF_C_TYPE_INT64 || f->type == PROTOBUF_C_TYPE_UINT64)
        *(int64_t *)member = row->kind == LUA_SECONDS ? n * USEC_PER_SEC : n;
    else
        *(uint32_t *)member = (uint32_t)n;
    *(protobuf_c_boolean *)((char *)msg + f->quantifier_offset) = true;
}

static void set_field(lua_State *L, const struct luarecord_row *row, ProtobufCMessage *msg)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(msg->descriptor, row->field);
    int64_t n;

    if (row->kind == LUA_TEXT) {
        const char *text = lua.type(L, 3) <= LUA_TNIL ? NULL : lua.check_text(L, 3, NULL);

        if (pb_set_str((char **)((char *)msg + f->offset), text && *text ? text : NULL) < 0)
            (void)lua.error(L, ERR_NOMEM);
    } else if (!luarecord_number(L, 3, row->name, row->kind, &n) ||
               (row->kind == LUA_SECONDS && n == 0)) {
        (void)pb_clear(msg, row->field); /* there is such a field */
    } else {
        set_number(L, row, msg, n);
    }
}

static int newindex_record(lua_State *L)
{
    struct view *v = view_at(L);
    const struct luarecord_row *row = row_at(L, v);

    if (!row)
        return lua.error(L, "%s has no field %s", v->type->name, lua.check_text(L, 2, NULL));
    if (!v->writable || row->read_only)
        return lua.error(L, "%s.%s cannot be set", v->type->name, row->name);
    if (row->kind == LUA_SPECIAL)
        row->set(L, 3, v->msg, v->ctx);
    else
        set_field(L, row, v->msg);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* next(record, name): rows in their order, those without a value left out. */
static int next_field(lua_State *L)
{
    struct view *v = view_at(L);
    size_t i = 0;

    if (lua.type(L, 2) == LUA_TSTRING) {
        const struct luarecord_row *row = row_at(L, v);

        i = row ? (size_t)(row - v->type->rows) + 1 : v->type->n;
    }
    for (; i < v->type->n; i++) {
        const struct luarecord_row *row = &v->type->rows[i];

        if (row->kind != LUA_SPECIAL && !pb_has(v->msg, row->field))
            continue;
        lua.pushtext(L, row->name);
        if (row->kind == LUA_SPECIAL)
            row->get(L, v->msg, v->ctx);
        else
            push_field(L, row, v->msg);
        if (lua.type(L, -1) != LUA_TNIL)
            return 2;
        lua_drop(L, 2);
    }
    lua.pushnil(L);
    return 1;
}

static int pairs_record(lua_State *L)
{
    (void)view_at(L);
    lua.pushcclosure(L, next_field, 0);
    lua.pushvalue(L, 1);
    lua.pushnil(L);
    return 3;
}

void luarecord_push(lua_State *L, const struct luarecord_type *type, ProtobufCMessage *msg,
                    void *ctx, bool writable)
{
    struct view *v = lua.newuserdata(L, sizeof(*v), 0);

    *v = (struct view){ type, msg, ctx, writable, luascript_call_id(luascript_of(L)) };
    if (lua.newmetatable(L, metatable)) {
        luascript_function(L, "__index", index_record);
        luascript_function(L, "__newindex", newindex_record);
        luascript_function(L, "__pairs", pairs_record);
    }
    lua_drop(L, 1);
    lua.setmetatable(L, metatable);
}
