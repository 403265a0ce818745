/* fuzz_restpath.c - the first line of a request of the REST API: method, path and query words
 *
 * "GET /slurm/v0.0.45/job/7?flags=DETAIL&a=b".  The path goes through the tables of all paths that
 * are served, each query word loses its escapes as it does when a request comes. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "rest/restd/restrows.h"
#include "rest/restpath.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_word(const char *text, size_t len)
{
    _cleanup_free_ char *plain = NULL;

    if (restpath_unescape(text, len, true, &plain) < 0)
        return;
    /* An escape takes three bytes and gives one that is not the end of a text. */
    assert(strlen(plain) <= len && strlen(plain) * 3 >= len);
    (void)restpath_in_list(plain, "DETAIL");
}

static void read_words(const char *query)
{
    while (query && *query) {
        size_t len = strcspn(query, "&=");

        read_word(query, len);
        query += len + (query[len] != '\0');
    }
}

static void find_row(const char *method, const char *path)
{
    struct rest_path found = { 0 };

    if (restpath_find(restrows, method, path, &found) < 0)
        return;
    assert(strcmp(found.row->method, method) == 0 && found.version >= found.row->since);
    assert(found.has_word == (strstr(found.row->path, "{}") != NULL));
    assert(strlen(found.word) <= REST_WORD_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = strndup((const char *)data, size);
    char *rest = text, *method, *path;

    assert(text);
    method = strsep(&rest, " ");
    path = strsep(&rest, "?");
    if (path)
        find_row(method, path);
    read_words(rest);
    return 0;
}
