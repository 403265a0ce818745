/* loadlib.c - see loadlib.h */
#include "base/process/loadlib.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static int no_library(const char *what, const char *file, const char *package, struct err *err)
{
    const char *why = dlerror();

    if (!what)
        return err_set(err, -ENOENT, "%s", why);
    if (package)
        return err_set(err, -ENOENT, "%s needs %s (package %s): %s", what, file, package, why);
    return err_set(err, -ENOENT, "%s needs %s: %s", what, file, why);
}

int loadlib(const char *what, const char *file, const char *package, int flags,
            const struct loadlib_symbol *symbols, size_t n, struct err *err)
{
    void *lib = dlopen(file, RTLD_NOW | flags);

    if (!lib)
        return no_library(what, file, package, err);
    for (size_t i = 0; i < n; i++) {
        if (dlsym(lib, symbols[i].name))
            continue;
        (void)dlclose(lib); /* none of its functions has run */
        return err_set(err, -ENOSYS, "%s%s%s is missing in %s", what ? what : "", what ? ": " : "",
                       symbols[i].name, file);
    }
    for (size_t i = 0; i < n; i++) {
        void *at = dlsym(lib, symbols[i].name);

        memcpy(symbols[i].to, &at, sizeof(at));
    }
    return 0;
}
