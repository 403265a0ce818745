/* curllib.h - libcurl, loaded when it is configured: the functions that daemons use
 *
 * api.easy_setopt(handle, ...) is curl_easy_setopt(handle, ...).  Handles belong to one thread. */
#pragma once

#include <curl/curl.h>

#include "base/err.h"

struct curl_api {
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_easy_init) easy_init;
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    __typeof__(&curl_easy_perform) easy_perform;
    __typeof__(&curl_easy_cleanup) easy_cleanup;
    __typeof__(&curl_easy_escape) easy_escape;
    __typeof__(&curl_free) free;
    __typeof__(&curl_easy_strerror) easy_strerror;
    __typeof__(&curl_slist_append) slist_append;
    __typeof__(&curl_slist_free_all) slist_free_all;
};

/* what: the configuration that needs libcurl, as sentences name it ("JournalType=etcd").
 * -ENOENT: there is no libcurl; -ENOSYS: it lacks a function; -ENOMEM. */
int curl_api_load(struct curl_api *api, const char *what, struct err *err);

/* The beginning of an answer, for a sentence about it: a C string of at most size - 1 bytes. */
struct curl_head {
    char *text; /* the caller's */
    size_t size, len;
};

void curl_head_clear(struct curl_head *h);
/* CURLOPT_WRITEFUNCTION, with the struct curl_head as CURLOPT_WRITEDATA: what has no room is
 * dropped, and the transfer goes on. */
size_t curl_head_take(char *data, size_t size, size_t n, void *head);
