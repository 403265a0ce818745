/* luaapi.c - see luaapi.h */
#include "lua/luaapi.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"

#define LIBRARY "liblua5.4.so.0"

struct lua_api lua;

static struct {
    pthread_once_t once;
    int result;
    struct err err;
} loaded = { .once = PTHREAD_ONCE_INIT };

static void load_library(void)
{
    static const struct loadlib_symbol symbols[] = {
#define LUA_API_ROW(member, symbol) { #symbol, &lua.member },
        LUA_API_FUNCTIONS(LUA_API_ROW)
#undef LUA_API_ROW
    };

    /* Global: modules in C that a script requires look for its symbols. */
    loaded.result = loadlib("a Lua script", LIBRARY, "liblua5.4-0", RTLD_GLOBAL, symbols,
                            ARRAY_SIZE(symbols), &loaded.err);
}

int lua_api_load(struct err *err)
{
    (void)pthread_once(&loaded.once, load_library);
    return loaded.result < 0 ? err_set(err, loaded.result, "%s", loaded.err.text) : 0;
}
