/* jsonout.c - the streaming JSON and YAML writer; see jsonout.h.
 *
 * Layout facts: two blanks an indent, slashes escaped, an empty list spans two lines.  In YAML
 * every value carries its tag and the items of a list stand at the indent of their key. */
#include "base/json/jsonout.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/safetext.h"
#include "base/timefmt.h"

static const bool escaped[256] = {
    [0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, ['/'] = true, [0x7f ... 0xff] = true
};

/* The text at `to` up to what must be escaped, at most len bytes; how many. */
static size_t copy_plain(char *to, const char *s, size_t len)
{
    size_t n = 0;

    while (n < len && !escaped[(unsigned char)s[n]]) {
        to[n] = s[n];
        n++;
    }
    return n;
}

static char *put_escape(char *to, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";

    *to++ = '\\';
    if (c == '"' || c == '\\' || c == '/') {
        *to++ = (char)c;
    } else if (c == '\n' || c == '\t' || c == '\r') {
        *to++ = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
    } else {
        memcpy(to, "u00", 3);
        to[3] = hex[c >> 4];
        to[4] = hex[c & 15];
        to += 5;
    }
    return to;
}

/* What is no ASCII: a name of one job that is no UTF-8 would spoil the output for all. Sets
 * *ret_n to the bytes of text that it was. */
static char *put_high(char *to, const char *s, size_t len, size_t *ret_n)
{
    size_t n = safetext_utf8(s);

    *ret_n = n && n <= len ? n : 1;
    if (!n || n > len)
        return (char *)memcpy(to, "\xef\xbf\xbd", 3) + 3; /* U+FFFD */
    if (n == 2 && safetext_is_c1(s))
        return put_escape(to, (unsigned char)s[1]);
    return (char *)memcpy(to, s, n) + n;
}

#define ESCAPE_MAX 6u /* bytes that one byte of text becomes */

/* The text in quotes; room for ESCAPE_MAX * len + 2 bytes is there. */
static char *put_quoted(char *to, const char *s, size_t len)
{
    *to++ = '"';
    if (!len) { /* half of all texts */
        *to++ = '"';
        return to;
    }
    for (size_t i = 0;;) {
        size_t n = copy_plain(to, s + i, len - i);

        to += n;
        i += n;
        if (i == len)
            break;
        if ((unsigned char)s[i] < 0x80) {
            to = put_escape(to, (unsigned char)s[i++]);
        } else {
            to = put_high(to, s + i, len - i, &n);
            i += n;
        }
    }
    *to++ = '"';
    return to;
}

/* What memcpy() does, without a call: keys are short. */
static inline char *copy_short(char *to, const char *s, size_t n)
{
    if (n >= 16) {
        for (size_t i = 0; i + 16 <= n; i += 16)
            memcpy(to + i, s + i, 16); /* a size that is known costs no call */
        memcpy(to + n - 16, s + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, s, 8);
        memcpy(to + n - 8, s + n - 8, 8);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = s[i];
    }
    return to + n;
}

static inline char *quote_plain(char *to, const char *s, size_t len)
{
    *to++ = '"';
    to = copy_short(to, s, len);
    *to++ = '"';
    return to;
}

static void put_json_string(struct strbuf *sb, const char *s, size_t len)
{
    char *to = len < SIZE_MAX / ESCAPE_MAX - 2 ? strbuf_room(sb, ESCAPE_MAX * len + 2) : NULL;

    if (to)
        strbuf_grew(sb, (size_t)(put_quoted(to, s, len) - to));
}

/* Plain when no reader could take it for something else. */
static bool yaml_plain(const char *s, size_t len)
{
    if (!len || isspace((unsigned char)s[len - 1]) || s[len - 1] == ':')
        return false;
    if (!isalnum((unsigned char)s[0]) && s[0] != '/' && s[0] != '_' && s[0] != '(' &&
        !(s[0] == '-' && len > 1 && isgraph((unsigned char)s[1]) && strncmp(s, "---", 3) != 0))
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
            return false;
        if ((c == ':' && isspace((unsigned char)s[i + 1])) || (c == '#' && i && s[i - 1] == ' '))
            return false;
    }
    return true;
}

static void put_yaml_string(struct strbuf *sb, const char *s, size_t len)
{
    strbuf_add(sb, "!!str");
    if (!len)
        return;
    strbuf_addc(sb, ' ');
    if (yaml_plain(s, len))
        strbuf_addn(sb, s, len);
    else
        put_json_string(sb, s, len);
}

static int indent_of(const struct json *js)
{
    int n = 0;

    if (js->style != JSON_YAML)
        return js->depth * 2;
    /* Items of a list stand at the indent of its key. */
    for (int i = 2; i <= js->depth; i++)
        n += js->in_list[i] && !js->in_list[i - 1] ? 0 : 2;
    return n;
}

