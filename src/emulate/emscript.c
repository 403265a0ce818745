/* emscript.c - see emscript.h */
#include "emulate/emscript.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define COMMAND_MAX 255u /* longer ones are none that mean something here */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of *at, which then stands behind it; "" at the end. */
static char *next_word(char **at)
{
    char *word = *at;

    while (is_blank(*word))
        word++;
    *at = word;
    while (**at && !is_blank(**at))
        (*at)++;
    if (**at)
        *(*at)++ = '\0';
    return word;
}

static uint64_t sleep_ms(const char *text)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = { { '\0', 1 }, { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    char *end;
    double n = strtod(text, &end);

    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (*end != units[i].unit || (*end && end[1]))
            continue;
        n *= units[i].seconds * 1000;
        if (!(n > 0)) /* no number either */
            return 0;
        return n < (double)EMSCRIPT_MS_MAX ? (uint64_t)n : EMSCRIPT_MS_MAX;
    }
    return 0;
}

/* Run one command.  True: the script ends with it. */
static bool run_command(struct emscript *s, char *command)
{
    char *word = next_word(&command);
    bool is_exit;

    if (strcmp(word, "srun") == 0)
        do
            word = next_word(&command);
        while (*word == '-');
    if (!*word || *word == '#')
        return false;
    is_exit = strcmp(word, "exit") == 0;
    if (is_exit) {
        word = next_word(&command);
        if (*word)
            s->exit_code = (unsigned)strtoul(word, NULL, 10) & 0xff;
        return true;
    }
    s->exit_code = strcmp(word, "false") == 0;
    if (strcmp(word, "sleep") == 0) {
        s->run_ms += sleep_ms(next_word(&command));
        s->run_ms = MIN(s->run_ms, EMSCRIPT_MS_MAX);
    }
    return false;
}

struct emscript emscript_read(const uint8_t *text, size_t len)
{
    struct emscript s = { 0, 0 };
    char command[COMMAND_MAX + 1];
    size_t n = 0;
    bool is_over = false, is_comment = false;

    for (size_t i = 0; i <= len && !is_over; i++) {
        bool line_ends = i == len || text[i] == '\n' || text[i] == '\0';

        if (!line_ends && (text[i] != ';' || is_comment)) {
            is_comment |= n == 0 && text[i] == '#';
            n += !(n == 0 && is_blank((char)text[i]));
            if (n && n <= COMMAND_MAX)
                command[n - 1] = (char)text[i];
            continue;
        }
        command[n <= COMMAND_MAX ? n : 0] = '\0';
        is_over = !is_comment && run_command(&s, command);
        is_comment = is_comment && !line_ends;
        n = 0;
    }
    return s;
}
