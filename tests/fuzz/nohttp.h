/* nohttp.h - a daemon without the thread of HTTP: fuzz_http feeds what that thread calls */
#pragma once

#include "http/http.h"

int __wrap_http_new(const struct http_config *config, struct http **ret_http, struct err *err);
void __wrap_http_switch(struct http *h, bool on);
void __wrap_http_take(struct http *h, int fd);
struct http *__wrap_http_free(struct http *h);

int __wrap_http_new(const struct http_config *config, struct http **ret_http, struct err *err)
{
    (void)config;
    (void)err;
    *ret_http = NULL;
    return 0;
}

void __wrap_http_switch(struct http *h, bool on)
{
    (void)h;
    (void)on;
}

void __wrap_http_take(struct http *h, int fd)
{
    (void)h;
    (void)fd;
}

struct http *__wrap_http_free(struct http *h)
{
    (void)h;
    return NULL;
}