#define INDENT_AT_ONCE 32u
#define LEAD_ROOM                                                                                  \
    (2 * JSON_DEPTH_MAX + INDENT_AT_ONCE + 8) /* of what is before a value, less the key */

/* Newline and n blanks, behind a comma when wanted; INDENT_AT_ONCE bytes more may be written. */
static inline char *put_line(char *to, size_t n, bool comma)
{
    static const char text[] = ",\n                                ";

    memcpy(to, text + !comma, INDENT_AT_ONCE + 1);
    to += comma + 1;
    if (n > INDENT_AT_ONCE - 1)
        memset(to, ' ', n);
    return to + n;
}

/* Newline and indent of a line in an object `depth` deep; nothing in the compact style. */
static inline char *put_break(char *to, const struct json *js, size_t depth)
{
    return js->style == JSON_PRETTY ? put_line(to, depth * 2, false) : to;
}

/* Comma, newline, indent and key. */
static inline char *put_lead(char *p, const struct json *js, struct json_key key, bool comma)
{
    if (js->depth && js->style == JSON_PRETTY)
        p = put_line(p, (size_t)js->depth * 2, comma);
    else if (comma)
        *p++ = ',';
    if (key.text) {
        p = key.plain ? quote_plain(p, key.text, key.len) : put_quoted(p, key.text, key.len);
        *p++ = ':';
        if (js->style == JSON_PRETTY)
            *p++ = ' ';
    }
    return p;
}

/* ---- a choice of members --------------------------------------------------------------------- */

#define CHOICE_DEPTH 3 /* outer object, list, object */

void json_choose(struct json *js, const char *names)
{
    js->chosen = names;
    if (names)
        js->met = 0;
}

/* Which name of the choice key is, -1: none. */
static int choice_of(const char *names, const char *key)
{
    size_t len = strlen(key);
    int i = 0;

    for (const char *p = names; *p; i++) {
        size_t n = strcspn(p, ",");

        if (n == len && memcmp(p, key, n) == 0)
            return i;
        p += n + (p[n] == ',');
    }
    return -1;
}

/* The member before was not chosen: it has never been. */
static void end_dropped(struct json *js)
{
    if (!js->dropping || js->depth != CHOICE_DEPTH)
        return;
    js->dropping = false;
    if (js->drop_from < js->out->len) {
        js->out->len = js->drop_from;
        js->out->buf[js->drop_from] = '\0';
    }
}

static bool is_chosen(struct json *js, const char *key)
{
    int i;

    if (!js->chosen || js->depth != CHOICE_DEPTH || !js->in_list[CHOICE_DEPTH - 1] || !key)
        return true;
    i = choice_of(js->chosen, key);
    if (i < 0)
        return false;
    js->met |= UINT64_C(1) << (i % (int)JSON_CHOICE_MAX);
    return true;
}

const char *json_choice_unmet(const struct json *js, size_t i, size_t *ret_len)
{
    const char *p = js->chosen ? js->chosen : "";

    for (unsigned at = 0; *p && at < JSON_CHOICE_MAX; at++) {
        size_t n = strcspn(p, ",");

        if (n && !(js->met >> at & 1) && i-- == 0) {
            *ret_len = n;
            return p;
        }
        p += n + (p[n] == ',');
    }
    return NULL;
}

/* Is the member the first of its object or list?  Notes whether it is written at all. */
static inline bool count_member(struct json *js, const char *key)
{
    unsigned n;

    if (!js->chosen && !js->dropping)
        return js->count[js->depth]++ == 0;
    end_dropped(js);
    n = js->count[js->depth];
    if (is_chosen(js, key)) {
        js->count[js->depth]++;
    } else {
        js->dropping = true;
        js->drop_from = js->out->len;
    }
    return n == 0;
}

/* Everything up to the value in JSON, and room for a value of `room` bytes at what it gives, which
 * end_json() counts.  NULL: out of memory. */
static inline char *begin_json(struct json *js, struct json_key key, size_t room)
{
    bool first = count_member(js, key.text);
    char *to = strbuf_room(js->out, (size_t)ESCAPE_MAX * key.len + LEAD_ROOM + room);

    return to ? put_lead(to, js, key, !first) : NULL;
}

/* The value ends at `end`. */
static void end_json(struct json *js, const char *end)
{
    strbuf_grew(js->out, (size_t)(end - (js->out->buf + js->out->len)));
}

static void begin_yaml(struct json *js, struct json_key key)
{
    (void)count_member(js, key.text); /* the first is written as the others */
    strbuf_pad(js->out, ' ', (size_t)indent_of(js));
    if (js->in_list[js->depth])
        strbuf_add(js->out, "- ");
    if (key.text) {
        put_yaml_string(js->out, key.text, key.len);
        strbuf_add(js->out, ": ");
    }
}

