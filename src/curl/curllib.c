/* curllib.c - see curllib.h */
#include "curl/curllib.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"

int curl_api_load(struct curl_api *api, const char *what, struct err *err)
{
    const struct loadlib_symbol symbols[] = {
        { "curl_global_init", &api->global_init },
        { "curl_easy_init", &api->easy_init },
        { "curl_easy_setopt", &api->easy_setopt },
        { "curl_easy_getinfo", &api->easy_getinfo },
        { "curl_easy_perform", &api->easy_perform },
        { "curl_easy_cleanup", &api->easy_cleanup },
        { "curl_easy_escape", &api->easy_escape },
        { "curl_free", &api->free },
        { "curl_easy_strerror", &api->easy_strerror },
        { "curl_slist_append", &api->slist_append },
        { "curl_slist_free_all", &api->slist_free_all },
    };
    int r =
        loadlib(what, "libcurl.so.4", "libcurl4", RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), err);

    if (r < 0)
        return r;
    return api->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : err_nomem(err);
}

void curl_head_clear(struct curl_head *h)
{
    h->len = 0;
    h->text[0] = '\0';
}

size_t curl_head_take(char *data, size_t size, size_t n, void *head)
{
    struct curl_head *h = head;
    size_t take = MIN(size * n, h->size - 1 - h->len);

    memcpy(h->text + h->len, data, take);
    h->len += take;
    h->text[h->len] = '\0';
    return size * n;
}
