/* fuzz_restbody.c - bodies of requests, JSON or YAML by the first byte, and paths with queries */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rest/restbody.h"
#include "rest/restpath.h"
#include "rest/restd/restrows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_path(const char *text)
{
    struct rest_path p;
    char *word = NULL;

    if (restpath_find(restrows, "GET", text, &p) == 0)
        assert(p.row && strlen(p.word) <= REST_WORD_MAX);
    if (restpath_unescape(text, strlen(text), true, &word) == 0)
        assert(strlen(word) <= strlen(text));
    free(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    json_t *value = NULL;
    char *text;

    if (size < 1 || size > 65536)
        return 0;
    text = strndup((const char *)data + 1, size - 1);
    assert(text);
    parse_path(text);
    free(text);
    if (data[0] & 1)
        (void)restbody_parse_yaml((const char *)data + 1, size - 1, RESTBODY_WEIGHT_MAX, &value,
                                  &err);
    else
        (void)restbody_parse_json((const char *)data + 1, size - 1, RESTBODY_WEIGHT_MAX, &value,
                                  &err);
    (void)rest_number(value);
    json_decref(value);
    return 0;
}
