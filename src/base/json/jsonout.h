/* jsonout.h - JSON and YAML written as it is made, in the layout of Slurm's --json and --yaml
 *
 * Streams to a strbuf that the caller empties; memory does not grow with the output.  One writer,
 * two notations: the calls are the same.  Nesting is at most JSON_DEPTH_MAX (asserted: the depth is
 * ours).  Names keep clear of those of jansson, which readers of JSON use beside this. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/timefmt.h"

#define JSON_DEPTH_MAX 48

enum json_style {
    JSON_PRETTY,
    JSON_DENSE,
    JSON_YAML,
};

/* Up to the digits of a number that may be unset: the same text in each object of a depth. */
#define JSON_HEAD_MAX 144u
#define JSON_HEAD_DEPTHS 8
struct json_head {
    unsigned char len; /* 0: not made yet */
    char text[JSON_HEAD_MAX];
};

struct json {
    struct strbuf *out;
    enum json_style style;
    bool plain_null;     /* +complex: unset and infinite are scalars, not objects */
    bool bare_end;       /* JSON: no newline behind the document, as in a body of HTTP */
    unsigned version;    /* whose words are written: 42 of v0.0.42; 0: the newest */
    const char *warning; /* of the trailer; NULL = none */
    int depth;
    bool in_list[JSON_DEPTH_MAX];
    unsigned count[JSON_DEPTH_MAX]; /* members so far */
    struct strbuf scratch;          /* json_scratch() */
    const char *chosen;             /* json_choose() */
    uint64_t met;                   /* bits of names of `chosen` that were written */
    size_t drop_from;               /* a member not chosen begins there in `out` */
    bool dropping;
    struct json_head heads[JSON_HEAD_DEPTHS][2]; /* by depth; of unset ones, of set ones */
};

void json_begin(struct json *js, struct strbuf *out, enum json_style style);
void json_end(struct json *js);
/* An empty buffer, the same each time, to make a text in; freed by json_end(). */
struct strbuf *json_scratch(struct json *js);

#define JSON_CHOICE_MAX 64u
/* From now on an object in a list of the outer object has only the members whose names are in
 * `names`, JSON_CHOICE_MAX at most with commas; borrowed.  NULL: all members again.  `out` is not
 * emptied while such an object is open. */
void json_choose(struct json *js, const char *names);
/* The i-th name that was chosen and that no object has had so far; NULL: no more. */
const char *json_choice_unmet(const struct json *js, size_t i, size_t *ret_len);

/* Are these words older than v0.0.`version`? */
static inline bool json_is_before(const struct json *js, unsigned version)
{
    return js->version && js->version < version;
}

/* Has nothing been written into the open object or list? */
static inline bool json_is_empty(const struct json *js)
{
    return !js->count[js->depth];
}

/* A key, and what the compiler knows of one that is a literal.  Two words: it goes in registers. */
struct json_key {
    const char *text; /* NULL in lists */
    uint32_t len;
    bool plain; /* nothing in it is escaped */
};
static inline struct json_key json_key_of(const char *text)
{
    size_t len = text ? strlen(text) : 0;

    return (struct json_key){ text, (uint32_t)len, !text || (len < 64 && !memchr(text, '/', len)) };
}

void json_key_map(struct json *js, struct json_key key);
void json_key_list(struct json *js, struct json_key key);
void json_key_str(struct json *js, struct json_key key, const char *value, size_t len);
void json_key_int(struct json *js, struct json_key key, int64_t value);
void json_key_bool(struct json *js, struct json_key key, bool value);
void json_key_number(struct json *js, struct json_key key, bool set, bool infinite, uint64_t value);

/* key is NULL in lists. */
static inline void json_map(struct json *js, const char *key)
{
    json_key_map(js, json_key_of(key));
}
static inline void json_list(struct json *js, const char *key)
{
    json_key_list(js, json_key_of(key));
}
void json_map_end(struct json *js);
void json_list_end(struct json *js);
static inline void json_str_n(struct json *js, const char *key, const char *value, size_t len)
{
    json_key_str(js, json_key_of(key), value, len);
}
/* NULL writes "". */
static inline void json_str(struct json *js, const char *key, const char *value)
{
    json_key_str(js, json_key_of(key), value ? value : "", value ? strlen(value) : 0);
}
static inline void json_int(struct json *js, const char *key, int64_t value)
{
    json_key_int(js, json_key_of(key), value);
}
static inline void json_bool(struct json *js, const char *key, bool value)
{
    json_key_bool(js, json_key_of(key), value);
}
void json_double(struct json *js, const char *key, double value); /* "2.0" */

/* Slurm's number that may be unset or infinite: {"set":..,"infinite":..,"number":..}. */
static inline void json_number(struct json *js, const char *key, bool set, bool infinite,
                               uint64_t value)
{
    json_key_number(js, json_key_of(key), set, infinite, value);
}
/* The same of a number that need not be whole; infinity is a value of its own. */
void json_fraction(struct json *js, const char *key, bool set, double value);
static inline void json_set(struct json *js, const char *key, uint64_t value)
{
    json_number(js, key, true, false, value);
}
static inline void json_unset(struct json *js, const char *key)
{
    json_number(js, key, false, false, 0);
}
static inline void json_infinite(struct json *js, const char *key)
{
    json_number(js, key, false, true, 0);
}
/* A time in microseconds as seconds; 0 when there is none. */
static inline void json_time(struct json *js, const char *key, int64_t us)
{
    json_set(js, key, us > 0 ? (uint64_t)(us / USEC_PER_SEC) : 0);
}
/* A list of the words of a comma list. */
void json_words(struct json *js, const char *key, const char *list);
/* One string in a list. */
void json_one(struct json *js, const char *key, const char *value);
/* null */
void json_nil(struct json *js, const char *key);
