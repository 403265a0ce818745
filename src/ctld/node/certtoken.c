/* certtoken.c - what a node has to show for its first certificate; see certtoken.h */
#include "ctld/node/certtoken.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/hextext.h"
#include "base/safetext.h"
#include "wire/auth/auth.h"

#define SALT_SIZE 16u
#define SALT_TEXT (2 * SALT_SIZE)
#define TOKEN_MAX 1024u

_Static_assert(CERTTOKEN_SIZE > SALT_TEXT + 1 + 2 * DIGEST_SIZE, "it fits");

bool certtoken_is_sound(const char *token)
{
    size_t len = strlen(token);

    return len > 0 && len <= TOKEN_MAX && token[0] != '-' && safetext_is_line(token);
}

/* Of the salt's text and the token. */
static int digest_token(const char *salt, const char *token, struct digest *ret)
{
    _cleanup_free_ char *both = NULL;
    int n = asprintf(&both, "%.*s:%s", (int)SALT_TEXT, salt, token), r;

    if (n < 0) {
        both = NULL;
        return -ENOMEM;
    }
    r = digest_of(both, (size_t)n, ret);
    explicit_bzero(both, (size_t)n);
    return r;
}

/* The next word CertToken= of the line; NULL: there is none.  Words in quotes are passed over. */
static char *find_word(char *line)
{
    static const char key[] = "CertToken=";
    bool begins = true, quoted = false;

    for (char *p = line; *p; p++) {
        if (begins && !quoted && strncasecmp(p, key, sizeof(key) - 1) == 0)
            return p;
        if (*p == '"')
            quoted = !quoted;
        begins = *p == ' ' || *p == '\t';
    }
    return NULL;
}

int certtoken_take(char *line, char **ret_token)
{
    char *word = find_word(line), *value, *end, *token;

    if (!word)
        return 0;
    value = strchr(word, '=') + 1;
    end = *value == '"' ? strchr(value + 1, '"') : value + strcspn(value, " \t");
    if (!end)
        return -EINVAL;
    value += *value == '"';
    token = strndup(value, (size_t)(end - value));
    if (!token)
        return -ENOMEM;
    end += *end == '"';
    memmove(word, end, strlen(end) + 1);
    if (!certtoken_is_sound(token) || find_word(line)) {
        free(token);
        return -EINVAL;
    }
    *ret_token = token;
    return 1;
}

int certtoken_seal(const char *token, char ret_sealed[CERTTOKEN_SIZE])
{
    uint8_t salt[SALT_SIZE];
    struct digest d;
    char text[CERTTOKEN_SIZE];
    int r = auth_random(salt, sizeof(salt));

    if (r < 0)
        return r;
    hextext_write(salt, SALT_SIZE, text);
    r = digest_token(text, token, &d);
    if (r < 0)
        return r;
    text[SALT_TEXT] = ':';
    hextext_write(d.bytes, DIGEST_SIZE, text + SALT_TEXT + 1);
    memcpy(ret_sealed, text, sizeof(text));
    return 0;
}

bool certtoken_fits(const char *sealed, const char *token)
{
    char text[2 * DIGEST_SIZE + 1];
    struct digest d;
    unsigned differ = 0;

    if (strlen(sealed) != SALT_TEXT + 1 + 2 * DIGEST_SIZE || sealed[SALT_TEXT] != ':' ||
        digest_token(sealed, token, &d) < 0)
        return false;
    hextext_write(d.bytes, DIGEST_SIZE, text);
    for (size_t i = 0; i < 2 * DIGEST_SIZE; i++) /* as long for any other token */
        differ |= (unsigned)(text[i] ^ sealed[SALT_TEXT + 1 + i]);
    return differ == 0;
}
