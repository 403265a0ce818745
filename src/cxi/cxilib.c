/* cxilib.c - loading libcxi; see cxilib.h */
#include "cxi/cxilib.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "base/process/loadlib.h"
#include "base/timefmt.h"

#define PATH_SIZE 4096

int cxilib_load(const char *root, struct cxil *ret, struct err *err)
{
    struct cxil c = { .open = NULL };
    const struct loadlib_symbol syms[] = {
        { "cxil_open_device", &c.open },        { "cxil_close_device", &c.close },
        { "cxil_alloc_svc", &c.alloc },         { "cxil_update_svc", &c.update },
        { "cxil_destroy_svc", &c.destroy },     { "cxil_get_svc_list", &c.list },
        { "cxil_free_svc_list", &c.list_free }, { "cxil_get_svc_rsrc_use", &c.use },
    };
    const struct loadlib_symbol newer = { "cxil_set_svc_lpr", &c.share };
    char file[PATH_SIZE] = CXIL_LIBRARY;
    int r;

    if (*root) /* the machine is made up: so is its library */
        (void)snprintf(file, sizeof(file), "%s/usr/lib/" CXIL_LIBRARY, root);
    r = loadlib("switch/hpe_slingshot", file, NULL, RTLD_LOCAL, syms, ARRAY_SIZE(syms), err);
    if (r < 0)
        return r;
    /* An older library lacks it, and serves fewer tasks. */
    (void)loadlib("switch/hpe_slingshot", file, NULL, RTLD_LOCAL, &newer, 1, NULL);
    *ret = c;
    return 0;
}

unsigned cxilib_devices(const char *root, uint32_t ret[CXILIB_DEVICES])
{
    char path[PATH_SIZE];
    const struct dirent *e;
    unsigned n = 0;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "%s/sys/class/cxi", root);
    dir = opendir(path);
    while (dir && n < CXILIB_DEVICES && (e = readdir(dir))) {
        uint64_t number;

        if (strncmp(e->d_name, "cxi", 3) == 0 &&
            parse_u64(e->d_name + 3, 0, UINT32_MAX, &number) == 0)
            ret[n++] = (uint32_t)number;
    }
    if (dir)
        (void)closedir(dir);
    qsort(ret, n, sizeof(*ret), order_u32);
    return n;
}