/* A value in JSON whose text is known. */
static void put_word(struct json *js, struct json_key key, const char *word, size_t len)
{
    char *to = begin_json(js, key, len);

    if (to)
        end_json(js, copy_short(to, word, len));
}

static void open_level(struct json *js, bool list)
{
    assert(js->depth + 1 < JSON_DEPTH_MAX);
    js->depth++;
    js->in_list[js->depth] = list;
    js->count[js->depth] = 0;
}

void json_begin(struct json *js, struct strbuf *out, enum json_style style)
{
    *js = (struct json){ .out = out, .style = style };
    if (style == JSON_YAML)
        strbuf_add(out, "%YAML 1.1\n--- !!map\n");
    else
        strbuf_addc(out, '{');
    open_level(js, false);
}

void json_end(struct json *js)
{
    assert(js->depth == 1);
    js->depth = 0;
    if (js->style == JSON_YAML)
        strbuf_add(js->out, "...\n");
    else
        strbuf_addf(js->out, "%s}%s", js->style == JSON_PRETTY ? "\n" : "",
                    js->bare_end ? "" : "\n");
    strbuf_done(&js->scratch);
}

struct strbuf *json_scratch(struct json *js)
{
    strbuf_reset(&js->scratch);
    return &js->scratch;
}

static void open_container(struct json *js, struct json_key key, bool list)
{
    if (js->style == JSON_YAML) {
        begin_yaml(js, key);
        strbuf_add(js->out, list ? "!!seq\n" : "!!map\n");
    } else {
        put_word(js, key, list ? "[" : "{", 1);
    }
    open_level(js, list);
}

static void close_yaml(struct json *js, bool empty, bool list)
{
    if (!empty || js->out->failed)
        return;
    /* "!!seq" alone would read as null. */
    js->out->len--;
    strbuf_add(js->out, list ? " []\n" : " {}\n");
}

static void close_container(struct json *js, bool list)
{
    unsigned n;
    char *to;

    end_dropped(js);
    n = js->count[js->depth];
    js->depth--;
    if (js->style == JSON_YAML) {
        close_yaml(js, !n, list);
        return;
    }
    to = strbuf_room(js->out, LEAD_ROOM);
    if (!to)
        return;
    to = put_break(to, js, (size_t)js->depth);
    *to++ = list ? ']' : '}';
    end_json(js, to);
}

void json_key_map(struct json *js, struct json_key key)
{
    open_container(js, key, false);
}

void json_map_end(struct json *js)
{
    close_container(js, false);
}

void json_key_list(struct json *js, struct json_key key)
{
    open_container(js, key, true);
}

void json_list_end(struct json *js)
{
    close_container(js, true);
}

static char *put_text(char *to, const char *text, size_t len)
{
    memcpy(to, text, len);
    return to + len;
}
#define PUT_TEXT(to, text) put_text((to), (text), sizeof(text) - 1)

#define DIGITS_MAX 20u

static char *put_digits(char *to, uint64_t n)
{
    char digits[DIGITS_MAX], *p = digits + sizeof(digits);

    if (n < 10) {
        *to = (char)('0' + n);
        return to + 1;
    }
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    return put_text(to, p, (size_t)(digits + sizeof(digits) - p));
}

void json_key_str(struct json *js, struct json_key key, const char *value, size_t len)
{
    char *to;

    if (js->style == JSON_YAML) {
        begin_yaml(js, key);
        put_yaml_string(js->out, value, len);
        strbuf_addc(js->out, '\n');
        return;
    }
    to = begin_json(js, key, ESCAPE_MAX * len + 2);
    if (to)
        end_json(js, put_quoted(to, value, len));
}

void json_key_int(struct json *js, struct json_key key, int64_t value)
{
    uint64_t n = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *to;

    if (js->style == JSON_YAML) {
        begin_yaml(js, key);
        strbuf_add(js->out, value < 0 ? "!!int -" : "!!int ");
        strbuf_addf(js->out, "%" PRIu64, n);
        strbuf_addc(js->out, '\n');
        return;
    }
    to = begin_json(js, key, DIGITS_MAX + 1);
    if (!to)
        return;
    *to = '-';
    end_json(js, put_digits(to + (value < 0), n));
}

/* A value that is a word in both notations; tag is YAML's. */
static void put_constant(struct json *js, struct json_key key, const char *tag, const char *word)
{
    if (js->style == JSON_YAML) {
        begin_yaml(js, key);
        strbuf_add(js->out, tag);
        strbuf_add(js->out, word);
        strbuf_addc(js->out, '\n');
    } else {
        put_word(js, key, word, strlen(word));
    }
}

void json_key_bool(struct json *js, struct json_key key, bool value)
{
    put_constant(js, key, "!!bool ", value ? "true" : "false");
}

