/* restwords.c - words of the schema that commands have other words for; see restwords.h */
#include "rest/slurm/restwords.h"

#include <string.h>

#include "base/cleanup.h"
#include "rest/restcall.h"

static const char *const mail_words[][2] = {
    { "TIME=100%", "TIME_LIMIT" },
    { "TIME=90%", "TIME_LIMIT_90" },
    { "TIME=80%", "TIME_LIMIT_80" },
    { "TIME=50%", "TIME_LIMIT_50" },
    { "INVALID_DEPENDENCY", "INVALID_DEPEND" },
};

bool restwords_has(const json_t *list, const char *word)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), word) == 0)
            return true;
    }
    return json_is_string(list) && strcmp(json_string_value(list), word) == 0;
}

static void put_words(struct strbuf *sb, const char *words, size_t start)
{
    for (const char *p = words; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, ","), i = 0;

        while (i < ARRAY_SIZE(mail_words) &&
               (strlen(mail_words[i][0]) != len || memcmp(mail_words[i][0], p, len) != 0))
            i++;
        if (sb->len > start)
            strbuf_addc(sb, ',');
        if (i < ARRAY_SIZE(mail_words))
            strbuf_add(sb, mail_words[i][1]);
        else
            strbuf_addn(sb, p, len);
    }
}

void restwords_mail(const json_t *desc, struct strbuf *sb)
{
    const json_t *list = json_object_get(desc, "mail_type");
    size_t start = sb->len, i;
    json_t *item;

    if (json_is_string(list))
        put_words(sb, json_string_value(list), start);
    json_array_foreach(list, i, item)
    {
        if (json_is_string(item))
            put_words(sb, json_string_value(item), start);
    }
}

void restwords_seconds(const json_t *value, struct strbuf *sb)
{
    struct rest_number n = rest_number(value);

    if (n.set)
        strbuf_addf(sb, "%llu:%02u", (unsigned long long)n.value / 60, (unsigned)(n.value % 60));
    else if (json_is_string(value))
        strbuf_add(sb, json_string_value(value));
}
