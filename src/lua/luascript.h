/* luascript.h - a script of the site: loaded, loaded again when its file changed, called with a
 * limit of time
 *
 * A script sees Lua's standard libraries and a table `slurm`, which has the functions that every
 * script gets (log_info() and its sisters, log_user()), the constants of luascript_open() and what
 * its owner adds.  A script that runs for longer than its limit is broken off with an error.  One
 * thread. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "lua/luaapi.h"

#define LUA_SCRIPT_MAX_BYTES (4u << 20)
#define LUA_MESSAGES_MAX_BYTES (16u << 10) /* of log_user(), in one call */

struct luascript;

/* What a script logs; level is an enum log_level. */
typedef void luascript_log_fn(int level, const char *text);
/* Add to the table `slurm`, which is at the top of the stack. */
typedef void luascript_setup_fn(lua_State *L, void *ctx);

/* Nothing is read yet.  Errors: -ENOENT (no library), -ENOMEM. */
int luascript_new(const char *path, int64_t limit_us, luascript_log_fn *log,
                  luascript_setup_fn *setup, void *ctx, struct luascript **ret, struct err *err);
struct luascript *luascript_free(struct luascript *s); /* always NULL */

/* Push function `name`.  The caller then pushes the arguments and calls luascript_run().  The file
 * is read at the first call and when it has changed; when a changed file does not load, the script
 * read before stays in use and the log says so.  Errors: -ENOENT there is no such function;
 * -EINVAL, -EFBIG and errors of reading, with a sentence in err. */
int luascript_begin(struct luascript *s, const char *name, lua_State **ret_L, struct err *err);
/* Call the function on the stack with n arguments.  *ret gets its first result as a number: nil and
 * values that are no number count as -1.  Errors: -EINVAL with Lua's message.  The stack is empty
 * afterwards in any case. */
int luascript_run(struct luascript *s, int n, int64_t *ret, struct err *err);

/* Lines that log_user() left in this call, without a newline at the end; "" = none. */
const char *luascript_messages(const struct luascript *s);
/* A number that differs for each call: it shows that a record which a script kept from an older
 * call is stale. */
uint64_t luascript_call_id(const struct luascript *s);
struct luascript *luascript_of(lua_State *L);   /* the script that L runs */
void *luascript_ctx(const struct luascript *s); /* as given to luascript_new() */

/* Named numbers for the table at the top of the stack. */
struct luascript_constant {
    const char *name;
    int64_t value;
};
void luascript_constants(lua_State *L, const struct luascript_constant *list, size_t n);
/* A function for the table at the top of the stack. */
void luascript_function(lua_State *L, const char *name, lua_CFunction f);

/* The table at `index` as a JSON object of texts, in one line; keys and values that are no texts,
 * numbers or booleans are left out. */
void luascript_json(lua_State *L, int index, FILE *f);