/* The shortest digits that read back as the value. */
static void format_shortest(char *buf, size_t size, double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(buf, size, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            return;
    }
}

void json_double(struct json *js, const char *key, double value)
{
    bool whole = value >= 0 && value < 1e9 && value == (double)(uint32_t)value;
    char buf[64];

    if (js->style == JSON_YAML)
        (void)snprintf(buf, sizeof(buf), "%f", value);
    else if (whole)
        (void)snprintf(buf, sizeof(buf), "%u.0", (uint32_t)value);
    else
        format_shortest(buf, sizeof(buf), value);
    if (!strpbrk(buf, ".en"))
        (void)strncat(buf, ".0", sizeof(buf) - strlen(buf) - 1);
    put_constant(js, json_key_of(key), "!!float ", buf);
}

void json_nil(struct json *js, const char *key)
{
    put_constant(js, json_key_of(key), "!!null ", "null");
}

/* Everything up to the digits. */
static char *put_number_head(char *p, const struct json *js, bool set, bool infinite)
{
    size_t depth = (size_t)js->depth;
    bool pretty = js->style == JSON_PRETTY;

    *p++ = '{';
    p = put_break(p, js, depth + 1);
    p = pretty ? PUT_TEXT(p, "\"set\": ") : PUT_TEXT(p, "\"set\":");
    p = set ? PUT_TEXT(p, "true,") : PUT_TEXT(p, "false,");
    p = put_break(p, js, depth + 1);
    p = pretty ? PUT_TEXT(p, "\"infinite\": ") : PUT_TEXT(p, "\"infinite\":");
    p = infinite ? PUT_TEXT(p, "true,") : PUT_TEXT(p, "false,");
    p = put_break(p, js, depth + 1);
    return pretty ? PUT_TEXT(p, "\"number\": ") : PUT_TEXT(p, "\"number\":");
}

/* The same from what was made for this depth before: half of all lines of a job are in such
 * objects. */
static char *copy_number_head(char *p, struct json *js, bool set)
{
    struct json_head *head = &js->heads[js->depth][set];

    if (!head->len)
        head->len = (unsigned char)(put_number_head(head->text, js, set, false) - head->text);
    memcpy(p, head->text, sizeof(head->text)); /* a size that is known costs no call */
    return p + head->len;
}

/* The object of json_number() in one go. */
static void put_number(struct json *js, struct json_key key, bool set, bool infinite,
                       uint64_t value)
{
    size_t depth = (size_t)js->depth;
    char *p = begin_json(js, key, 4 * (2 * depth + 3) + INDENT_AT_ONCE + JSON_HEAD_MAX);

    if (!p)
        return;
    p = depth < JSON_HEAD_DEPTHS && !infinite ? copy_number_head(p, js, set)
                                              : put_number_head(p, js, set, infinite);
    if (set && (int64_t)value < 0) {
        *p++ = '-';
        value = 0 - value;
    }
    p = put_digits(p, set ? value : 0);
    p = put_break(p, js, depth);
    *p++ = '}';
    end_json(js, p);
}

void json_key_number(struct json *js, struct json_key key, bool set, bool infinite, uint64_t value)
{
    if (js->plain_null) {
        if (infinite)
            json_key_str(js, key, "Infinity", strlen("Infinity"));
        else if (!set)
            put_constant(js, key, "!!null ", "null");
        else
            json_key_int(js, key, (int64_t)value);
        return;
    }
    if (js->style != JSON_YAML) {
        put_number(js, key, set, infinite, value);
        return;
    }
    json_key_map(js, key);
    json_bool(js, "set", set);
    json_bool(js, "infinite", infinite);
    json_int(js, "number", set ? (int64_t)value : 0);
    json_map_end(js);
}

void json_fraction(struct json *js, const char *key, bool set, double value)
{
    bool infinite = set && isinf(value);

    if (js->plain_null && infinite) {
        json_str(js, key, "Infinity");
    } else if (js->plain_null && !set) {
        json_nil(js, key);
    } else if (js->plain_null) {
        json_double(js, key, value);
    } else {
        json_map(js, key);
        json_bool(js, "set", set && !infinite);
        json_bool(js, "infinite", infinite);
        json_double(js, "number", set && !infinite ? value : 0);
        json_map_end(js);
    }
}

void json_words(struct json *js, const char *key, const char *list)
{
    json_list(js, key);
    while (list && *list) {
        size_t len = strcspn(list, ",");

        if (len)
            json_str_n(js, NULL, list, len);
        list += len + (list[len] == ',');
    }
    json_list_end(js);
}

void json_one(struct json *js, const char *key, const char *value)
{
    json_list(js, key);
    json_str(js, NULL, value);
    json_list_end(js);
}
