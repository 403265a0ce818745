/* restdbindex.c - see restdbindex.h
 *
 * jansson's objects are tables whose hashes nobody can foresee. */
#include "rest/db/restdbindex.h"

#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"

#define BETWEEN '\x1f' /* no name has it: control characters are refused */

static void put_names(const struct restdb_names *names, struct strbuf *key)
{
    for (size_t i = 0; i < 2; i++) {
        for (const char *p = names->plain[i] ? names->plain[i] : ""; *p; p++)
            strbuf_addc(key, (char)tolower((unsigned char)*p));
        strbuf_addc(key, BETWEEN);
    }
    strbuf_add(key, names->exactly[0] ? names->exactly[0] : "");
    strbuf_addc(key, BETWEEN);
    strbuf_add(key, names->exactly[1] ? names->exactly[1] : "");
}

bool restdbindex_put(json_t *index, const struct restdb_names *names, size_t place)
{
    struct strbuf key = STRBUF_INIT;
    bool good;

    put_names(names, &key);
    good = !key.failed && (json_object_get(index, strbuf_str(&key)) ||
                           json_object_set_new_nocheck(index, strbuf_str(&key),
                                                       json_integer((json_int_t)place)) == 0);
    strbuf_done(&key);
    return good;
}

bool restdbindex_find(const json_t *index, const struct restdb_names *names, size_t *ret)
{
    struct strbuf key = STRBUF_INIT;
    const json_t *place;

    put_names(names, &key);
    place = key.failed ? NULL : json_object_get(index, strbuf_str(&key));
    strbuf_done(&key);
    if (place)
        *ret = (size_t)json_integer_value(place);
    return place != NULL;
}
