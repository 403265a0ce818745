/* luaapi.h - Lua 5.4, loaded when a script is configured
 *
 * liblua is opened at run time, so its functions are reached through one table: lua.pushnil(L) is
 * lua_pushnil(L).  Macros of the Lua headers that call functions by name cannot be used; the few
 * worth having stand below.  lua_api_load() may be called by any thread, any number of times. */
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/err.h"

#define LUA_API_FUNCTIONS(X)                                                                       \
    X(newstate, luaL_newstate)                                                                     \
    X(close, lua_close)                                                                            \
    X(openlibs, luaL_openlibs)                                                                     \
    X(loadbuffer, luaL_loadbufferx)                                                                \
    X(pcall, lua_pcallk)                                                                           \
    X(call, lua_callk)                                                                             \
    X(gettop, lua_gettop)                                                                          \
    X(settop, lua_settop)                                                                          \
    X(pushvalue, lua_pushvalue)                                                                    \
    X(rotate, lua_rotate)                                                                          \
    X(type, lua_type)                                                                              \
    X(type_name, lua_typename)                                                                     \
    X(to_text, lua_tolstring)                                                                      \
    X(to_integer, lua_tointegerx)                                                                  \
    X(to_number, lua_tonumberx)                                                                    \
    X(to_boolean, lua_toboolean)                                                                   \
    X(to_userdata, lua_touserdata)                                                                 \
    X(any_to_text, luaL_tolstring)                                                                 \
    X(check_text, luaL_checklstring)                                                               \
    X(check_integer, luaL_checkinteger)                                                            \
    X(check_userdata, luaL_checkudata)                                                             \
    X(pushnil, lua_pushnil)                                                                        \
    X(pushinteger, lua_pushinteger)                                                                \
    X(pushboolean, lua_pushboolean)                                                                \
    X(pushtext, lua_pushstring)                                                                    \
    X(pushbytes, lua_pushlstring)                                                                  \
    X(pushcclosure, lua_pushcclosure)                                                              \
    X(pushpointer, lua_pushlightuserdata)                                                          \
    X(newtable, lua_createtable)                                                                   \
    X(newuserdata, lua_newuserdatauv)                                                              \
    X(newmetatable, luaL_newmetatable)                                                             \
    X(setmetatable, luaL_setmetatable)                                                             \
    X(getglobal, lua_getglobal)                                                                    \
    X(setglobal, lua_setglobal)                                                                    \
    X(getfield, lua_getfield)                                                                      \
    X(setfield, lua_setfield)                                                                      \
    X(settable, lua_settable)                                                                      \
    X(geti, lua_geti)                                                                              \
    X(seti, lua_seti)                                                                              \
    X(next, lua_next)                                                                              \
    X(ref, luaL_ref)                                                                               \
    X(unref, luaL_unref)                                                                           \
    X(sethook, lua_sethook)                                                                        \
    X(error, luaL_error)                                                                           \
    X(traceback, luaL_traceback)

struct lua_api {
#define LUA_API_MEMBER(member, symbol) __typeof__(&symbol) member;
    LUA_API_FUNCTIONS(LUA_API_MEMBER)
#undef LUA_API_MEMBER
};

/* -ENOENT: the library is not there, or is another version; err says which package has it. */
int lua_api_load(struct err *err);

/* The table, after lua_api_load() has succeeded.  C functions that Lua calls get no argument of
 * ours, so the table is an object of the process (base/processonce.h). */
const struct lua_api *lua_api(void);
#define lua (*lua_api())

static inline void lua_drop(lua_State *L, int n)
{
    lua.settop(L, -n - 1);
}
