/* luaapi.c - see luaapi.h */
#include "lua/luaapi.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"

#define LIBRARY "liblua5.4.so.0"

struct lua_api lua;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct err load_err;
static int load_result;

static void load_library(void)
{
    static const struct loadlib_symbol symbols[] = {
#define LUA_API_ROW(member, symbol) { #symbol, &lua.member },
        LUA_API_FUNCTIONS(LUA_API_ROW)
#undef LUA_API_ROW
    };

    /* Global: modules in C that a script requires look for its symbols. */
    load_result = loadlib("a Lua script", LIBRARY, "liblua5.4-0", RTLD_GLOBAL, symbols,
                          ARRAY_SIZE(symbols), &load_err);
}

int lua_api_load(struct err *err)
{
    (void)pthread_once(&once, load_library);
    return load_result < 0 ? err_set(err, load_result, "%s", load_err.text) : 0;
}
