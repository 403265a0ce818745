/* fuzz_restschema.c - bodies of a stranger, checked against the schema of a path that takes one
 *
 * The first byte chooses the path.  What was taken is taken again, unchanged and without a further
 * warning; what was refused has an error that tells the place. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rest/rest_impl.h"
#include "rest/restbody.h"
#include "rest/restd/restrows.h"
#include "rest/restschema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 256 };

static struct restschema *schema;
static const struct rest_row *rows[ROWS_MAX]; /* those that take a body */
static size_t n_rows;

static void find_rows(void)
{
    if (schema)
        return;
    if (restschema_new(&schema) < 0)
        abort();
    for (const struct rest_row *const *table = restrows; *table; table++)
        for (const struct rest_row *row = *table; row->method && n_rows < ROWS_MAX; row++)
            if (json_object_get(restschema_find(schema, row), "body"))
                rows[n_rows++] = row;
    assert(n_rows > 0);
}

/* A refusal has an error, and every error and warning names a place of the body. */
static void check_notes(const struct rest_notes *notes, bool taken)
{
    assert(taken == (notes->n_errors == 0));
    for (size_t i = 0; i < notes->n_errors; i++)
        assert(strncmp(notes->errors[i].source, "#/", 2) == 0);
    for (size_t i = 0; i < notes->n_warnings; i++)
        assert(strncmp(notes->warnings[i].source, "#/", 2) == 0);
}

static bool check_body(const struct rest_row *row, json_t *body, size_t *ret_warnings)
{
    struct rest_notes *notes = calloc(1, sizeof(*notes));
    struct rest_call call = { .row = row, .body = body, .notes = notes, .status = 200 };
    bool taken;

    if (!notes)
        abort();
    taken = restschema_check(schema, &call);
    check_notes(notes, taken);
    assert(taken == (call.status == 200));
    *ret_warnings = notes->n_warnings;
    call.body = NULL; /* ours */
    restreply_done(&call);
    return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    size_t warnings;
    json_t *body = NULL, *before;
    const struct rest_row *row;

    find_rows();
    if (size < 2 || size > 65536 ||
        restbody_parse_json((const char *)data + 1, size - 1, RESTBODY_WEIGHT_MAX, &body, &err) < 0)
        return 0;
    row = rows[data[0] % n_rows];
    if (check_body(row, body, &warnings)) {
        before = json_deep_copy(body);
        assert(before && check_body(row, body, &warnings));
        assert(warnings == 0 && json_equal(before, body));
        json_decref(before);
    }
    json_decref(body);
    return 0;
}
